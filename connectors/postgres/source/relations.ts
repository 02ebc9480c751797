/** Table versions by relation: looks a relation up in the catalogue when it is described, and gives the same object for the same description. */
import type pg from 'pg';
import type { SourceSettings } from '../config.ts';
import type { CatalogType } from '../types/resolveType.ts';
import { type CatalogTable, readTable, readTypes } from './catalog.ts';
import type { Relation } from './relation.ts';
import { buildTableVersion, type RowForm, type TableVersion } from './tableVersion.ts';

export class RelationVersions {
  private readonly settings: SourceSettings;
  private readonly known = new Map<string, { readonly fingerprint: string; readonly version: TableVersion }>();

  constructor(settings: SourceSettings) {
    this.settings = settings;
  }

  /** Null where the filters leave the table out. Throws NeedsTextForm. */
  async resolve(client: pg.Client, relation: Relation, form: RowForm): Promise<TableVersion | null> {
    const name = `${relation.schema}.${relation.table}`;
    if (!this.settings.tables(name, relation.schema) && name !== this.settings.signalTable) return null;
    const now = await readTable(client, relation.oid);
    const types = await readTypes(client, [...new Set(relation.columns.map(column => column.typeOid))]);
    return this.version(tableOf(relation, now), relation, types, form);
  }

  /** The version of a snapshot: the table as the catalogue has it. */
  async resolveForSnapshot(client: pg.Client, oid: number): Promise<TableVersion | null> {
    const table = await readTable(client, oid);
    if (table === null) return null;
    const types = await readTypes(client, [...new Set(table.columns.map(column => column.typeOid))]);
    const columns = table.columns.map(column => ({ ...column, isKey: false }));
    return this.version(table, { oid, schema: table.schema, table: table.name, columns }, types, 'copy');
  }

  private version(
    table: CatalogTable,
    relation: Relation,
    types: ReadonlyMap<number, CatalogType>,
    form: RowForm,
  ): TableVersion {
    const key = `${form} ${relation.oid}`;
    const fingerprint = JSON.stringify([table, relation, [...types]]);
    const known = this.known.get(key);
    if (known?.fingerprint === fingerprint) return known.version;
    const relationKey = relation.columns.filter(column => column.isKey).map(column => column.name);
    // REPLICA IDENTITY FULL flags all columns: no key.
    const isFull = relationKey.length === relation.columns.length && table.replicaIdentity === 'f';
    const version = buildTableVersion(table, relation.columns, isFull ? [] : relationKey, types, form, this.settings);
    this.known.set(key, { fingerprint, version });
    return version;
  }
}

/** The table under the name it had; one dropped since is known from its relation alone. */
function tableOf(relation: Relation, now: CatalogTable | null): CatalogTable {
  if (now !== null) return { ...now, schema: relation.schema, name: relation.table };
  return {
    oid: relation.oid,
    schema: relation.schema,
    name: relation.table,
    replicaIdentity: 'd',
    columns: [],
    keyColumns: relation.columns.filter(column => column.isKey).map(column => column.name),
  };
}
