/** What the database says of its tables now: formats, names, keys. A few queries for all tables, in one transaction. */
import { type Database, snapshotTransaction, type Transaction } from '../connection.ts';
import type { NamedField, RelationFormats } from '../journal/metadata.ts';
import { parseDescriptor, type RecordFormat } from '../journal/recordFormat.ts';

export interface CatalogTable {
  readonly relation: number;
  readonly name: string;
  readonly format: number;
  readonly fields: readonly NamedField[];
  readonly key: readonly string[];
}

export interface Catalog {
  readonly guid: string;
  readonly engine: string;
  /** Of the segment that is being written. */
  readonly sequence: number;
  readonly isPublished: boolean;
  readonly relations: readonly RelationFormats[];
  readonly tables: readonly CatalogTable[];
}

const PERMANENT =
  'coalesce(r.rdb$system_flag, 0) = 0 and r.rdb$view_blr is null and coalesce(r.rdb$relation_type, 0) = 0';

const DATABASE = `select rdb$get_context('SYSTEM', 'DB_GUID') guid, rdb$get_context('SYSTEM', 'REPLICATION_SEQUENCE') seq,
  rdb$get_context('SYSTEM', 'ENGINE_VERSION') engine,
  (select max(p.rdb$active_flag) from rdb$publications p) active from rdb$database`;
const TABLES = `select r.rdb$relation_id id, trim(r.rdb$relation_name) name, r.rdb$format fmt from rdb$relations r where ${PERMANENT}
  order by r.rdb$relation_id`;
const FORMATS = `select f.rdb$relation_id id, f.rdb$format fmt, cast(f.rdb$descriptor as varchar(32000) character set octets) descriptor
  from rdb$formats f join rdb$relations r on r.rdb$relation_id = f.rdb$relation_id where ${PERMANENT} order by f.rdb$relation_id, f.rdb$format`;
const FIELDS = `select r.rdb$relation_id id, rf.rdb$field_id fid, trim(rf.rdb$field_name) name, rf.rdb$field_position pos,
  iif(f.rdb$computed_blr is null, 0, 1) computed, coalesce(rf.rdb$null_flag, f.rdb$null_flag, 0) required, f.rdb$field_precision prec
  from rdb$relations r join rdb$relation_fields rf on rf.rdb$relation_name = r.rdb$relation_name
  join rdb$fields f on f.rdb$field_name = rf.rdb$field_source where ${PERMANENT} order by r.rdb$relation_id, rf.rdb$field_position`;
const KEYS = `select r.rdb$relation_id id, trim(rc.rdb$constraint_type) kind, trim(rc.rdb$index_name) idx, trim(s.rdb$field_name) name
  from rdb$relations r join rdb$relation_constraints rc on rc.rdb$relation_name = r.rdb$relation_name
  join rdb$index_segments s on s.rdb$index_name = rc.rdb$index_name
  where ${PERMANENT} and rc.rdb$constraint_type in ('PRIMARY KEY', 'UNIQUE')
  order by r.rdb$relation_id, rc.rdb$constraint_type, rc.rdb$index_name, s.rdb$field_position`;
const ZONES = 'select rdb$time_zone_id id, trim(rdb$time_zone_name) name from rdb$time_zones';

type Row = Readonly<Record<string, unknown>>;

/** Reads under the given transaction, or one of its own. */
export async function readCatalog(database: Database, transaction: Transaction | null): Promise<Catalog> {
  if (transaction !== null) return read(transaction);
  const own = await database.transactionAsync({
    ...snapshotTransaction(),
  });
  try {
    return await read(own);
  } finally {
    await own.rollbackAsync().catch(() => {});
  }
}

async function read(transaction: Transaction): Promise<Catalog> {
  const query = (sql: string): Promise<Row[]> => transaction.queryAsync<Row>(sql);
  const [of] = await query(DATABASE);
  const tables = await query(TABLES);
  const formats = byRelation(await query(FORMATS));
  const fields = byRelation(await query(FIELDS));
  const keys = byRelation(await query(KEYS));
  return {
    guid: String(of!.GUID),
    engine: String(of!.ENGINE),
    sequence: Number(of!.SEQ ?? 0),
    isPublished: Number(of!.ACTIVE) === 1,
    relations: tables.map(({ ID, NAME }) => ({
      id: Number(ID),
      name: String(NAME),
      formats: (formats.get(Number(ID)) ?? []).map(row => formatOf(row, String(NAME))),
    })),
    tables: tables.map(({ ID, NAME, FMT }) => {
      const own = (fields.get(Number(ID)) ?? []).map(fieldOf);
      return {
        relation: Number(ID),
        name: String(NAME),
        format: Number(FMT),
        fields: own,
        key: keyOf(keys.get(Number(ID)) ?? [], own),
      };
    }),
  };
}

/** Names of all regions by number: hundreds, and the same for as long as the server's ICU data. */
export async function readTimeZones(database: Database): Promise<Record<string, string>> {
  const rows = await database.queryAsync<Row>(ZONES);
  return Object.fromEntries(rows.map(({ ID, NAME }) => [String(ID), String(NAME)]));
}

function byRelation(rows: readonly Row[]): Map<number, Row[]> {
  const lists = new Map<number, Row[]>();
  for (const row of rows) {
    const list = lists.get(Number(row.ID));
    if (list === undefined) lists.set(Number(row.ID), [row]);
    else list.push(row);
  }
  return lists;
}

function formatOf(row: Row, table: string): RecordFormat {
  return parseDescriptor(Number(row.FMT), Buffer.from(row.DESCRIPTOR as Buffer), table);
}

const fieldOf = (row: Row): NamedField => ({
  id: Number(row.FID),
  name: String(row.NAME),
  position: Number(row.POS),
  ...(row.COMPUTED === 1 && { computed: true }),
  ...(row.REQUIRED === 1 && { notNull: true }),
  ...(Number(row.PREC) > 0 && { precision: Number(row.PREC) }),
});

/** The primary key, else the first unique constraint over columns that are not null. */
function keyOf(rows: readonly Row[], fields: readonly NamedField[]): string[] {
  const required = new Set(fields.filter(field => field.notNull).map(field => field.name));
  const constraints = new Map<string, string[]>();
  for (const { IDX, NAME } of rows)
    constraints.set(String(IDX), [...(constraints.get(String(IDX)) ?? []), String(NAME)]);
  // The rows of the primary key come first.
  if (rows[0]?.KIND === 'PRIMARY KEY') return constraints.values().next().value ?? [];
  return [...constraints.values()].find(columns => columns.every(name => required.has(name))) ?? [];
}
