/** Include and exclude lists: comma-separated regular expressions, anchored and without case, as Debezium reads them. */

/** `name` is the full name; `schema` the first part of it where a filter looks at schemas too. */
export type TextFilter = (name: string, schema: string) => boolean;

/** Commas inside braces or after a backslash belong to the expression. */
export function parsePatterns(list: string): RegExp[] {
  return list
    .split(/(?<!\\),(?![^{]*\})/)
    .map(pattern => pattern.trim().replace(/\\,/g, ','))
    .filter(pattern => pattern !== '')
    .map(pattern => new RegExp(`^(?:${pattern})$`, 'i'));
}

export function parseFilter(include: string | null, exclude: string | null): (name: string) => boolean {
  const patterns = parsePatterns(include ?? exclude ?? '');
  if (patterns.length === 0) return () => true;
  const matches = (name: string): boolean => patterns.some(p => p.test(name));
  return include === null || include === '' ? name => !matches(name) : matches;
}

/** Debezium also lets a column pattern name a column of any table as `schema.table.column`; matching is on that full name. */
export const parseColumnFilter = parseFilter;
