/**
 * What the database says of its tables now: formats, names, keys, and which transactions made them so. A few queries for all tables, in one transaction.
 */
import { type Database, snapshotTransaction, type Transaction } from '../connection.ts';
import type { NamedField, RelationFormats } from '../journal/metadata.ts';
import { type CommitStamp, compareStamps, LONG_AGO, stampOf } from './commitStamp.ts';
import { type DeclaredField, formatsOf } from './storedFormats.ts';

export interface CatalogTable {
  readonly relation: number;
  readonly name: string;
  readonly format: number;
  readonly fields: readonly NamedField[];
  readonly key: readonly string[];
  /** Of the oldest and of the newest of its rows in the system tables. */
  readonly created: CommitStamp;
  readonly changed: CommitStamp;
  /** Domains that its columns are of. */
  readonly domains: ReadonlySet<string>;
}

export interface Catalog {
  readonly guid: string;
  readonly engine: string;
  /** Of the segment that is being written. */
  readonly sequence: number;
  readonly isPublished: boolean;
  readonly relations: readonly RelationFormats[];
  readonly tables: readonly CatalogTable[];
  /** Of the transaction that was asked for: null = this does not show what it has left behind, since it has not committed yet. */
  readonly stamp: CommitStamp | null;
}

const PERMANENT =
  'coalesce(r.rdb$system_flag, 0) = 0 and r.rdb$view_blr is null and coalesce(r.rdb$relation_type, 0) = 0';

/** Who wrote the row of a system table that has the alias. */
const writer = (alias: string): string =>
  `${alias}.rdb$record_version tnx, rdb$get_transaction_cn(${alias}.rdb$record_version) cn`;

const DATABASE = `select rdb$get_context('SYSTEM', 'DB_GUID') guid, rdb$get_context('SYSTEM', 'REPLICATION_SEQUENCE') seq,
  rdb$get_context('SYSTEM', 'ENGINE_VERSION') engine, rdb$get_context('SYSTEM', 'SNAPSHOT_NUMBER') seen,
  (select max(p.rdb$active_flag) from rdb$publications p) active from rdb$database`;
const TABLES = `select r.rdb$relation_id id, trim(r.rdb$relation_name) name, r.rdb$format fmt, ${writer('r')} from rdb$relations r where ${PERMANENT}
  order by r.rdb$relation_id`;
const FORMATS = `select f.rdb$relation_id id, f.rdb$format fmt, f.rdb$db_key place,
  cast(substring(f.rdb$descriptor from 1 for 32000) as varchar(32000) character set octets) descriptor
  from rdb$formats f join rdb$relations r on r.rdb$relation_id = f.rdb$relation_id where ${PERMANENT}`;
const FIELDS = `select r.rdb$relation_id id, rf.rdb$field_id fid, trim(rf.rdb$field_name) name, rf.rdb$field_position pos,
  iif(f.rdb$computed_blr is null, 0, 1) computed, coalesce(rf.rdb$null_flag, f.rdb$null_flag, 0) required, f.rdb$field_precision prec,
  trim(rf.rdb$field_source) source, f.rdb$field_type type, f.rdb$field_length len, f.rdb$field_scale scale, f.rdb$dimensions dims,
  f.rdb$character_set_id charset, ${writer('rf')},
  f.rdb$record_version tnx2, rdb$get_transaction_cn(f.rdb$record_version) cn2
  from rdb$relations r join rdb$relation_fields rf on rf.rdb$relation_name = r.rdb$relation_name
  join rdb$fields f on f.rdb$field_name = rf.rdb$field_source where ${PERMANENT} order by r.rdb$relation_id, rf.rdb$field_position`;
const KEYS = `select r.rdb$relation_id id, trim(rc.rdb$constraint_type) kind, trim(rc.rdb$index_name) idx, trim(s.rdb$field_name) name, ${writer('rc')}
  from rdb$relations r join rdb$relation_constraints rc on rc.rdb$relation_name = r.rdb$relation_name
  join rdb$index_segments s on s.rdb$index_name = rc.rdb$index_name
  where ${PERMANENT} and rc.rdb$constraint_type in ('PRIMARY KEY', 'UNIQUE')
  order by r.rdb$relation_id, rc.rdb$constraint_type, rc.rdb$index_name, s.rdb$field_position`;
/** The owner's are as old as the table, whatever else was changed since. */
const RIGHTS = `select r.rdb$relation_id id, ${writer('p')} from rdb$relations r join rdb$user_privileges p on p.rdb$relation_name = r.rdb$relation_name
  where ${PERMANENT} and p.rdb$object_type = 0 and p.rdb$user = r.rdb$owner_name`;
const ZONES = 'select rdb$time_zone_id id, trim(rdb$time_zone_name) name from rdb$time_zones';

type Row = Readonly<Record<string, unknown>>;

/** Reads under the given transaction, or one of its own; `tnx` is the transaction whose work it should show. */
export async function readCatalog(
  database: Database,
  transaction: Transaction | null,
  tnx: number | null = null,
): Promise<Catalog> {
  if (transaction !== null) return read(transaction, tnx);
  const own = await database.transactionAsync({
    ...snapshotTransaction(),
  });
  try {
    return await read(own, tnx);
  } finally {
    await own.rollbackAsync().catch(() => {});
  }
}

async function read(transaction: Transaction, tnx: number | null): Promise<Catalog> {
  const query = (sql: string): Promise<Row[]> => transaction.queryAsync<Row>(sql);
  const [of] = await query(DATABASE);
  const tables = await query(TABLES);
  const formats = byRelation(await query(FORMATS));
  const fields = byRelation(await query(FIELDS));
  const keys = byRelation(await query(KEYS));
  const rights = byRelation(await query(RIGHTS));
  const rowsOf = (lists: ReadonlyMap<number, Row[]>, { ID }: Row): readonly Row[] => lists.get(Number(ID)) ?? [];
  return {
    guid: String(of!.GUID),
    engine: String(of!.ENGINE),
    sequence: Number(of!.SEQ ?? 0),
    isPublished: Number(of!.ACTIVE) === 1,
    relations: tables.map(row => ({
      id: Number(row.ID),
      name: String(row.NAME),
      formats: formatsOf(
        String(row.NAME),
        Number(row.FMT),
        rowsOf(formats, row).map(({ FMT, PLACE, DESCRIPTOR }) => ({
          format: Number(FMT),
          place: (PLACE as Buffer).readUInt32LE(4),
          descriptor: DESCRIPTOR as Buffer,
        })),
        rowsOf(fields, row).map(declaredField),
      ),
    })),
    tables: tables.map(row => {
      const own = rowsOf(fields, row);
      const named = own.map(fieldOf);
      const stamps = [row, ...own, ...rowsOf(keys, row)].map(({ TNX, CN }) => stampOf(TNX, CN));
      stamps.push(...own.map(({ TNX2, CN2 }) => stampOf(TNX2, CN2)));
      stamps.sort(compareStamps);
      const created = rowsOf(rights, row).map(({ TNX, CN }) => stampOf(TNX, CN));
      return {
        relation: Number(row.ID),
        name: String(row.NAME),
        format: Number(row.FMT),
        fields: named,
        key: keyOf(rowsOf(keys, row), named),
        created: [...created, ...stamps.slice(0, 1)].sort(compareStamps)[0] ?? LONG_AGO,
        changed: stamps.at(-1) ?? LONG_AGO,
        domains: new Set(own.map(({ SOURCE }) => String(SOURCE))),
      };
    }),
    stamp: tnx === null ? LONG_AGO : await seenStamp(transaction, tnx, Number(of!.SEEN)),
  };
}

/** Null = the transaction is not seen here. One that was rolled back has left nothing behind; one that the database does not know was long ago. */
async function seenStamp(transaction: Transaction, tnx: number, seen: number): Promise<CommitStamp | null> {
  const [row] = await transaction.queryAsync<Row>(`select rdb$get_transaction_cn(${tnx}) cn from rdb$database`);
  const commitNumber = row?.CN === null ? 1 : Number(row?.CN);
  const isOpen = commitNumber === 0 || commitNumber === -1;
  return isOpen || commitNumber > seen ? null : stampOf(tnx, commitNumber);
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

const declaredField = (row: Row): DeclaredField => ({
  id: Number(row.FID),
  isComputed: Number(row.COMPUTED) === 1,
  isArray: Number(row.DIMS ?? 0) > 0,
  type: Number(row.TYPE),
  length: Number(row.LEN),
  scale: Number(row.SCALE ?? 0),
  charset: Number(row.CHARSET ?? 0),
});

const fieldOf = (row: Row): NamedField => ({
  id: Number(row.FID),
  name: String(row.NAME),
  position: Number(row.POS),
  ...(Number(row.COMPUTED) === 1 && { computed: true }),
  ...(Number(row.REQUIRED) === 1 && { notNull: true }),
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
