/**
 * One chunk of a table: the rows behind a key, in order of the key, as of one moment. Keys are compared by the server, as row values, so that any type and collation will do.
 */
import type pg from 'pg';
import { fullName, type TableName } from './catalog.ts';
import { quoteName, quoteText } from './connection.ts';
import { type CopiedRows, copyRows } from './copyRows.ts';
import type { RelationVersions } from './relations.ts';
import type { TableVersion } from './tableVersion.ts';

export type Key = readonly string[];

export interface ChunkRequest {
  readonly table: TableName;
  /** Columns of the key by which the table is read. */
  readonly surrogateKey: string | null;
  readonly filter: string | null;
  /** Whether events have another key than that of the table. */
  readonly hasChosenKey: boolean;
  /** Null = from the beginning. */
  readonly lastKey: Key | null;
  readonly maximumKey: Key | null;
  readonly size: number;
}

export type Chunk =
  /** A transaction that the stream has given out is not visible yet: to be read again in a moment. */
  | { readonly kind: 'early' }
  /** There is no row, or no key to read by. */
  | { readonly kind: 'none'; readonly why: string | null }
  | {
      readonly kind: 'rows';
      readonly version: TableVersion;
      readonly rows: readonly CopiedRows[];
      readonly lastKey: Key;
      readonly maximumKey: Key;
      readonly isLast: boolean;
    };

/** `published` are transactions that were given out; the chunk must not be older than they are. */
export async function readChunk(
  client: pg.Client,
  request: ChunkRequest,
  versions: RelationVersions,
  published: Uint32Array,
  signal: AbortSignal,
): Promise<Chunk> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    if (await isEarly(client, published)) return { kind: 'early' };
    return await read(client, request, versions, signal);
  } finally {
    // A connection that is lost says so itself.
    await client.query('COMMIT').catch(() => {});
  }
}

/** Transactions come in the stream as soon as their commit is in the log, and are visible a moment later. */
async function isEarly(client: pg.Client, published: Uint32Array): Promise<boolean> {
  const { rows } = await client.query(
    'SELECT pg_snapshot_xmax(s)::text AS next, array(SELECT pg_snapshot_xip(s)::text) AS running FROM pg_current_snapshot() AS s',
  );
  const next = Number(BigInt.asUintN(32, BigInt(rows[0].next)));
  const running = new Set(rows[0].running.map((id: string) => Number(BigInt.asUintN(32, BigInt(id)))));
  return published.some(id => id !== 0 && (((id - next) | 0) >= 0 || running.has(id)));
}

async function read(
  client: pg.Client,
  request: ChunkRequest,
  versions: RelationVersions,
  signal: AbortSignal,
): Promise<Chunk> {
  const { table, filter, lastKey, size } = request;
  const version = await versions.resolveForSnapshot(client, table.oid);
  if (version === null) return { kind: 'none', why: 'it is not there any more' };
  const key = await keyOf(client, table, request.surrogateKey);
  if (key.length === 0) return { kind: 'none', why: 'it has no primary key; name a unique column as surrogate-key' };
  if (version.keySchema === null) return { kind: 'none', why: 'its events have no key' };
  if (request.hasChosenKey) {
    const eventKey = version.keyIndexes.map(i => version.rowColumns[i]!.name);
    const rowKey = await keyOf(client, table, null);
    if (rowKey.length === 0 || !rowKey.every(({ column }) => eventKey.includes(column))) {
      return {
        kind: 'none',
        why: 'message.key.columns leaves out columns of its key: changes of one row would hide others',
      };
    }
  }
  const name = `${table.kind === 'table' ? 'ONLY ' : ''}${quoteName(table.schema)}.${quoteName(table.name)} AS t`;
  // With the table's name: ORDER BY would take the name alone for the text that is selected.
  const columns = key.map(({ column }) => `t.${quoteName(column)}`).join(', ');
  const texts = key.map(({ column }) => `t.${quoteName(column)}::text`).join(', ');
  const order = (direction: string): string =>
    key.map(({ column }) => `t.${quoteName(column)} ${direction}`).join(', ');
  const than = (operator: string, bound: Key): string =>
    `(${columns}) ${operator} (${bound.map((value, i) => `${quoteText(value)}::${key[i]!.type}`).join(', ')})`;
  const one = async (sql: string): Promise<Key | null> => {
    const { rows } = await client.query<string[]>({ text: sql, rowMode: 'array' });
    return rows[0] ?? null;
  };
  const condition = filter === null ? '' : ` AND (${filter})`;
  const maximumKey =
    request.maximumKey ?? (await one(`SELECT ${texts} FROM ${name} ORDER BY ${order('DESC')} LIMIT 1`));
  if (maximumKey === null) return { kind: 'none', why: null };
  const above = lastKey === null ? 'true' : than('>', lastKey);
  const end = await one(
    `SELECT ${texts} FROM ${name} WHERE ${above} AND ${than('<=', maximumKey)}${condition} ORDER BY ${order('ASC')} LIMIT 1 OFFSET ${size - 1}`,
  );
  const select = version.select.map(column => `t.${quoteName(column.name)}${column.isText ? '::text' : ''}`).join(', ');
  const rows: CopiedRows[] = [];
  const sql = `SELECT ${select} FROM ${name} WHERE ${above} AND ${than('<=', end ?? maximumKey)}${condition} ORDER BY ${order('ASC')}`;
  for await (const some of copyRows(client, sql, size, signal)) rows.push(some);
  const isLast = end === null || end.join('\0') === maximumKey.join('\0');
  return { kind: 'rows', version, rows, lastKey: end ?? maximumKey, maximumKey, isLast };
}

/** The primary key, else the first unique index over NOT NULL columns; types as a cast has to name them. */
async function keyOf(
  client: pg.Client,
  table: TableName,
  surrogateKey: string | null,
): Promise<readonly { readonly column: string; readonly type: string }[]> {
  const { rows } = await client.query(
    `WITH key AS (
       SELECT i.indkey, i.indnkeyatts FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
        WHERE i.indrelid = ${table.oid} AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
          AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = ${table.oid} AND NOT a.attnotnull
                             AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]))
        ORDER BY i.indisprimary DESC, x.relname COLLATE "C" LIMIT 1)
     SELECT a.attname AS column, format_type(a.atttypid, -1) AS type
       FROM key, unnest(key.indkey) WITH ORDINALITY AS k(number, ord) JOIN pg_attribute a ON a.attrelid = ${table.oid} AND a.attnum = k.number
      WHERE k.ord <= key.indnkeyatts AND $1::text IS NULL
     UNION ALL
     SELECT a.attname, format_type(a.atttypid, -1) FROM pg_attribute a WHERE a.attrelid = ${table.oid} AND a.attname = $1 AND a.attnotnull`,
    [surrogateKey],
  );
  if (surrogateKey !== null && rows.length === 0)
    throw new Error(`${fullName(table)} has no column "${surrogateKey}" that is NOT NULL`);
  return rows;
}
