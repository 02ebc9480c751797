/** Compares tables of two databases row by row, every value in the database's own text form. */
import pg from 'pg';

export interface Comparison {
  readonly rows: number;
  readonly differences: number;
  /** The first few differences, for people. */
  readonly examples: readonly string[];
}

export async function compareTables(
  sourceUrl: string,
  targetUrl: string,
  tables: readonly string[],
): Promise<Comparison> {
  const source = new pg.Client(sourceUrl);
  const target = new pg.Client(targetUrl);
  await Promise.all([source.connect(), target.connect()]);
  let rows = 0;
  let differences = 0;
  const examples: string[] = [];
  const differ = (what: string): void => {
    differences++;
    if (examples.length < 5) examples.push(what);
  };
  try {
    for (const table of tables) {
      const columns = await columnNames(source, table);
      const [expected, actual] = await Promise.all([
        readRows(source, table, columns),
        readRows(target, table, columns),
      ]);
      rows += expected.size;
      for (const [key, row] of expected) {
        const other = actual.get(key);
        if (other === undefined) differ(`${table} ${key}: missing in the target`);
        else if (other !== row) differ(`${table} ${key}: ${row} became ${other}`);
      }
      for (const key of actual.keys()) if (!expected.has(key)) differ(`${table} ${key}: not in the source`);
    }
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
  return { rows, differences, examples };
}

interface Columns {
  readonly all: readonly string[];
  readonly key: readonly string[];
}

async function columnNames(client: pg.Client, table: string): Promise<Columns> {
  const { rows } = await client.query<{ name: string; is_key: boolean }>(
    `SELECT quote_ident(a.attname) AS name, coalesce(a.attnum = ANY (i.indkey), false) AS is_key
     FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
     WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [table],
  );
  return { all: rows.map(r => r.name), key: rows.filter(r => r.is_key).map(r => r.name) };
}

/** A table that is not there yet has no rows. */
async function readRows(client: pg.Client, table: string, columns: Columns): Promise<Map<string, string>> {
  const text = `SELECT ROW(${columns.key.join(', ')})::text AS key, ROW(${columns.all.join(', ')})::text AS row FROM ${table}`;
  try {
    const { rows } = await client.query<{ key: string; row: string }>(text);
    return new Map(rows.map(r => [r.key, r.row]));
  } catch (error) {
    if ((error as { code?: string }).code === '42P01') return new Map();
    throw error;
  }
}
