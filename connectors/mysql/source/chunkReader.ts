/**
 * One chunk of a table: the rows behind a key, in order of the key, as of one moment, and the place in the log that is not before that moment. Keys are compared
 * by the server, so that any type and collation will do. Nothing is written.
 */

import type { Connection, RowDataPacket } from 'mysql2/promise';
import type { Key } from '../../shared/incrementalSnapshot.ts';
import type { SourceSettings } from '../config.ts';
import { MariaGtidList } from '../protocol/gtid.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import type { ColumnDef } from '../types/columnDef.ts';
import { fullName, readTable, type TableName } from './catalog.ts';
import type { StreamPlace } from './changeStream.ts';
import { isBehind } from './position.ts';
import { type SelectedRows, selectRows } from './selectRows.ts';
import { mariaGtidAt, readLogEnd, snapshotPosition } from './server.ts';
import type { TableVersion } from './tableVersion.ts';
import type { TableVersions } from './tableVersions.ts';

export interface ChunkRequest {
  readonly table: TableName;
  /** Column by which the table is read. */
  readonly surrogateKey: string | null;
  readonly filter: string | null;
  /** Null = from the beginning. */
  readonly lastKey: Key | null;
  readonly maximumKey: Key | null;
}

export interface LogPlace {
  readonly file: string;
  readonly position: number;
}

/** All that the rows of a chunk show is in the log before. */
export interface HighMark extends LogPlace {
  /** MariaDB: the transactions before it. A stream that has them all is there, too: the server tells it no place while there is nothing to send. */
  readonly gtids: string | null;
}

export type Chunk =
  /** What the stream has given out is not visible yet: to be read again in a moment. */
  | { readonly kind: 'early' }
  | { readonly kind: 'none'; readonly why: string | null }
  | {
      readonly kind: 'rows';
      readonly version: TableVersion;
      readonly rows: readonly SelectedRows[];
      readonly lastKey: Key;
      readonly maximumKey: Key;
      readonly isLast: boolean;
      readonly high: HighMark;
    };

/** Whether a stream has given out all before the mark. */
export function isReached({ gtids, ...place }: HighMark, now: StreamPlace): boolean {
  if (!isBehind(now, place)) return true;
  const { published } = now;
  return (
    gtids !== null &&
    published.gtids !== null &&
    MariaGtidList.parse(published.gtids).includes(MariaGtidList.parse(gtids))
  );
}

/** The chunk is not older than what was given out up to `place`. */
export async function readChunk(
  connection: Connection,
  request: ChunkRequest,
  versions: TableVersions,
  settings: SourceSettings,
  place: StreamPlace,
  signal: AbortSignal,
): Promise<Chunk> {
  const isMariaDb = settings.connector === 'mariadb';
  await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ');
  if (!isMariaDb) {
    const seen = await isExecuted(connection, place);
    if (seen === null) return { kind: 'none', why: 'incremental snapshots need gtid_mode=ON' };
    if (!seen) return { kind: 'early' };
  }
  await connection.query(`START TRANSACTION WITH CONSISTENT SNAPSHOT${isMariaDb ? '' : ', READ ONLY'}`);
  try {
    const high = isMariaDb ? await snapshotPosition(connection) : await readLogEnd(connection, false);
    if (high === null) return { kind: 'none', why: 'the server writes no binary log' };
    if (isMariaDb && isBehind(high, place)) return { kind: 'early' };
    const gtids = isMariaDb ? await mariaGtidAt(connection, high.file, high.position) : null;
    return await read(connection, request, versions, settings, { ...high, gtids }, signal);
  } finally {
    // A connection that is lost says so itself.
    await connection.query('COMMIT').catch(() => {});
  }
}

/** A transaction is in the log a moment before its rows can be seen, and in the set of executed ones after it. Null = the server has no GTIDs. */
async function isExecuted(connection: Connection, { published }: StreamPlace): Promise<boolean | null> {
  const { gtids, gtid } = published;
  if (gtids === null) return null;
  const all = gtid === null ? gtids : `${gtids},${gtid}`;
  const [rows] = await connection.query<RowDataPacket[]>('SELECT GTID_SUBSET(?, @@global.gtid_executed) AS seen', [
    all,
  ]);
  return Number(rows[0]!.seen) === 1;
}

async function read(
  connection: Connection,
  request: ChunkRequest,
  versions: TableVersions,
  settings: SourceSettings,
  high: HighMark,
  signal: AbortSignal,
): Promise<Chunk> {
  const { table, filter, lastKey, surrogateKey } = request;
  const catalog = await readTable(connection, table, settings.connector === 'mariadb');
  if (catalog === null) return { kind: 'none', why: 'it is not there any more' };
  const version = versions.ofCatalog(catalog);
  const chosen = settings.keyColumns(fullName(table));
  if (chosen !== null && !(catalog.keyColumns.length > 0 && catalog.keyColumns.every(name => chosen.includes(name)))) {
    return {
      kind: 'none',
      why: 'message.key.columns leaves out columns of its key: changes of one row would hide others',
    };
  }
  const names = surrogateKey === null ? catalog.keyColumns : [surrogateKey];
  if (names.length === 0) return { kind: 'none', why: 'it has no primary key; name a unique column as surrogate-key' };
  if (version.keySchema === null) return { kind: 'none', why: 'its events have no key' };
  const columns = names.map(name => catalog.columns.find(column => column.name === name));
  const isUsable = columns.every(column => column?.isRequired && column.def !== null);
  if (!isUsable) return { kind: 'none', why: `it has no column "${names.join(', ')}" that is NOT NULL` };
  const key = columns.map(column => keyColumn(column!.def!));

  const from = `${quoteIdentifier(table.database)}.${quoteIdentifier(table.name)}`;
  const select = key.map(({ shown }) => shown).join(', ');
  const order = (direction: string): string => key.map(({ compared }) => `${compared} ${direction}`).join(', ');
  const one = async (sql: string): Promise<Key | null> => {
    // As the server writes them: the driver reads a DOUBLE with an error in its last digit, and the row that has the largest key would be left out.
    const [rows] = await connection.query<RowDataPacket[][]>({ sql, rowsAsArray: true, typeCast: asText });
    return rows[0]?.map(String) ?? null;
  };
  const condition = filter === null ? '' : ` AND (${filter})`;
  const maximumKey =
    request.maximumKey ?? (await one(`SELECT ${select} FROM ${from} ORDER BY ${order('DESC')} LIMIT 1`));
  if (maximumKey === null) return { kind: 'none', why: null };
  const above = lastKey === null ? 'TRUE' : than(key, '>', '>', lastKey);
  const upTo = (bound: Key): string => than(key, '<', '<=', bound);
  const end = await one(
    `SELECT ${select} FROM ${from} WHERE ${above} AND ${upTo(maximumKey)}${condition} ORDER BY ${order('ASC')} LIMIT 1 OFFSET ${settings.chunkSize - 1}`,
  );
  const sql = `SELECT ${version.select.join(', ')} FROM ${from} WHERE ${above} AND ${upTo(end ?? maximumKey)}${condition} ORDER BY ${order('ASC')}`;
  const rows: SelectedRows[] = [];
  for await (const some of selectRows(connection, sql, settings.chunkSize, signal)) rows.push(some);
  const isLast = end === null || end.join('\0') === maximumKey.join('\0');
  return { kind: 'rows', version, rows, lastKey: end ?? maximumKey, maximumKey, isLast, high };
}

const asText = (field: { string(): string | null }): string | null => field.string();

interface KeyColumn {
  /** As its value is read, and as it is ordered and compared. */
  readonly shown: string;
  readonly compared: string;
  literal(value: string): string;
}

function keyColumn({ name, kind }: ColumnDef): KeyColumn {
  const column = quoteIdentifier(name);
  switch (kind) {
    case 'enum':
    case 'set':
    case 'bit':
      // Ordered by number, but compared with texts as texts.
      return { shown: `${column} + 0`, compared: `${column} + 0`, literal: numeric };
    case 'float':
    case 'double':
      return { shown: `${column} + 0e0`, compared: `${column} + 0e0`, literal: numeric };
    case 'tinyint':
    case 'smallint':
    case 'mediumint':
    case 'int':
    case 'bigint':
    case 'decimal':
    case 'year':
      return { shown: `${column} + 0`, compared: column, literal: numeric };
    case 'binary':
    case 'blob':
    case 'geometry':
    case 'vector':
      return {
        shown: `HEX(${column})`,
        compared: column,
        literal: value => `x'${value.replace(/[^0-9A-Fa-f]/g, '')}'`,
      };
    case 'text':
    case 'json':
    case 'date':
    case 'time':
    case 'datetime':
    case 'timestamp':
    case 'uuid':
    case 'inet4':
    case 'inet6':
      return { shown: column, compared: column, literal: value => `'${value.replace(/[\\']/g, '\\$&')}'` };
  }
}

/** Keys come from offsets too: what is no number never gets into a statement. */
function numeric(value: string): string {
  if (/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(value)) return value;
  throw new Error(`"${value}" is not the key of a row`);
}

/** A comparison of row values, spelt out so that the server reads a range of the index. `last` stands where all columns but the last are the same. */
function than(key: readonly KeyColumn[], operator: '<' | '>', last: '<=' | '>', bound: Key): string {
  if (bound.length !== key.length) throw new Error('the table has another key than when its reading began');
  const alternatives = key.map(({ compared, literal }, i) => {
    const same = key.slice(0, i).map((other, n) => `${other.compared} = ${other.literal(bound[n]!)}`);
    const sign = i === key.length - 1 ? last : operator;
    return `(${[...same, `${compared} ${sign} ${literal(bound[i]!)}`].join(' AND ')})`;
  });
  return `(${alternatives.join(' OR ')})`;
}
