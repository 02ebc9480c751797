/** What the catalogue says of tables: columns, types, defaults, keys. One query each for columns, keys and types, for any number of tables. */
import type pg from 'pg';
import type { CatalogType } from '../types/resolveType.ts';

export interface CatalogColumn {
  readonly name: string;
  readonly number: number;
  readonly typeOid: number;
  readonly typmod: number;
  /** NOT NULL, by the column or by its domain. */
  readonly isRequired: boolean;
  readonly isGenerated: boolean;
  readonly defaultExpression: string | null;
}

export interface CatalogTable {
  readonly oid: number;
  readonly schema: string;
  readonly name: string;
  readonly replicaIdentity: 'd' | 'n' | 'f' | 'i';
  readonly columns: readonly CatalogColumn[];
  /** Primary key in key order, else the first unique index over NOT NULL columns, else empty. */
  readonly keyColumns: readonly string[];
}

export const fullName = (table: { readonly schema: string; readonly name: string }): string =>
  `${table.schema}.${table.name}`;

export interface TableName {
  readonly oid: number;
  readonly schema: string;
  readonly name: string;
  readonly kind: 'table' | 'partitioned';
  readonly isPartition: boolean;
  readonly replicaIdentity: 'd' | 'n' | 'f' | 'i';
  readonly hasPrimaryKey: boolean;
}

/** All permanent tables that are not the server's own, in order of schema and name. */
export async function listTables(client: pg.Client): Promise<TableName[]> {
  const { rows } = await client.query(
    `SELECT c.oid::int8::text AS oid, n.nspname AS schema, c.relname AS name, c.relkind AS kind, c.relispartition AS is_partition,
            c.relreplident AS identity, EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) AS has_key
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
      ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"`,
  );
  return rows.map(row => ({
    oid: Number(row.oid),
    schema: row.schema,
    name: row.name,
    kind: row.kind === 'p' ? 'partitioned' : 'table',
    isPartition: row.is_partition,
    replicaIdentity: row.identity,
    hasPrimaryKey: row.has_key,
  }));
}

/** Null where the table is not there any more. */
export async function readTable(client: pg.Client, oid: number): Promise<CatalogTable | null> {
  const tables = await client.query(
    `SELECT n.nspname AS schema, c.relname AS name, c.relreplident AS identity
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ${oid}`,
  );
  const table = tables.rows[0];
  if (table === undefined) return null;
  const columns = await client.query(
    `SELECT a.attname AS name, a.attnum AS number, a.atttypid::int8::text AS type, a.atttypmod AS typmod,
            a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS required, a.attgenerated <> '' AS generated,
            CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END AS default
       FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
       LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = ${oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
  );
  const keys = await client.query(
    `SELECT i.indisprimary AS primary, array_agg(a.attname::text ORDER BY k.ord) AS columns
       FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid, unnest(i.indkey) WITH ORDINALITY AS k(num, ord)
       LEFT JOIN pg_attribute a ON a.attrelid = ${oid} AND a.attnum = k.num
      WHERE i.indrelid = ${oid} AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND k.ord <= i.indnkeyatts
      GROUP BY i.indexrelid, i.indisprimary, x.relname HAVING bool_and(coalesce(a.attnotnull, false))
      ORDER BY i.indisprimary DESC, x.relname COLLATE "C" LIMIT 1`,
  );
  return {
    oid,
    schema: table.schema,
    name: table.name,
    replicaIdentity: table.identity,
    columns: columns.rows.map(row => ({
      name: row.name,
      number: row.number,
      typeOid: Number(row.type),
      typmod: row.typmod,
      isRequired: row.required,
      isGenerated: row.generated,
      defaultExpression: row.default,
    })),
    keyColumns: keys.rows[0]?.columns ?? [],
  };
}

const KINDS = {
  b: 'base',
  c: 'composite',
  d: 'domain',
  e: 'enum',
  p: 'pseudo',
  r: 'range',
  m: 'multirange',
} as const;

/** The types with these oids, with the base types and elements below them. */
export async function readTypes(client: pg.Client, oids: readonly number[]): Promise<Map<number, CatalogType>> {
  const { rows } = await client.query(
    `WITH RECURSIVE wanted(oid) AS (
        SELECT unnest('{${oids.join(',')}}'::oid[])
      UNION
        SELECT below FROM wanted w JOIN pg_type t ON t.oid = w.oid, unnest(ARRAY[t.typelem, t.typbasetype]) AS below WHERE below <> 0
      )
      SELECT t.oid::int8::text AS oid, t.typname AS name, t.typtype AS kind, t.typbasetype::int8::text AS base, t.typtypmod AS typmod,
             CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END::int8::text AS element, t.typsend <> 0 AS sendable,
             (SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid) AS labels
        FROM pg_type t WHERE t.oid IN (SELECT oid FROM wanted)`,
  );
  const rowOf = new Map(rows.map(row => [Number(row.oid), row]));
  const types = new Map<number, CatalogType>();
  const build = (oid: number): CatalogType | null => {
    const known = types.get(oid);
    const row = rowOf.get(oid);
    if (known !== undefined || row === undefined) return known ?? null;
    const type: CatalogType = {
      oid,
      name: row.name,
      kind: KINDS[row.kind as keyof typeof KINDS] ?? 'pseudo',
      element: Number(row.element) === 0 ? null : build(Number(row.element)),
      base: Number(row.base) === 0 ? null : build(Number(row.base)),
      baseTypmod: row.typmod,
      enumLabels: row.labels ?? [],
      isSendable: row.sendable,
    };
    types.set(oid, type);
    return type;
  };
  for (const oid of rowOf.keys()) build(oid);
  return types;
}
