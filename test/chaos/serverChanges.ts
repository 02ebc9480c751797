/** The committed changes in commit order as the server itself tells them, by its own plug-in test_decoding: what the topics are compared with. */
import type pg from 'pg';

const SLOT = 'oracle';
const CHANGES_PER_READ = 20_000;

export interface ServerChanges {
  /** Changes by table, each as `transaction operation key value`. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
  /** Ids of transactions with changes, in commit order. */
  readonly transactions: readonly string[];
}

export const openServerChanges = (sql: pg.Client): Promise<unknown> =>
  sql.query('SELECT pg_create_logical_replication_slot($1, $2)', [SLOT, 'test_decoding']);

/** All since the slot was made, which goes. */
export async function readServerChanges(sql: pg.Client): Promise<ServerChanges> {
  const tables = new Map<string, string[]>();
  const transactions: string[] = [];
  let xid = '';
  const read = (text: string): void => {
    if (text.startsWith('BEGIN')) {
      xid = text.slice(6);
      transactions.push(xid);
    }
    const match = /^table public\.(\w+): (INSERT|UPDATE|DELETE|TRUNCATE): /.exec(text);
    if (match === null) return;
    const [head, table, operation] = match;
    if (!tables.has(table!)) tables.set(table!, []);
    const newAt = text.indexOf(' new-tuple: ');
    const row = newAt < 0 ? text.slice(head.length) : text.slice(newAt + 12);
    const changes = tables.get(table!)!;
    if (operation === 'TRUNCATE') changes.push(`${xid} t`);
    else if (operation === 'DELETE') changes.push(`${xid} d ${keyOf(row)}`);
    else if (operation === 'INSERT') changes.push(`${xid} c ${keyOf(row)} ${numberOf(row)}`);
    else if (newAt < 0 || keyOf(text) === keyOf(row)) changes.push(`${xid} u ${keyOf(row)} ${numberOf(row)}`);
    else changes.push(`${xid} d ${keyOf(text)}`, `${xid} c ${keyOf(row)} ${numberOf(row)}`);
  };
  for (;;) {
    const { rows } = await sql.query<{ data: string }>(
      "SELECT left(data, 200) || coalesce(substring(data FROM ' new-tuple: .{1,200}'), '') AS data FROM pg_logical_slot_get_changes($1, NULL, $2, 'skip-empty-xacts', '1')",
      [SLOT, CHANGES_PER_READ],
    );
    if (rows.length === 0) break;
    for (const { data } of rows) read(data);
  }
  await sql.query('SELECT pg_drop_replication_slot($1)', [SLOT]);
  return { tables, transactions };
}

const keyOf = (row: string): string => /\bid\[\w+\]:(-?\d+)/.exec(row)![1]!;
const numberOf = (row: string): string => /\bv\[\w+\]:(-?\d+|null)/.exec(row)![1]!;
