/** Columns of a TABLE_MAP as definitions: the same that the catalogue gave at that moment. */
import { ConnectError } from '../../../runtime/api/index.ts';
import { LogType } from '../protocol/eventTypes.ts';
import { stringLength } from '../protocol/logTypes.ts';
import type { MappedColumn, TableMap } from '../protocol/tableMap.ts';
import { textDecoding } from '../types/charsets.ts';
import type { ColumnDef, ColumnKind } from '../types/columnDef.ts';
import { isMariaText, MARIA_TEXT_BYTES } from '../types/mariaTextTypes.ts';
import type { CatalogTable } from './catalog.ts';

const BINARY_COLLATION = 63;
const POINT = 1;

/** null = a type that is not read. Only what no log tells is taken from the catalogue of now. */
export function loggedColumn(
  column: MappedColumn,
  index: number,
  map: TableMap,
  catalog: CatalogTable | null,
  collations: ReadonlyMap<number, string>,
): ColumnDef | null {
  const { type, metadata, name } = column;
  if (name === null) {
    throw new ConnectError(
      'MYSQL_ROW_METADATA',
      `The log does not name the columns of ${map.database}.${map.table}. Set binlog_row_metadata=FULL on the server; for changes from before, reset the offsets of the connector.`,
      { place: { table: `${map.database}.${map.table}` } },
    );
  }
  const isBytes = column.collation === null || column.collation === BINARY_COLLATION;
  const now = catalog?.columns.find(other => other.name === name)?.def;
  const logged = loggedKind(type, metadata, isBytes);
  const kind = isBinaryOf(now?.kind, logged, metadata) ? now!.kind : logged;
  if (kind === null) return null;
  const charset = column.collation === null ? null : (collations.get(column.collation) ?? null);
  const known = now?.kind === kind ? now : undefined;
  return {
    name,
    kind,
    isRequired: !column.isNullable,
    isUnsigned: column.isUnsigned,
    length: lengthOf(kind, metadata),
    scale: scaleOf(kind, type, metadata),
    charset: isBytes ? null : charset,
    values: valuesOf(column, charset, index, map),
    isPoint: column.geometryType === POINT,
    hasFloatScale: known?.hasFloatScale ?? false,
    isZerofill: known?.isZerofill ?? false,
  };
}

/** Whether what the log has as BINARY may be a type of MariaDB that it does not tell from it: the bytes are the same. */
const isBinaryOf = (now: ColumnKind | undefined, logged: ColumnKind | null, metadata: number): boolean =>
  now !== undefined && isMariaText(now) && logged === 'binary' && stringLength(metadata) === MARIA_TEXT_BYTES[now];

export function loggedKind(type: number, metadata: number, isBytes: boolean): ColumnKind | null {
  switch (type) {
    case LogType.tiny:
      return 'tinyint';
    case LogType.short:
      return 'smallint';
    case LogType.int24:
      return 'mediumint';
    case LogType.long:
      return 'int';
    case LogType.longlong:
      return 'bigint';
    case LogType.float:
      return 'float';
    case LogType.double:
      return 'double';
    case LogType.newdecimal:
      return 'decimal';
    case LogType.bit:
      return 'bit';
    case LogType.year:
      return 'year';
    case LogType.date:
    case LogType.newdate:
      return 'date';
    case LogType.time2:
      return 'time';
    case LogType.datetime2:
      return 'datetime';
    case LogType.timestamp2:
      return 'timestamp';
    case LogType.varchar:
    case LogType.varString:
    case LogType.blob:
      return isBytes ? 'blob' : 'text';
    case LogType.json:
      return 'json';
    case LogType.geometry:
      return 'geometry';
    case LogType.vector:
      return 'vector';
    case LogType.string: {
      const real = metadata & 0xff;
      if (real === LogType.enum) return 'enum';
      if (real === LogType.set) return 'set';
      return isBytes ? 'binary' : 'text';
    }
    default:
      return null;
  }
}

export function lengthOf(kind: ColumnKind, metadata: number): number {
  if (kind === 'decimal') return metadata & 0xff;
  if (kind === 'bit') return (metadata >> 8) * 8 + (metadata & 0xff);
  return kind === 'binary' ? stringLength(metadata) : 0;
}

export function scaleOf(kind: ColumnKind, type: number, metadata: number): number {
  if (kind === 'decimal') return metadata >> 8;
  return type === LogType.time2 || type === LogType.datetime2 || type === LogType.timestamp2 ? metadata : 0;
}

function valuesOf(column: MappedColumn, charset: string | null, index: number, map: TableMap): readonly string[] {
  if (column.values === null) return [];
  const decoding = textDecoding(charset ?? 'utf8mb4');
  if (decoding === null) {
    throw new ConnectError(
      'MYSQL_COLUMN_UNSUPPORTED',
      `Column ${column.name ?? index} of ${map.database}.${map.table} has names in the character set ${charset}, which is not read. Leave it out with column.exclude.list.`,
    );
  }
  return column.values.map(value => (decoding === 'utf8' ? value.toString('utf8') : decoding(value, 0, value.length)));
}
