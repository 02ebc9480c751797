/** Lists by table, such as message.key.columns: `schema.table:a,b;(.*).other:id`. The first rule that fits counts. */

/** The list of a table, or null where the option does not speak of it. */
export type TableLists = (table: string) => readonly string[] | null;

export function parseTableLists(text: string): TableLists {
  const rules = text
    .split(';')
    .map(rule => rule.trim())
    .filter(rule => rule !== '')
    .map(rule => {
      const colon = rule.lastIndexOf(':');
      if (colon <= 0) throw new Error(`"${rule}" is not table:item,item`);
      const items = rule
        .slice(colon + 1)
        .split(',')
        .map(item => item.trim());
      return { table: new RegExp(`^(?:${rule.slice(0, colon).trim()})$`, 'i'), items };
    });
  return table => rules.find(rule => rule.table.test(table))?.items ?? null;
}
