/** Table versions by what they are made of: the same description gives the same object, so that compiled code and registered schemas are found again. */
import type { Connection } from 'mysql2/promise';
import { ConnectError } from '../../../runtime/api/index.ts';
import type { SourceSettings } from '../config.ts';
import type { TableDefinition } from '../ddl/tableDefinition.ts';
import { extentOf } from '../protocol/logTypes.ts';
import type { TableMap } from '../protocol/tableMap.ts';
import { loggedType } from '../types/declaredType.ts';
import { type CatalogTable, fullName, isSystemDatabase, readCollations, readTable, type TableName } from './catalog.ts';
import { historyTable } from './historyColumns.ts';
import { loggedColumn } from './loggedColumns.ts';
import { chosenKey, type RowColumn, TableVersion } from './tableVersion.ts';

const SEQUENCE_COLUMNS =
  'next_not_cached_value,minimum_value,maximum_value,start_value,increment,cache_size,cycle_option,cycle_count';
/** One that is gone by now is known by its columns. */
const isSequence = (map: TableMap): boolean => map.columns.map(({ name }) => name).join() === SEQUENCE_COLUMNS;

/** Columns that the server adds for indexes on expressions. */
const isHidden = (name: string): boolean => name.startsWith('!hidden!');

export class TableVersions {
  /** Tables at the stream's place, where a history of them is kept. */
  definition: ((table: TableName) => TableDefinition | null) | null = null;
  private readonly settings: SourceSettings;
  private collations: ReadonlyMap<number, string> | null = null;
  private readonly known = new Map<string, TableVersion>();
  /** The version last met in the log, by table. */
  private readonly latest = new Map<string, TableVersion>();

  constructor(settings: SourceSettings) {
    this.settings = settings;
  }

  isCaptured(database: string, table: string): boolean {
    const name = `${database}.${table}`;
    const { tables, signalTable } = this.settings;
    return !isSystemDatabase(database) && (tables(name, database) || name === signalTable);
  }

  /** What a TABLE_MAP of a captured table describes; reads the catalogue. Null = a sequence, which is no table for anybody. */
  async fromLog(connection: Connection, map: TableMap): Promise<TableVersion | null> {
    const isMariaDb = this.settings.connector === 'mariadb';
    this.collations ??= await readCollations(connection, isMariaDb);
    const table = { database: map.database, name: map.table };
    const catalog = await readTable(connection, table, isMariaDb);
    if (isMariaDb && (catalog?.isSequence === true || isSequence(map))) return null;
    if (map.columns.some(column => column.name === null)) {
      const { columns, keyColumns } = historyTable(map, this.definition?.(table) ?? null);
      const version = this.version(table, columns, keyColumns, catalog, 'mysql-binlog');
      this.latest.set(version.fullName, version);
      return version;
    }
    const columns = map.columns.map((column, i): RowColumn => {
      const extent = extentOf(column.type, column.metadata);
      if (extent === null) {
        throw new ConnectError(
          'MYSQL_COLUMN_UNSUPPORTED',
          `Column ${column.name ?? i + 1} of ${fullName(table)} has the type ${column.type} of the log, which is not read.`,
          { place: { table: fullName(table) } },
        );
      }
      const def = loggedColumn(column, i, map, catalog, this.collations!);
      const now = catalog?.columns.find(other => other.name === column.name)?.declared ?? null;
      return { name: column.name!, def, extent, declared: def === null ? null : loggedType(column, def, now) };
    });
    const logged = map.primaryKey.map(i => columns[i]!.name);
    const now = catalog?.keyColumns ?? [];
    const isHere = now.every(key => columns.some(column => column.name === key && column.def?.isRequired));
    const own = logged.length > 0 ? logged : isHere ? now : [];
    const version = this.version(table, columns, own, catalog, 'mysql-binlog');
    this.latest.set(version.fullName, version);
    return version;
  }

  /** The table as it is now, for a snapshot; null = it is gone. */
  async fromCatalog(connection: Connection, table: TableName): Promise<TableVersion | null> {
    const catalog = await readTable(connection, table, this.settings.connector === 'mariadb');
    return catalog === null ? null : this.ofCatalog(catalog);
  }

  ofCatalog(catalog: CatalogTable): TableVersion {
    const { database, name } = catalog;
    const table = { database, name };
    const columns = catalog.columns.map(({ name, def, declared }): RowColumn => ({ name, def, extent: 0, declared }));
    return this.version(table, columns, catalog.keyColumns, catalog, 'mysql-text');
  }

  /** For an event without rows; null = nobody knows the table. */
  async forTruncate(connection: Connection, table: TableName): Promise<TableVersion | null> {
    return this.latest.get(fullName(table)) ?? (await this.fromCatalog(connection, table));
  }

  private version(
    table: TableName,
    all: readonly RowColumn[],
    own: readonly string[],
    catalog: CatalogTable | null,
    format: 'mysql-binlog' | 'mysql-text',
  ): TableVersion {
    const { settings } = this;
    const key = chosenKey(table, all, own, settings);
    const defaults =
      catalog?.columns.map(({ name, defaultText, columnType, comment }) => [name, defaultText, columnType, comment]) ??
      [];
    const identity = JSON.stringify([table, all, key, defaults, format]);
    let version = this.known.get(identity);
    if (version === undefined) {
      // Signals are read whatever is published of tables.
      const isSignals = fullName(table) === settings.signalTable;
      const used = isSignals ? { ...settings, columns: () => true } : visibleOnly(settings);
      version = new TableVersion(table, all, key, catalog, format, used);
      this.known.set(identity, version);
    }
    return version;
  }
}

const visible = new WeakMap<SourceSettings, SourceSettings>();
function visibleOnly(settings: SourceSettings): SourceSettings {
  let adjusted = visible.get(settings);
  if (adjusted === undefined) {
    const { columns } = settings;
    adjusted = { ...settings, columns: name => !isHidden(name.slice(name.lastIndexOf('.') + 1)) && columns(name) };
    visible.set(settings, adjusted);
  }
  return adjusted;
}
