/** message.key.columns: `schema.table:a,b;(.*).other:id`, which key columns a table has instead of its own. */

/** Column names for a table, or null where the option does not speak of it. */
export type KeyColumns = (table: string) => readonly string[] | null;

export function parseKeyColumns(text: string): KeyColumns {
  const rules = text
    .split(';')
    .map(rule => rule.trim())
    .filter(rule => rule !== '')
    .map(rule => {
      const colon = rule.lastIndexOf(':');
      if (colon <= 0) throw new Error(`"${rule}" is not table:column,column`);
      const columns = rule
        .slice(colon + 1)
        .split(',')
        .map(c => c.trim());
      return { table: new RegExp(`^(?:${rule.slice(0, colon).trim()})$`, 'i'), columns };
    });
  return table => rules.find(rule => rule.table.test(table))?.columns ?? null;
}
