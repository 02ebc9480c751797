/** What the connector says of itself in `source` and in the list of plug-ins. */
export const CONNECTOR_VERSION = '0.1.0';
export const CONNECTOR_NAME = 'firebird';
