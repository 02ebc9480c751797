/**
 * Between which keys the next chunk of a table lies. Keys are compared by the server, so that any type and collation will do; at which moment does not matter, since
 * what comes to lie between them later is in the log.
 */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import type { ChunkBounds, Key, NoChunk } from '../../shared/incrementalChunk.ts';
import type { SourceSettings } from '../config.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import type { ColumnDef } from '../types/columnDef.ts';
import { type CatalogTable, fullName, readTable, type TableName } from './catalog.ts';
import type { TableVersions } from './tableVersions.ts';

/** How a table is read. */
export interface ChunkTable {
  readonly table: TableName;
  /** Column by which the table is read. */
  readonly surrogateKey: string | null;
  readonly filter: string | null;
}

export interface BoundsRequest extends ChunkTable {
  /** Null = from the beginning. */
  readonly lastKey: Key | null;
  readonly maximumKey: Key | null;
}

export async function chunkBounds(
  connection: Connection,
  request: BoundsRequest,
  versions: TableVersions,
  settings: SourceSettings,
): Promise<ChunkBounds | NoChunk> {
  const { table, lastKey, surrogateKey } = request;
  const catalog = await readTable(connection, table, settings.connector === 'mariadb');
  if (catalog === null) return { kind: 'none', why: 'it is not there any more', status: 'UNKNOWN_SCHEMA' };
  const why = whyUnread(catalog, surrogateKey, versions, settings);
  if (why !== null) return { kind: 'none', why, status: 'NO_PRIMARY_KEY' };
  const { topic } = versions.ofCatalog(catalog);
  const key = keyOf(catalog, surrogateKey);
  const select = key.map(({ shown }) => shown).join(', ');
  const one = async (where: string, order: 'ASC' | 'DESC', offset: number): Promise<Key | null> => {
    const by = key.map(({ compared }) => `${compared} ${order}`).join(', ');
    const sql = `SELECT ${select} FROM ${from(table)} WHERE ${where} ORDER BY ${by} LIMIT 1 OFFSET ${offset}`;
    // As the server writes them: the driver reads a DOUBLE with an error in its last digit, and the row that has the largest key would be left out.
    const [rows] = await connection.query<RowDataPacket[][]>({ sql, rowsAsArray: true, typeCast: asText });
    return rows[0]?.map(String) ?? null;
  };
  const maximumKey = request.maximumKey ?? (await one('TRUE', 'DESC', 0));
  if (maximumKey === null) return { kind: 'none', why: null, status: 'EMPTY' };
  const end = await one(rowsBetween(request, key, lastKey, maximumKey), 'ASC', settings.chunkSize - 1);
  const isLast = end === null || end.join('\0') === maximumKey.join('\0');
  return { kind: 'bounds', topic, above: lastKey, lastKey: end ?? maximumKey, maximumKey, isLast };
}

/** The SELECT of the rows of a chunk, in order of their keys. */
export function chunkSelect(
  request: ChunkTable,
  catalog: CatalogTable,
  columns: readonly string[],
  { above, lastKey }: ChunkBounds,
): string {
  const key = keyOf(catalog, request.surrogateKey);
  const by = key.map(({ compared }) => `${compared} ASC`).join(', ');
  return `SELECT ${columns.join(', ')} FROM ${from(request.table)} WHERE ${rowsBetween(request, key, above, lastKey)} ORDER BY ${by}`;
}

/** Null = it can be read. */
export function whyUnread(
  catalog: CatalogTable,
  surrogateKey: string | null,
  versions: TableVersions,
  settings: SourceSettings,
): string | null {
  const chosen = settings.keyColumns(fullName(catalog));
  if (chosen !== null && !(catalog.keyColumns.length > 0 && catalog.keyColumns.every(name => chosen.includes(name)))) {
    return 'message.key.columns leaves out columns of its key: changes of one row would hide others';
  }
  const names = keyNames(catalog, surrogateKey);
  if (names.length === 0) return 'it has no primary key; name a unique column as surrogate-key';
  if (versions.ofCatalog(catalog).keySchema === null) return 'its events have no key';
  const isUsable = names.every(name => {
    const column = catalog.columns.find(other => other.name === name);
    return column?.isRequired && column.def !== null;
  });
  return isUsable ? null : `it has no column "${names.join(', ')}" that is NOT NULL`;
}

const keyNames = (catalog: CatalogTable, surrogateKey: string | null): readonly string[] =>
  surrogateKey === null ? catalog.keyColumns : [surrogateKey];

const from = ({ database, name }: TableName): string => `${quoteIdentifier(database)}.${quoteIdentifier(name)}`;

const asText = (field: { string(): string | null }): string | null => field.string();

function rowsBetween({ filter }: ChunkTable, key: readonly KeyColumn[], above: Key | null, upTo: Key): string {
  const condition = filter === null ? '' : ` AND (${filter})`;
  return `${above === null ? 'TRUE' : than(key, '>', '>', above)} AND ${than(key, '<', '<=', upTo)}${condition}`;
}

interface KeyColumn {
  /** As its value is read, and as it is ordered and compared. */
  readonly shown: string;
  readonly compared: string;
  literal(value: string): string;
}

function keyOf(catalog: CatalogTable, surrogateKey: string | null): readonly KeyColumn[] {
  return keyNames(catalog, surrogateKey).map(name => {
    const def = catalog.columns.find(column => column.name === name)?.def;
    if (!def) throw new Error(`the table has no column "${name}" any more`);
    return keyColumn(def);
  });
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
