/** A name as MySQL and MariaDB take it in any SQL mode. */
export const quoteIdentifier = (name: string): string => `\`${name.replaceAll('`', '``')}\``;
