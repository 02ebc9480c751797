/** How a column's type is declared: its name, length and scale, as source types and hashes need them. */
import { parseColumn } from '../ddl/parseColumn.ts';
import { typeName } from '../ddl/tableDefinition.ts';
import { TokenCursor } from '../ddl/tokens.ts';
import { LogType } from '../protocol/eventTypes.ts';
import { stringLength } from '../protocol/logTypes.ts';
import type { MappedColumn } from '../protocol/tableMap.ts';
import type { ColumnDef } from './columnDef.ts';

export interface DeclaredType {
  /** In capitals, with UNSIGNED and ZEROFILL. */
  readonly name: string;
  /** Characters, digits, bits or fraction digits. */
  readonly length: number | null;
  readonly scale: number | null;
}

/** From the text of the catalogue, such as `decimal(10,2) unsigned`. */
export function declaredType(columnType: string): DeclaredType {
  const { column } = parseColumn('', new TokenCursor(columnType));
  return { name: typeName(column), length: column.length, scale: column.scale };
}

const GEOMETRIES = [
  'GEOMETRY',
  'POINT',
  'LINESTRING',
  'POLYGON',
  'MULTIPOINT',
  'MULTILINESTRING',
  'MULTIPOLYGON',
  'GEOMCOLLECTION',
];
const SIZES = ['', 'TINY', '', 'MEDIUM', 'LONG'];

/** From the log. What it does not tell, the width of TINYINT(1) or FLOAT(7,2), is taken from the catalogue of now if the rest is the same there. */
export function loggedType(column: MappedColumn, def: ColumnDef, now: DeclaredType | null): DeclaredType {
  const logged = fromLog(column, def);
  const isSame = now !== null && now.name.replace(' ZEROFILL', '') === logged.name;
  return isSame && (logged.length === now.length || isNumber(def)) ? now : logged;
}

const isNumber = ({ kind }: ColumnDef): boolean => /int$|^float$|^double$/.test(kind);

function fromLog({ type, metadata, geometryType }: MappedColumn, def: ColumnDef): DeclaredType {
  const sign = def.isUnsigned ? ' UNSIGNED' : '';
  const of = (name: string, length: number | null = null, scale: number | null = null): DeclaredType => ({
    name,
    length,
    scale,
  });
  const isVariable = type === LogType.varchar || type === LogType.varString;
  const size = SIZES[metadata] ?? '';
  switch (def.kind) {
    case 'decimal':
      return of(`DECIMAL${sign}`, def.length, def.scale);
    case 'bit':
    case 'binary':
      return of(def.kind.toUpperCase(), def.length);
    case 'time':
    case 'datetime':
    case 'timestamp':
      return of(def.kind.toUpperCase(), def.scale === 0 ? null : def.scale);
    case 'text': {
      const width = bytesOf(def.charset ?? 'utf8mb4');
      if (isVariable) return of('VARCHAR', metadata / width);
      return type === LogType.string ? of('CHAR', stringLength(metadata) / width) : of(`${size}TEXT`);
    }
    case 'blob':
      return isVariable ? of('VARBINARY', metadata) : of(`${size}BLOB`);
    case 'enum':
      return of('ENUM', 1);
    case 'set':
      return of('SET', 2 * def.values.length - 1);
    case 'geometry':
      return of(GEOMETRIES[geometryType ?? 0] ?? 'GEOMETRY');
    default:
      return of(`${def.kind.toUpperCase()}${sign}`);
  }
}

const WIDTHS: Readonly<Record<string, number>> = {
  utf8mb4: 4,
  utf8mb3: 3,
  utf8: 3,
  ucs2: 2,
  utf16: 4,
  utf16le: 4,
  utf32: 4,
  gbk: 2,
  gb2312: 2,
  big5: 2,
  sjis: 2,
  cp932: 2,
  euckr: 2,
  ujis: 3,
  eucjpms: 3,
  gb18030: 4,
};

/** Most bytes of a character. */
const bytesOf = (charset: string): number => WIDTHS[charset] ?? 1;
