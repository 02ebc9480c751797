/**
 * The chunks of a table: between which keys the next one lies, and its rows in order of the key, as of one moment. Keys are compared by the server, as row values,
 * so that any type and collation will do.
 */
import type pg from 'pg';
import type { ChunkBounds, Key, NoChunk } from '../../shared/incrementalChunk.ts';
import { fullName, type TableName } from './catalog.ts';
import { quoteName, quoteText } from './connection.ts';
import { type CopiedRows, copyRows } from './copyRows.ts';
import type { RelationVersions } from './relations.ts';
import type { TableVersion } from './tableVersion.ts';

export interface ChunkTable {
  readonly table: TableName;
  /** Columns of the key by which the table is read. */
  readonly surrogateKey: string | null;
  readonly filter: string | null;
  /** Whether events have another key than that of the table. */
  readonly hasChosenKey: boolean;
}

export interface BoundsRequest extends ChunkTable {
  /** Null = from the beginning. */
  readonly lastKey: Key | null;
  readonly maximumKey: Key | null;
  readonly size: number;
}

export interface ChunkRequest extends ChunkTable {
  readonly bounds: ChunkBounds;
  readonly size: number;
}

export type Chunk =
  /** A transaction that the stream has given out is not visible yet: to be read again in a moment. */
  | { readonly kind: 'early' }
  | NoChunk
  | { readonly kind: 'rows'; readonly version: TableVersion; readonly rows: readonly CopiedRows[] };

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

/** At which moment the keys are read does not matter: what comes to lie between them later is in the log. */
export async function chunkBounds(
  client: pg.Client,
  request: BoundsRequest,
  versions: RelationVersions,
): Promise<ChunkBounds | NoChunk> {
  const { table, lastKey, size } = request;
  const found = await readableTable(client, request, versions);
  if (found.kind === 'none') return found;
  const { version, key } = found;
  const texts = key.map(({ column }) => `t.${quoteName(column)}::text`).join(', ');
  const one = async (where: string, order: 'ASC' | 'DESC', offset: number): Promise<Key | null> => {
    const text = `SELECT ${texts} FROM ${from(table)} WHERE ${where} ORDER BY ${ordered(key, order)} LIMIT 1 OFFSET ${offset}`;
    const { rows } = await client.query<string[]>({ text, rowMode: 'array' });
    return rows[0] ?? null;
  };
  const maximumKey = request.maximumKey ?? (await one('true', 'DESC', 0));
  if (maximumKey === null) return { kind: 'none', why: null, status: 'EMPTY' };
  const end = await one(rowsBetween(request, key, lastKey, maximumKey), 'ASC', size - 1);
  const isLast = end === null || end.join('\0') === maximumKey.join('\0');
  const { topic } = version;
  return { kind: 'bounds', topic, above: lastKey, lastKey: end ?? maximumKey, maximumKey, isLast };
}

async function read(
  client: pg.Client,
  request: ChunkRequest,
  versions: RelationVersions,
  signal: AbortSignal,
): Promise<Chunk> {
  const found = await readableTable(client, request, versions);
  if (found.kind === 'none') return found;
  const { version, key } = found;
  const { above, lastKey } = request.bounds;
  const select = version.select.map(column => `t.${quoteName(column.name)}${column.isText ? '::text' : ''}`).join(', ');
  const rows: CopiedRows[] = [];
  const sql = `SELECT ${select} FROM ${from(request.table)} WHERE ${rowsBetween(request, key, above, lastKey)} ORDER BY ${ordered(key, 'ASC')}`;
  for await (const some of copyRows(client, sql, request.size, signal)) rows.push(some);
  return { kind: 'rows', version, rows };
}

interface KeyColumn {
  readonly column: string;
  readonly type: string;
}

interface ReadableTable {
  readonly kind: 'readable';
  readonly version: TableVersion;
  readonly key: readonly KeyColumn[];
}

async function readableTable(
  client: pg.Client,
  { table, surrogateKey, hasChosenKey }: ChunkTable,
  versions: RelationVersions,
): Promise<ReadableTable | NoChunk> {
  const unread = (why: string): NoChunk => ({ kind: 'none', why, status: 'NO_PRIMARY_KEY' });
  const version = await versions.resolveForSnapshot(client, table.oid);
  if (version === null) return { kind: 'none', why: 'it is not there any more', status: 'UNKNOWN_SCHEMA' };
  const key = await keyOf(client, table, surrogateKey);
  if (key.length === 0) return unread('it has no primary key; name a unique column as surrogate-key');
  if (version.keySchema === null) return unread('its events have no key');
  if (hasChosenKey) {
    const eventKey = version.keyIndexes.map(i => version.rowColumns[i]!.name);
    const rowKey = await keyOf(client, table, null);
    if (rowKey.length === 0 || !rowKey.every(({ column }) => eventKey.includes(column))) {
      return unread('message.key.columns leaves out columns of its key: changes of one row would hide others');
    }
  }
  return { kind: 'readable', version, key };
}

const from = (table: TableName): string =>
  `${table.kind === 'table' ? 'ONLY ' : ''}${quoteName(table.schema)}.${quoteName(table.name)} AS t`;

/** With the table's name: ORDER BY would take the name alone for the text that is selected. */
const ordered = (key: readonly KeyColumn[], direction: 'ASC' | 'DESC'): string =>
  key.map(({ column }) => `t.${quoteName(column)} ${direction}`).join(', ');

function rowsBetween({ filter }: ChunkTable, key: readonly KeyColumn[], above: Key | null, upTo: Key): string {
  const columns = key.map(({ column }) => `t.${quoteName(column)}`).join(', ');
  const than = (operator: string, bound: Key): string =>
    `(${columns}) ${operator} (${bound.map((value, i) => `${quoteText(value)}::${key[i]!.type}`).join(', ')})`;
  const condition = filter === null ? '' : ` AND (${filter})`;
  return `${above === null ? 'true' : than('>', above)} AND ${than('<=', upTo)}${condition}`;
}

/** The primary key, else the first unique index over NOT NULL columns; types as a cast has to name them. */
async function keyOf(client: pg.Client, table: TableName, surrogateKey: string | null): Promise<readonly KeyColumn[]> {
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
