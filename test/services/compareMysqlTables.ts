/** Compares tables of two MySQL databases row by row, every value as text in a form that does not depend on what exact type the copy has for it. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import type { Comparison } from '../demo/compareTables.ts';

const EXAMPLES = 5;
/** The target does not have the table, or a new column, yet. */
const NOT_YET: ReadonlySet<number | undefined> = new Set([1054, 1146]);

/** The connections' databases. A table that the target does not have yet has no rows there. */
export async function compareMysqlTables(
  source: Connection,
  target: Connection,
  tables: readonly string[],
): Promise<Comparison> {
  let rows = 0;
  let differences = 0;
  const examples: string[] = [];
  const differ = (what: string): void => {
    differences++;
    if (examples.length < EXAMPLES) examples.push(what.slice(0, 500));
  };
  for (const table of tables) {
    const text = await rowText(source, table);
    const [expected, actual] = await Promise.all([
      readRows(source, text),
      readRows(target, text).catch((error: { errno?: number }) => {
        if (NOT_YET.has(error.errno)) return new Map<string, string>();
        throw error;
      }),
    ]);
    rows += expected.size;
    for (const [key, row] of expected) {
      const other = actual.get(key);
      if (other === undefined) differ(`${table} ${key}: missing in the target`);
      else if (other !== row) differ(`${table} ${key}: ${row} became ${other}`);
    }
    for (const key of actual.keys()) if (!expected.has(key)) differ(`${table} ${key}: not in the source`);
  }
  return { rows, differences, examples };
}

/** Statement that gives the key and the row as texts. */
async function rowText(source: Connection, table: string): Promise<string> {
  const [columns] = await source.query<RowDataPacket[]>(
    `SELECT column_name AS name, data_type AS type, column_key = 'PRI' AS isKey
     FROM information_schema.columns WHERE table_schema = database() AND table_name = ? ORDER BY ordinal_position`,
    [table],
  );
  const all = columns.map(column => valueText(`\`${column.name}\``, column.type));
  const key = columns.filter(column => Number(column.isKey) === 1).map(column => `\`${column.name}\``);
  return `SELECT concat_ws(',', ${key.join(', ')}) AS rowKey, json_array(${all.join(', ')}) AS rowText FROM \`${table}\``;
}

function valueText(column: string, type: string): string {
  switch (type) {
    case 'datetime':
    case 'timestamp':
      return `date_format(${column}, '%Y-%m-%d %H:%i:%s.%f')`;
    case 'time':
      return `cast(${column} AS time(6))`;
    case 'json':
      return `cast(cast(${column} AS json) AS char)`;
    case 'float':
    case 'double':
      return `${column} + 0e0`;
    case 'binary':
    case 'varbinary':
    case 'tinyblob':
    case 'blob':
    case 'mediumblob':
    case 'longblob':
    case 'bit':
      return `hex(${column})`;
    default:
      return `cast(${column} AS char)`;
  }
}

async function readRows(connection: Connection, text: string): Promise<Map<string, string>> {
  const [rows] = await connection.query<RowDataPacket[]>({ sql: text, rowsAsArray: false });
  return new Map(rows.map(row => [String(row.rowKey), String(row.rowText)]));
}
