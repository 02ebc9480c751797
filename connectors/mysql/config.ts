/**
 * The source's configuration: Debezium's option names and defaults, parsed once into `SourceSettings`. Options of Debezium that would change
 * events and are not there yet are refused, harmless ones accepted with one warning.
 */
import { type Config, type ConfigError, type ConfigValues, configDef } from '../../runtime/api/index.ts';
import { type ColumnShaping, parseShaping } from '../shared/columnShaping.ts';
import type { NameAdjustment } from '../shared/eventNames.ts';
import { type NotificationSettings, notificationSettings, signalSettings } from '../shared/signalKeys.ts';
import { parseOperations } from '../shared/skippedOperations.ts';
import { parseTableLists, type TableLists } from '../shared/tableLists.ts';
import { parseFilter, type TextFilter } from '../shared/textFilter.ts';
import { crossChecks, ignoredOptions, keyChecks } from './configChecks.ts';
import { sourceKeys } from './configKeys.ts';
import type { ConnectorName } from './source/envelope.ts';
import { parseStopPoint, type StopPoint } from './source/stopPoint.ts';
import type { TypeSettings } from './types/columnType.ts';

export const sourceConfigDef = configDef(sourceKeys);
type Values = ConfigValues<typeof sourceKeys>;

export interface SourceSettings {
  readonly connector: ConnectorName;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** null = a free one. */
  readonly serverId: number | null;
  readonly ssl: {
    readonly mode: 'disabled' | 'preferred' | 'required' | 'verify_ca' | 'verify_identity';
    readonly caFile: string | null;
    readonly certFile: string | null;
    readonly keyFile: string | null;
  };
  readonly connectTimeoutMs: number;
  readonly silenceMs: number;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly prefix: string;
  readonly topicDelimiter: string;
  readonly heartbeatTopic: string;
  readonly transactionTopic: string;
  readonly databases: (name: string) => boolean;
  readonly tables: TextFilter;
  /** Of table.include.list, those that are no patterns. */
  readonly namedTables: readonly { readonly database: string; readonly name: string }[];
  readonly columns: (name: string) => boolean;
  readonly keyColumns: TableLists;
  /** null = the stream has no end. */
  readonly stopAt: StopPoint | null;
  readonly shaping: ColumnShaping;
  /** database.table whose inserted rows are signals. */
  readonly signalTable: string | null;
  /** Topic whose records are signals. */
  readonly signalTopic: string | null;
  readonly notifications: NotificationSettings;
  /** Rows of a chunk of an incremental snapshot. */
  readonly chunkSize: number;
  /** Chunks of an incremental snapshot that are read at once. */
  readonly maxChunks: number;
  readonly snapshot: {
    readonly mode: 'initial' | 'always' | 'initial_only' | 'no_data' | 'when_needed';
    readonly fetchSize: number;
    readonly tables: (name: string) => boolean;
    /** SELECT statements by database.table. */
    readonly selects: ReadonlyMap<string, string>;
    readonly isLocking: boolean;
    readonly lockTimeoutMs: number;
    readonly delayMs: number;
  };
  readonly tombstones: boolean;
  /** Updates that change no published column are left out. */
  readonly skipsUnchanged: boolean;
  /** c, u, d and t of a table (database.table) that are not published. */
  readonly skippedOperations: (table: string) => ReadonlySet<string>;
  readonly types: TypeSettings;
  readonly schemaNames: NameAdjustment;
  readonly fieldNames: NameAdjustment;
  readonly includeQuery: boolean;
  readonly schemaChanges: boolean;
  /** Topic of the history of tables, for servers that do not name columns in the log. */
  readonly historyTopic: string | null;
  readonly skipsUnreadDdl: boolean;
  /** Whether schemas and their changes tell the comments of columns. */
  readonly hasComments: boolean;
  readonly transactionMetadata: boolean;
  readonly extendedHeaders: boolean;
  readonly heartbeatIntervalMs: number;
  readonly heartbeatQuery: string | null;
  readonly maxBatchSize: number;
  readonly pollIntervalMs: number;
}

const oneOf = <T extends string>(value: string): T => value.toLowerCase() as T;

/** Settings of a valid config; `errors` says what is wrong with another one. `warning` names options that have no effect here. */
export function parseSettings(
  config: Config,
  connector: ConnectorName,
): {
  settings: SourceSettings | null;
  errors: readonly ConfigError[];
  warning: string | null;
} {
  const { values, errors: parseErrors } = sourceConfigDef.parse(config);
  const errors = [...parseErrors, ...keyChecks(config), ...crossChecks(values, connector === 'mariadb')];
  const warning = ignoredOptions(config);
  if (errors.length > 0) return { settings: null, errors, warning };
  return { settings: settingsOf(config, values, connector), errors, warning };
}

function tablesInFull(list: string | null): SourceSettings['namedTables'] {
  const names = (list ?? '').split(',').map(part => /^\s*([\w$-]+)\\?\.([\w$-]+)\s*$/.exec(part));
  return names.flatMap(match => (match === null ? [] : [{ database: match[1]!, name: match[2]! }]));
}

function settingsOf(config: Config, v: Values, connector: ConnectorName): SourceSettings {
  const databases = parseFilter(v['database.include.list'], v['database.exclude.list']);
  const tables = parseFilter(v['table.include.list'], v['table.exclude.list']);
  const snapshotMode = oneOf<string>(v['snapshot.mode']);
  const signals = signalSettings(v, v['topic.prefix']);
  return {
    connector,
    host: v['database.hostname'],
    port: v['database.port'],
    user: v['database.user'],
    password: v['database.password'].reveal(),
    serverId: v['database.server.id'],
    ssl: {
      mode: oneOf(v['database.ssl.mode']),
      caFile: v['database.ssl.ca'],
      certFile: v['database.ssl.cert'],
      keyFile: v['database.ssl.key'],
    },
    connectTimeoutMs: v['connect.timeout.ms'],
    silenceMs: v['connect.keep.alive.interval.ms'],
    maxRetries: v['connect.max.retries'],
    retryDelayMs: v['connect.retry.delay.max.ms'],
    prefix: v['topic.prefix'],
    topicDelimiter: v['topic.delimiter'],
    heartbeatTopic: config['topic.heartbeat.name'] ?? `${v['topic.heartbeat.prefix']}.${v['topic.prefix']}`,
    transactionTopic: `${v['topic.prefix']}${v['topic.delimiter']}${v['topic.transaction']}`,
    databases,
    tables: (table, database) => databases(database) && tables(table),
    namedTables: tablesInFull(v['table.include.list']),
    columns: parseFilter(v['column.include.list'], v['column.exclude.list']),
    keyColumns: parseTableLists(v['message.key.columns'] ?? ''),
    stopAt: v['stop.at'] === null ? null : parseStopPoint(v['stop.at'], connector === 'mariadb'),
    shaping: parseShaping(config).shaping,
    signalTable: signals.hasTable ? v['signal.data.collection'] : null,
    signalTopic: signals.topic,
    notifications: notificationSettings(v),
    chunkSize: v['incremental.snapshot.chunk.size'],
    maxChunks: v['incremental.snapshot.max.threads'],
    snapshot: {
      mode: snapshotMode === 'never' || snapshotMode === 'schema_only' ? 'no_data' : oneOf(snapshotMode),
      fetchSize: v['snapshot.fetch.size'],
      tables: parseFilter(v['snapshot.include.collection.list'], null),
      selects: new Map(
        (v['snapshot.select.statement.overrides'] ?? '')
          .split(',')
          .map(name => name.trim())
          .flatMap(name => {
            const select = config[`snapshot.select.statement.overrides.${name}`];
            return select === undefined ? [] : [[name, select] as const];
          }),
      ),
      isLocking: oneOf(v['snapshot.locking.mode']) === 'minimal',
      lockTimeoutMs: v['snapshot.lock.timeout.ms'],
      delayMs: v['snapshot.delay.ms'],
    },
    tombstones: v['tombstones.on.delete'],
    skipsUnchanged: v['skip.messages.without.change'],
    skippedOperations: skippedOperations(v['skipped.operations'], v['table.skipped.operations'] ?? ''),
    types: {
      timePrecision: oneOf(v['time.precision.mode']),
      decimal: oneOf(v['decimal.handling.mode']),
      bigintUnsigned: oneOf(v['bigint.unsigned.handling.mode']),
      binary: oneOf(v['binary.handling.mode']),
    },
    schemaNames: oneOf(v['schema.name.adjustment.mode']),
    fieldNames: oneOf(v['field.name.adjustment.mode']),
    includeQuery: v['include.query'],
    schemaChanges: v['include.schema.changes'],
    historyTopic: v['schema.history.internal.kafka.topic'],
    skipsUnreadDdl: v['schema.history.internal.skip.unparseable.ddl'],
    hasComments: v['include.schema.comments'],
    transactionMetadata: v['provide.transaction.metadata'],
    extendedHeaders: v['extended.headers.enabled'],
    heartbeatIntervalMs: v['heartbeat.interval.ms'],
    heartbeatQuery: v['heartbeat.action.query'],
    maxBatchSize: v['max.batch.size'],
    pollIntervalMs: v['poll.interval.ms'],
  };
}

function skippedOperations(ofAll: string, byTable: string): SourceSettings['skippedOperations'] {
  const general = parseOperations(ofAll);
  const lists = parseTableLists(byTable);
  return table => {
    const own = lists(table);
    return own === null ? general : new Set(own);
  };
}
