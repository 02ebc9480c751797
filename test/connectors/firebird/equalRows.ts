/** Rows of the shop in a form that is the same in Firebird and PostgreSQL: every column as text, blobs by their hash. */
import type { Client } from 'pg';
import type { TestFirebird } from '../../services/localFirebird.ts';

interface Column {
  readonly name: string;
  readonly kind: 'text' | 'blob' | 'bytes' | 'timestamp' | 'zoned';
}

const columns = (text: string): readonly Column[] =>
  text.split(' ').map(item => {
    const [name, kind = 'text'] = item.split(':');
    return { name: name!, kind: kind as Column['kind'] };
  });

/** Each with its key first. */
export const SHOP_TABLES: ReadonlyMap<string, readonly Column[]> = new Map([
  ['ITEM', columns('ID N V A B:blob X:bytes D:timestamp Z:zoned I F K E1 E2 E3:blob')],
  ['PAIR', columns('A B V')],
  ['ENTRY', columns('ID CLIENT NOTE')],
  ['LATER', columns('ID V')],
]);

function firebirdText({ name, kind }: Column): string {
  switch (kind) {
    case 'text':
      return `cast("${name}" as varchar(500) character set utf8)`;
    case 'blob':
      return `lower(hex_encode(crypt_hash(cast("${name}" as blob sub_type text character set utf8) using sha256)))`;
    case 'bytes':
      return `lower(hex_encode(crypt_hash("${name}" using sha256)))`;
    case 'timestamp':
      return `cast("${name}" as varchar(30)) || '00'`;
    case 'zoned':
      return `cast(cast("${name}" at time zone '+00:00' as timestamp) as varchar(30)) || '00'`;
  }
}

function postgresText({ name, kind }: Column): string {
  switch (kind) {
    case 'text':
      return `"${name}"::text`;
    case 'blob':
      return `encode(sha256(convert_to("${name}", 'UTF8')), 'hex')`;
    case 'bytes':
      return `encode(sha256("${name}"), 'hex')`;
    case 'timestamp':
      return `to_char("${name}", 'YYYY-MM-DD HH24:MI:SS.US')`;
    case 'zoned':
      return `to_char("${name}" at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`;
  }
}

export type Rows = ReadonlyMap<string, readonly string[]>;

/** Lines by table, in one order for all databases. */
export async function firebirdRows(database: TestFirebird): Promise<Rows> {
  const rows = new Map<string, string[]>();
  for (const [table, of] of SHOP_TABLES) {
    const select = of.map((column, i) => `${firebirdText(column)} c${i}`).join(', ');
    rows.set(table, lines(await database.query(`select ${select} from "${table}"`)));
  }
  return rows;
}

export async function postgresRows(client: Client): Promise<Rows> {
  const rows = new Map<string, string[]>();
  for (const [table, of] of SHOP_TABLES) {
    const select = of.map((column, i) => `${postgresText(column)} as c${i}`).join(', ');
    rows.set(table, lines((await client.query(`select ${select} from "${table}"`)).rows));
  }
  return rows;
}

/** Booleans are TRUE in one and true in the other. */
const lines = (rows: readonly Readonly<Record<string, unknown>>[]): string[] =>
  rows
    .map(row =>
      Object.values(row)
        .map(value => (value === null ? 'null' : String(value).replace(/^(TRUE|FALSE)$/, word => word.toLowerCase())))
        .join(' | '),
    )
    .sort();

/** What differs, as texts; none = equal. */
export function differences(expected: Rows, actual: Rows): string[] {
  const found: string[] = [];
  for (const [table, rows] of expected) {
    const there = new Set(actual.get(table));
    const wanted = new Set(rows);
    const missing = rows.filter(row => !there.has(row));
    const surplus = [...there].filter(row => !wanted.has(row));
    if (actual.get(table)?.length !== rows.length)
      found.push(`${table}: ${actual.get(table)?.length} rows, not ${rows.length}`);
    found.push(...missing.slice(0, 3).map(row => `${table} lacks ${row}`));
    found.push(...surplus.slice(0, 3).map(row => `${table} has ${row}`));
  }
  return found;
}
