/** What the sink knows of a target table, read from the catalog: columns with their types, unique keys, what the user may do. */
import type { Client } from 'pg';
import type { SqlColumn, SqlTable } from '../../shared/sqlTypes.ts';
import type { TableName } from '../../shared/tableName.ts';

export interface TargetColumn extends SqlColumn {
  /** Of the base type, where the column is of a domain. */
  readonly typeOid: number;
  readonly typeName: string;
  /** As SQL writes it, without modifier. */
  readonly typeSql: string;
  /** -1 = none. */
  readonly modifier: number;
  readonly category: string;
  readonly isEnum: boolean;
  /** 0 = no array. */
  readonly elementOid: number;
  readonly isIdentityAlways: boolean;
}

/** `uniqueKeys` are those of complete, immediate indexes. */
export interface TargetTable extends SqlTable<TargetColumn> {
  readonly oid: number;
  /** Whether COPY does what INSERT does: no view, no row security, no rules. */
  readonly takesCopy: boolean;
}

export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const tableSql = `
  select c.oid, n.nspname, c.relname, c.relkind, row_security_active(c.oid) or c.relhasrules as refuses_copy,
    has_table_privilege(c.oid, 'INSERT') or has_any_column_privilege(c.oid, 'INSERT') as can_insert,
    has_table_privilege(c.oid, 'UPDATE') or has_any_column_privilege(c.oid, 'UPDATE') as can_update,
    has_table_privilege(c.oid, 'DELETE') as can_delete, has_table_privilege(c.oid, 'TRUNCATE') as can_truncate
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'f', 'v')
    and case when $1::text is null then pg_table_is_visible(c.oid) else lower(n.nspname) = lower($1) end
    and lower(c.relname) = lower($2)
  order by (c.relname = $2) desc, ($1::text is null or n.nspname = $1) desc, c.oid`;

const columnsSql = `
  with recursive base(attnum, typ, modifier) as (
    select attnum, atttypid, atttypmod from pg_attribute where attrelid = $1 and attnum > 0 and not attisdropped
    union all
    select b.attnum, t.typbasetype, case when b.modifier >= 0 then b.modifier else t.typtypmod end
    from base b join pg_type t on t.oid = b.typ where t.typtype = 'd'
  )
  select a.attname, a.attnum, t.oid as type_oid, t.typname, format_type(t.oid, -1) as type_sql,
    format_type(a.atttypid, a.atttypmod) as display_type, b.modifier, t.typcategory, t.typtype = 'e' as is_enum,
    case when t.typcategory = 'A' then t.typelem else 0 end as element_oid,
    a.attnotnull, a.atthasdef or a.attidentity <> '' as has_default, a.attgenerated <> '' as is_generated,
    a.attidentity = 'a' as identity_always,
    (t.typtype = 'e' or t.oid in (16, 17, 20, 21, 23, 25, 26, 1043, 1082, 1083, 1114, 1184, 2950))
      and coalesce((select collisdeterministic from pg_collation l where l.oid = a.attcollation), true) as by_bytes
  from pg_attribute a join base b on b.attnum = a.attnum join pg_type t on t.oid = b.typ
  where a.attrelid = $1 and t.typtype <> 'd'
  order by a.attnum`;

const keysSql = `
  select array(select a.attname::text from unnest(i.indkey[0:i.indnkeyatts - 1]) with ordinality k(attnum, ord)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum order by k.ord) as columns
  from pg_index i
  where i.indrelid = $1 and i.indisunique and i.indimmediate and i.indisvalid and i.indpred is null and i.indexprs is null
  order by i.indisprimary desc, i.indexrelid`;

/**
 * `rules`: unique indexes and exclusions, those of partitions that their parent does not have among them, and foreign keys in either direction.
 * A session that plays a replica checks no foreign keys.
 */
const rulesSql = `
  with recursive links(child, parent) as (
    select conrelid, confrelid from pg_constraint
    where contype = 'f' and conparentid = 0 and current_setting('session_replication_role') <> 'replica'
  ), joined(oid) as (
    select $1::oid
    union
    select case when l.child = j.oid then l.parent else l.child end from joined j join links l on j.oid in (l.child, l.parent)
  ), path(oid, depth) as (
    select $1::oid, 0
    union
    select l.parent, p.depth + 1 from path p join links l on l.child = p.oid and l.parent <> l.child where p.depth < 16
  ), indexes as (
    select i.indexrelid from pg_index i
    where (i.indisunique or i.indisexclusion)
      and (i.indrelid = $1 or i.indrelid in (select relid from pg_partition_tree($1)))
      and not exists (select from pg_inherits h where h.inhrelid = i.indexrelid)
  )
  select (select count(*) from indexes)::int as unique_indexes,
    exists (select from links where $1 in (child, parent)) as has_foreign_keys,
    (select min(oid::bigint) from joined)::float8 as foreign_group, (select max(depth) from path) as foreign_depth`;

interface RulesRow {
  unique_indexes: number;
  has_foreign_keys: boolean;
  foreign_group: number;
  foreign_depth: number;
}
interface TableRow {
  oid: number;
  nspname: string;
  relname: string;
  relkind: string;
  refuses_copy: boolean;
  can_insert: boolean;
  can_update: boolean;
  can_delete: boolean;
  can_truncate: boolean;
}
interface ColumnRow {
  attname: string;
  attnum: number;
  type_oid: number;
  typname: string;
  type_sql: string;
  display_type: string;
  modifier: number;
  typcategory: string;
  is_enum: boolean;
  element_oid: number;
  attnotnull: boolean;
  has_default: boolean;
  is_generated: boolean;
  identity_always: boolean;
  by_bytes: boolean;
}

/** The table of that name (the exact one, else the one that differs only by case), or null. */
export async function readTable(client: Client, name: TableName): Promise<TargetTable | null> {
  const tables = (await client.query<TableRow>(tableSql, [name.schema, name.table])).rows;
  const table = tables[0];
  if (table === undefined) return null;
  const isExact = table.relname === name.table && (name.schema === null || table.nspname === name.schema);
  if (!isExact && tables.length > 1) return null;
  const columns = (await client.query<ColumnRow>(columnsSql, [table.oid])).rows;
  const keys = (await client.query<{ columns: string[] }>(keysSql, [table.oid])).rows;
  const rules = (await client.query<RulesRow>(rulesSql, [table.oid])).rows[0]!;
  return {
    id: String(table.oid),
    oid: table.oid,
    name: `${table.nspname}.${table.relname}`,
    sql: `${quoteIdentifier(table.nspname)}.${quoteIdentifier(table.relname)}`,
    columns: columns.map(c => ({
      name: c.attname,
      position: c.attnum,
      typeOid: c.type_oid,
      typeName: c.typname,
      typeSql: c.type_sql,
      displayType: c.display_type,
      modifier: c.modifier,
      category: c.typcategory,
      isEnum: c.is_enum,
      elementOid: c.element_oid,
      isNotNull: c.attnotnull,
      hasDefault: c.has_default,
      isGenerated: c.is_generated,
      isIdentityAlways: c.identity_always,
      comparesByBytes: c.by_bytes,
    })),
    uniqueKeys: keys.map(k => k.columns),
    hasFurtherRules: rules.unique_indexes > 1 || rules.has_foreign_keys,
    ...(!rules.has_foreign_keys && rules.unique_indexes === keys.length && { refusingKeys: keys.map(k => k.columns) }),
    foreignGroup: rules.foreign_group,
    foreignDepth: rules.foreign_depth,
    takesCopy: table.relkind !== 'v' && !table.refuses_copy,
    rights: {
      insert: table.can_insert,
      update: table.can_update,
      delete: table.can_delete,
      truncate: table.can_truncate,
    },
  };
}

/** The schema of that name, else the first that differs by case only; null = there is none. */
export async function readSchemaName(client: Client, name: string): Promise<string | null> {
  const { rows } = await client.query<{ nspname: string }>(
    'select nspname from pg_namespace where lower(nspname) = lower($1) order by nspname = $1 desc, oid limit 1',
    [name],
  );
  return rows[0]?.nspname ?? null;
}
