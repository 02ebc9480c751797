/**
 * include.schema.changes: what DDL does to tables, as events of the topic that has the name of topic.prefix. Keeps a model of the tables that it met; one
 * that the model does not know, because it was made before the task began, is read from the server as it is now.
 */

import type { Connection, RowDataPacket } from 'mysql2/promise';
import {
  ConnectError,
  type ConnectRecord,
  type Logger,
  plainBatch,
  type SourceBatch,
} from '../../../runtime/api/index.ts';
import { Struct, type StructSchema } from '../../../schemas/data/index.ts';
import { topicName } from '../../shared/eventNames.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { type DdlStatement, parseStatement, type TableRef } from '../ddl/parseStatement.ts';
import { SchemaModel, type TableChange } from '../ddl/schemaModel.ts';
import { changeStruct, schemaChangeKey, schemaChangeValue } from '../ddl/tableChangeEvent.ts';
import { keyColumnsOf } from '../ddl/tableDefinition.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import { CONNECTOR_VERSION } from '../version.ts';
import { isSystemDatabase, listTables } from './catalog.ts';
import { errnoOf } from './connection.ts';
import { processingTime, SOURCE_SCHEMAS } from './envelope.ts';
import type { LogPosition } from './position.ts';
import type { SchemaHistory } from './schemaHistory.ts';

/** A statement of the log and where it stands there. */
export interface LoggedStatement {
  readonly text: string;
  /** The session's default. */
  readonly database: string;
  readonly file: string;
  readonly position: number;
  readonly gtid: string | null;
  readonly serverId: number;
  readonly tsUs: bigint;
  readonly thread: bigint | null;
}

interface Part {
  readonly ddl: string;
  readonly database: string;
  readonly changes: readonly TableChange[];
}

/** `source` of an event but for database and tables. */
type Origin = (database: string, tables: string | null) => unknown[];

const MOST_RECORDS = 500;

export class SchemaChanges {
  readonly model = new SchemaModel();
  private readonly settings: SourceSettings;
  private readonly common: BatchCommon;
  private readonly logger: Logger;
  private readonly topic: string;
  /** null = none is kept. */
  private readonly history: SchemaHistory | null;
  private readonly keySchema: StructSchema;
  private readonly valueSchema: StructSchema;

  constructor(settings: SourceSettings, common: BatchCommon, logger: Logger, history: SchemaHistory | null) {
    const { connector, prefix } = settings;
    this.settings = settings;
    this.common = common;
    this.logger = logger;
    this.history = history;
    this.topic = topicName(prefix);
    this.keySchema = schemaChangeKey(connector);
    this.valueSchema = schemaChangeValue(connector, SOURCE_SCHEMAS[connector]);
  }

  private isCaptured(database: string): boolean {
    return !isSystemDatabase(database) && this.settings.databases(database);
  }

  /** All tables of the captured databases, as the statements that would make them. */
  async *ofSnapshot(connection: Connection, point: LogPosition): AsyncGenerator<SourceBatch> {
    const { model } = this;
    const [[server]] = await connection.query<RowDataPacket[]>(
      'SELECT @@character_set_server AS charset, @@collation_server AS collation',
    );
    model.charset = String(server!.charset);
    const databases = (await readDatabases(connection)).filter(({ name }) => this.isCaptured(name));
    const tables = (await listTables(connection)).filter(({ database }) => this.isCaptured(database));
    const ms = BigInt(point.seconds) * 1000n;
    const origin: Origin = (database, table) => [
      ...[CONNECTOR_VERSION, this.settings.connector, this.settings.prefix, ms, 'true', database, null],
      ...[ms * 1000n, ms * 1_000_000n, table, 0n, null, point.file, BigInt(point.position), 0, null, null],
    ];
    const settings = `SET character_set_server=${server!.charset}, collation_server=${server!.collation}`;
    const place = { file: point.file, position: point.position, gtid: null, isSnapshot: true };
    const history: ConnectRecord[] = [];
    let records = [this.record({ ddl: settings, database: '', changes: [] }, origin, null)];
    const remember = (ddl: string, database: string): void => {
      if (this.history !== null) history.push(this.history.record({ ...place, ddl, database }));
    };
    const push = (ddl: string, database: string, changes: readonly TableChange[], table: string | null): void => {
      records.push(this.record({ ddl, database, changes }, origin, table));
    };
    for (const { database, name } of tables) {
      const change: TableChange = { type: 'DROP', table: { database, name }, definition: null };
      push(`DROP TABLE IF EXISTS ${quoteIdentifier(database)}.${quoteIdentifier(name)}`, database, [change], name);
    }
    for (const { name: database, charset, collation } of databases) {
      model.setDatabase(database, charset);
      push(`DROP DATABASE IF EXISTS ${quoteIdentifier(database)}`, database, [], null);
      const create = `CREATE DATABASE ${quoteIdentifier(database)} CHARSET ${charset} COLLATE ${collation}`;
      push(create, database, [], null);
      remember(create, database);
      push(`USE ${quoteIdentifier(database)}`, database, [], null);
      const own = tables.filter(table => table.database === database);
      for (const table of own) {
        const ddl = await showCreateTable(connection, table);
        if (ddl === null) continue;
        remember(ddl, database);
        const part = { ddl, database, changes: this.define(ddl, table) };
        records.push(this.record(part, origin, table.name));
        if (records.length < MOST_RECORDS) continue;
        yield* this.batches(history.splice(0), records);
        records = [];
      }
    }
    yield* this.batches(history, records);
  }

  /** The batch of a snapshot that no rows follow: its last event says so. */
  asLast(batch: SourceBatch): SourceBatch {
    const records = Array.from({ length: batch.count }, (_, i) => batch.record(i));
    const last = records.at(-1)!;
    if (last.topic !== this.topic) return batch;
    const [source, ...rest] = (last.value as Struct).values as [Struct, ...unknown[]];
    const schema = SOURCE_SCHEMAS[this.settings.connector];
    const marked = new Struct(schema, source.values.with(schema.fieldIndex.get('snapshot')!, 'last'));
    records[records.length - 1] = { ...last, value: new Struct(this.valueSchema, [marked, ...rest]) };
    return plainBatch({ records, sourcePartition: batch.sourcePartition, sourceOffset: batch.sourceOffset });
  }

  /** The events of a statement; none where it defines no table of a captured database. */
  async ofStatement(connection: () => Promise<Connection>, logged: LoggedStatement): Promise<readonly SourceBatch[]> {
    const { model } = this;
    const statement = this.parse(logged);
    if (statement === null) return [];
    const unknown = model.needs(statement).filter(ref => this.isCaptured(ref.database) && model.table(ref) === null);
    // A history knows all tables, and as they were.
    if (this.history === null) for (const ref of unknown) await this.readNow(await connection(), ref, statement);
    const parts = this.parts(statement, logged).filter(({ database }) => this.isCaptured(database));
    const names = [...new Set(parts.flatMap(part => part.changes.map(({ table }) => table.name)))];
    const touched = statement.kind === 'rename-tables' ? statement.pairs.map(({ to }) => to.name) : names;
    const { tsUs } = logged;
    const origin: Origin = (database, tables) => [
      ...[CONNECTOR_VERSION, this.settings.connector, this.settings.prefix, tsUs / 1000n, 'false', database, null],
      ...[tsUs, tsUs * 1000n, tables, BigInt(logged.serverId), logged.gtid],
      ...[logged.file, BigInt(logged.position), 0, logged.thread, null],
    ];
    if (parts.length === 0) return [];
    const entry = { ...logged, ddl: logged.text, isSnapshot: false };
    const records = parts.map(part => this.record(part, origin, touched.join(',')));
    return this.batches(this.history === null ? [] : [this.history.record(entry)], records);
  }

  /** Without what cannot be read tables are not what they seem: no history can go on. */
  private parse({ text, database, file, position }: LoggedStatement): DdlStatement | null {
    try {
      return parseStatement(text, database);
    } catch (error) {
      if (this.history !== null && !this.settings.skipsUnreadDdl && isOfTables(text)) {
        throw new ConnectError(
          'MYSQL_DDL_UNSUPPORTED',
          `The statement "${text.slice(0, 200)}" could not be read: ${(error as Error).message}. Set binlog_row_metadata=FULL on the server, with which no statement has to be read, or schema.history.internal.skip.unparseable.ddl=true where it changes no captured table.`,
          { cause: error, place: { position: `${file}:${position}` } },
        );
      }
      this.logger.warn(
        { statement: text.slice(0, 500), position: `${file}:${position}`, reason: (error as Error).message },
        'a statement of the log could not be read: the topic of schema changes does not have it',
      );
      return null;
    }
  }

  private parts(statement: DdlStatement, { text, database }: LoggedStatement): Part[] {
    const { model } = this;
    switch (statement.kind) {
      case 'rename-tables': {
        const changes = model.apply(statement);
        return statement.pairs.map(({ to, text: ddl }) => ({
          ddl,
          database: to.database,
          // One that an earlier pair made and a later one took away is not there in the end.
          changes: changes.filter(({ table }) => isSame(table, to) && model.table(to) !== null).slice(-1),
        }));
      }
      case 'drop-tables': {
        const head = statement.isOptional ? 'DROP TABLE IF EXISTS' : 'DROP TABLE';
        return model.apply(statement).map(change => ({
          ddl: `${head} ${quoteIdentifier(change.table.database)}.${quoteIdentifier(change.table.name)}`,
          database: change.table.database,
          changes: [change],
        }));
      }
      case 'create-table':
      case 'alter-table':
      case 'create-index':
      case 'drop-index':
        return [{ ddl: text, database: statement.table.database, changes: model.apply(statement) }];
      case 'database':
      case 'drop-database':
        return [{ ddl: text, database: statement.name || database, changes: model.apply(statement) }];
    }
  }

  /** The table as it is now: what the statement at hand and later ones did is in it already. */
  private async readNow(connection: Connection, ref: TableRef, statement: DdlStatement): Promise<void> {
    const renamed =
      statement.kind === 'rename-tables' ? statement.pairs.find(({ from }) => isSame(from, ref))?.to : null;
    for (const name of [ref, ...(renamed ? [renamed] : [])]) {
      const ddl = await showCreateTable(connection, name);
      if (ddl === null) continue;
      const [change] = this.define(ddl, ref);
      if (change?.definition) return;
    }
  }

  private define(ddl: string, ref: TableRef): readonly TableChange[] {
    const statement = parseStatement(ddl, ref.database);
    if (statement?.kind !== 'create-table') return [];
    return this.model.apply({ ...statement, table: ref, isOptional: false });
  }

  private record({ ddl, database, changes }: Part, origin: Origin, tables: string | null): ConnectRecord {
    const { hasComments, connector } = this.settings;
    const source = new Struct(SOURCE_SCHEMAS[connector], origin(database, tables));
    const structs = changes.map(change =>
      changeStruct(change, change.definition === null ? [] : keyColumnsOf(change.definition), hasComments),
    );
    return {
      topic: this.topic,
      partition: null,
      keySchema: this.keySchema,
      key: new Struct(this.keySchema, [database]),
      valueSchema: this.valueSchema,
      value: new Struct(this.valueSchema, [source, processingTime()[0], database, null, ddl, structs]),
      timestamp: null,
      headers: this.common.headers,
    };
  }

  private batches(history: readonly ConnectRecord[], events: readonly ConnectRecord[]): SourceBatch[] {
    const of = { sourcePartition: this.common.sourcePartition, sourceOffset: null };
    const batches: SourceBatch[] = [];
    if (history.length > 0) batches.push(plainBatch({ ...of, records: history, isOwn: true }));
    if (events.length > 0 && this.settings.schemaChanges) batches.push(plainBatch({ ...of, records: events }));
    return batches;
  }
}

const isOfTables = (text: string): boolean => /\b(?:TABLE|TABLES|INDEX|DATABASE|SCHEMA)\b/i.test(text);

const isSame = (a: TableRef, b: TableRef): boolean => a.database === b.database && a.name === b.name;

async function showCreateTable(connection: Connection, { database, name }: TableRef): Promise<string | null> {
  try {
    const [rows] = await connection.query<RowDataPacket[]>(
      `SHOW CREATE TABLE ${quoteIdentifier(database)}.${quoteIdentifier(name)}`,
    );
    const text: unknown = rows[0]?.['Create Table'];
    return typeof text === 'string' ? text : null;
  } catch (error) {
    // It is gone, or not for the user to see.
    if ([1044, 1049, 1142, 1146].includes(errnoOf(error))) return null;
    throw error;
  }
}

interface Database {
  readonly name: string;
  readonly charset: string;
  readonly collation: string;
}

async function readDatabases(connection: Connection): Promise<Database[]> {
  const [rows] = await connection.query<RowDataPacket[]>(
    `SELECT schema_name AS name, default_character_set_name AS charset, default_collation_name AS collation
       FROM information_schema.schemata ORDER BY schema_name`,
  );
  return rows.map(row => ({
    name: String(row.name),
    charset: String(row.charset),
    collation: String(row.collation),
  }));
}
