/** What the sink knows of a target table: columns with their types, keys. */
import type { SqlColumn, SqlTable } from '../../shared/sqlTypes.ts';
import type { TableName } from '../../shared/tableName.ts';
import { type Database, quoteName } from '../connection.ts';
import { CHARSET_OCTETS } from '../journal/characterSets.ts';

export type ColumnKind =
  | 'integer'
  | 'decimal'
  | 'decfloat'
  | 'float'
  | 'boolean'
  | 'text'
  | 'bytes'
  | 'textBlob'
  | 'blob'
  | 'date'
  | 'time'
  | 'timestamp'
  | 'timeTz'
  | 'timestampTz'
  | 'other';

export interface TargetColumn extends SqlColumn {
  readonly kind: ColumnKind;
  /** As SQL writes it, for casts. */
  readonly typeSql: string;
  /** Digits after the point. */
  readonly scale: number;
  /** Characters of text, digits of a decimal; null where it has no such bound. */
  readonly length: number | null;
  /** Of text. */
  readonly charset: number;
  /** As ALTER COLUMN needs it again. */
  readonly charsetSql: string;
  /** Whether its type can be changed: it has no domain, and no key or index is made of it. */
  readonly isAlterable: boolean;
}

export type TargetTable = SqlTable<TargetColumn>;

type Row = Readonly<Record<string, unknown>>;

const TABLES = `select trim(r.rdb$relation_name) name from rdb$relations r
  where coalesce(r.rdb$system_flag, 0) = 0 and upper(trim(r.rdb$relation_name)) = upper(?)`;
const COLUMNS = `select trim(rf.rdb$field_name) name, rf.rdb$field_position pos, f.rdb$field_type type, f.rdb$field_sub_type sub, f.rdb$field_scale scale,
  f.rdb$field_precision prec, f.rdb$character_length chars, f.rdb$field_length len, f.rdb$character_set_id cs, f.rdb$dimensions dims,
  coalesce(rf.rdb$null_flag, f.rdb$null_flag, 0) required, iif(coalesce(rf.rdb$default_source, f.rdb$default_source) is null, 0, 1) def,
  iif(f.rdb$computed_blr is null, 0, 1) computed, rf.rdb$identity_type ident,
  iif(f.rdb$field_name starting with 'RDB$', 0, 1) named, trim(c.rdb$character_set_name) charset,
  (select count(*) from rdb$indices i join rdb$index_segments s on s.rdb$index_name = i.rdb$index_name
     where i.rdb$relation_name = rf.rdb$relation_name and s.rdb$field_name = rf.rdb$field_name) indexes
  from rdb$relation_fields rf join rdb$fields f on f.rdb$field_name = rf.rdb$field_source
  left join rdb$character_sets c on c.rdb$character_set_id = f.rdb$character_set_id where rf.rdb$relation_name = ? order by rf.rdb$field_position`;
const KEYS = `select trim(i.rdb$index_name) idx, trim(s.rdb$field_name) name, coalesce(rc.rdb$constraint_type, '') kind
  from rdb$indices i join rdb$index_segments s on s.rdb$index_name = i.rdb$index_name
  left join rdb$relation_constraints rc on rc.rdb$index_name = i.rdb$index_name
  where i.rdb$relation_name = ? and i.rdb$unique_flag = 1 and coalesce(i.rdb$index_inactive, 0) = 0 order by i.rdb$index_name, s.rdb$field_position`;

/** The table of that name (the exact one, else the only one that differs by case), or null. Firebird has no schemas: that part is left out. */
export async function readTable(database: Database, { table: wanted }: TableName): Promise<TargetTable | null> {
  const names = (await database.queryAsync<Row>(TABLES, [wanted])).map(row => String(row.NAME));
  const name = names.includes(wanted) ? wanted : names.length === 1 ? names[0]! : null;
  if (name === null) return null;
  const columns = await database.queryAsync<Row>(COLUMNS, [name]);
  const keys = new Map<string, { columns: string[]; isPrimary: boolean }>();
  for (const { IDX, NAME, KIND } of await database.queryAsync<Row>(KEYS, [name])) {
    const key = keys.get(String(IDX)) ?? { columns: [], isPrimary: String(KIND).startsWith('PRIMARY') };
    key.columns.push(String(NAME));
    keys.set(String(IDX), key);
  }
  const ordered = [...keys.values()].sort((a, b) => Number(b.isPrimary) - Number(a.isPrimary));
  return {
    id: name,
    name,
    sql: quoteName(name),
    columns: columns.map(columnOf),
    uniqueKeys: ordered.map(key => key.columns),
    // Rights are known when a statement is refused.
    rights: { insert: true, update: true, delete: true, truncate: true },
    // One connection writes: the order of all rows is kept, whatever the rules.
    hasFurtherRules: true,
    foreignGroup: 0,
    foreignDepth: 0,
  };
}

function columnOf(row: Row): TargetColumn {
  const scale = -Number(row.SCALE ?? 0);
  const { kind, typeSql } = typeOf(row, scale);
  return {
    name: String(row.NAME),
    position: Number(row.POS),
    displayType: typeSql,
    isNotNull: Number(row.REQUIRED) === 1,
    hasDefault: Number(row.DEF) === 1 || row.IDENT !== null,
    isGenerated: Number(row.COMPUTED) === 1,
    comparesByBytes: false,
    kind,
    typeSql,
    scale,
    length: lengthOf(row, kind),
    charset: Number(row.CS ?? 0),
    charsetSql: kind === 'text' && row.CHARSET !== null ? ` character set ${String(row.CHARSET)}` : '',
    isAlterable:
      Number(row.NAMED) === 0 && Number(row.INDEXES) === 0 && row.IDENT === null && Number(row.COMPUTED) === 0,
  };
}

function lengthOf(row: Row, kind: ColumnKind): number | null {
  if (kind === 'text') return Number(row.CHARS ?? row.LEN);
  if (kind === 'decimal') return Number(row.PREC) || DEFAULT_DIGITS[Number(row.TYPE)]!;
  return kind === 'bytes' ? Number(row.LEN) : null;
}

/** Of exact numbers by RDB$FIELD_TYPE, where no precision is stored. */
const DEFAULT_DIGITS: Readonly<Record<number, number>> = { 7: 4, 8: 9, 16: 18, 26: 38 };

/** Types by RDB$FIELD_TYPE. */
function typeOf(row: Row, scale: number): { kind: ColumnKind; typeSql: string } {
  const of = (kind: ColumnKind, typeSql: string): { kind: ColumnKind; typeSql: string } => ({ kind, typeSql });
  if (Number(row.DIMS ?? 0) > 0) return of('other', 'array');
  const isDecimal = Number(row.SUB ?? 0) !== 0 || scale !== 0;
  const exact = (integer: string, digits: number): { kind: ColumnKind; typeSql: string } =>
    isDecimal ? of('decimal', `numeric(${Number(row.PREC) || digits},${scale})`) : of('integer', integer);
  const isBytes = Number(row.CS) === CHARSET_OCTETS;
  const characters = Number(row.CHARS ?? row.LEN);
  switch (Number(row.TYPE)) {
    case 7:
      return exact('smallint', 4);
    case 8:
      return exact('integer', 9);
    case 16:
      return exact('bigint', 18);
    case 26:
      return exact('int128', 38);
    case 10:
      return of('float', 'float');
    case 27:
      return of('float', 'double precision');
    case 24:
      return of('decfloat', 'decfloat(16)');
    case 25:
      return of('decfloat', 'decfloat(34)');
    case 23:
      return of('boolean', 'boolean');
    case 14:
      return isBytes ? of('bytes', `binary(${Number(row.LEN)})`) : of('text', `char(${characters})`);
    case 37:
      return isBytes ? of('bytes', `varbinary(${Number(row.LEN)})`) : of('text', `varchar(${characters})`);
    case 12:
      return of('date', 'date');
    case 13:
      return of('time', 'time');
    case 35:
      return of('timestamp', 'timestamp');
    case 28:
      return of('timeTz', 'time with time zone');
    case 29:
      return of('timestampTz', 'timestamp with time zone');
    case 261:
      return Number(row.SUB) === 1 ? of('textBlob', 'blob sub_type text') : of('blob', 'blob sub_type binary');
    default:
      return of('other', `type ${row.TYPE}`);
  }
}
