/** Version that built-in converters report. */
export const VERSION = '0.1.0';
