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
import { parseColumnFilter, parseFilter, type TextFilter } from '../shared/textFilter.ts';
import { crossChecks, ignoredOptions, keyChecks } from './configChecks.ts';
import { sourceKeys } from './configKeys.ts';
import type { TypeSettings } from './types/columnType.ts';

export const sourceConfigDef = configDef(sourceKeys);
type Values = ConfigValues<typeof sourceKeys>;

export interface SourceSettings {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly ssl: {
    readonly mode: 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';
    readonly rootCertFile: string | null;
    readonly certFile: string | null;
    readonly keyFile: string | null;
    readonly keyPassword: string | null;
  };
  readonly tcpKeepAlive: boolean;
  readonly initialStatements: readonly string[];
  readonly prefix: string;
  readonly topicDelimiter: string;
  readonly heartbeatTopic: string;
  readonly transactionTopic: string;
  readonly slot: {
    readonly name: string;
    readonly dropOnStop: boolean;
    readonly failover: boolean;
    /** Whether it sends transactions when they are prepared. */
    readonly isTwoPhase: boolean;
    readonly maxRetries: number;
    readonly retryDelayMs: number;
  };
  readonly publication: {
    readonly name: string;
    readonly autocreate: 'all_tables' | 'disabled' | 'filtered' | 'no_tables';
    readonly viaRoot: boolean;
    /** none: changes that came to the database by replication are left out. */
    readonly origin: 'any' | 'none';
  };
  /** Of transactions that are sent while they are open. */
  readonly streaming: { readonly isOn: boolean; readonly bufferBytes: number };
  /** schema.table whose rows are signals. */
  readonly signalTable: string | null;
  /** Topic whose records are signals. */
  readonly signalTopic: string | null;
  readonly notifications: NotificationSettings;
  /** Rows of a chunk of an incremental snapshot. */
  readonly chunkSize: number;
  readonly tables: TextFilter;
  /** What makes up `tables`, as given. */
  readonly tableFilters: readonly { readonly key: string; readonly value: string }[];
  readonly columns: TextFilter;
  readonly shaping: ColumnShaping;
  readonly keyColumns: TableLists;
  readonly messagePrefixes: (prefix: string) => boolean;
  readonly snapshot: {
    readonly mode: 'initial' | 'always' | 'initial_only' | 'no_data' | 'when_needed';
    readonly fetchSize: number;
    readonly tables: TextFilter;
    /** SELECT statements by schema.table. */
    readonly selects: ReadonlyMap<string, string>;
    readonly isLocking: boolean;
    readonly lockTimeoutMs: number;
    readonly delayMs: number;
    /** Connections that read at the same time. */
    readonly threads: number;
  };
  readonly tombstones: boolean;
  readonly skippedOperations: ReadonlySet<string>;
  /** Whether updates that change no published column are left out. */
  readonly skipsUnchanged: boolean;
  readonly types: TypeSettings;
  readonly schemaNames: NameAdjustment;
  readonly fieldNames: NameAdjustment;
  readonly transactionMetadata: boolean;
  readonly extendedHeaders: boolean;
  readonly heartbeatIntervalMs: number;
  readonly heartbeatQuery: string | null;
  readonly statusIntervalMs: number;
  readonly maxBatchSize: number;
  readonly pollIntervalMs: number;
}

const TABLE_FILTERS = [
  'table.include.list',
  'table.exclude.list',
  'schema.include.list',
  'schema.exclude.list',
] as const;

const oneOf = <T extends string>(value: string): T => value.toLowerCase() as T;

/** Settings of a valid config; `errors` says what is wrong with another one. `warning` names options that have no effect here. */
export function parseSettings(config: Config): {
  settings: SourceSettings | null;
  errors: readonly ConfigError[];
  warning: string | null;
} {
  const { values, errors: parseErrors } = sourceConfigDef.parse(config);
  const errors = [...parseErrors, ...keyChecks(config), ...crossChecks(values)];
  const warning = ignoredOptions(config);
  if (errors.length > 0) return { settings: null, errors, warning };
  return { settings: settingsOf(config, values), errors, warning };
}

/** Debezium takes database.schema.table too. */
function signalTableOf(v: Values): string | null {
  const name = v['signal.data.collection'];
  if (name === null || name === '') return null;
  const database = `${v['database.dbname']}.`;
  return name.split('.').length === 3 && name.startsWith(database) ? name.slice(database.length) : name;
}

function settingsOf(config: Config, v: Values): SourceSettings {
  const schemas = parseFilter(v['schema.include.list'], v['schema.exclude.list']);
  const tables = parseFilter(v['table.include.list'], v['table.exclude.list']);
  const snapshotMode = oneOf<string>(v['snapshot.mode']);
  const signals = signalSettings(v, v['topic.prefix']);
  const placeholder = v['unavailable.value.placeholder'];
  return {
    host: v['database.hostname'],
    port: v['database.port'],
    user: v['database.user'],
    password: v['database.password'].reveal(),
    database: v['database.dbname'],
    ssl: {
      mode: oneOf(v['database.sslmode']),
      rootCertFile: v['database.sslrootcert'],
      certFile: v['database.sslcert'],
      keyFile: v['database.sslkey'],
      keyPassword: v['database.sslpassword']?.reveal() ?? null,
    },
    tcpKeepAlive: v['database.tcpKeepAlive'],
    initialStatements: (v['database.initial.statements'] ?? '').split(';').filter(s => s.trim() !== ''),
    prefix: v['topic.prefix'],
    topicDelimiter: v['topic.delimiter'],
    heartbeatTopic: config['topic.heartbeat.name'] ?? `${v['topic.heartbeat.prefix']}.${v['topic.prefix']}`,
    transactionTopic: `${v['topic.prefix']}${v['topic.delimiter']}${v['topic.transaction']}`,
    slot: {
      name: v['slot.name'],
      dropOnStop: v['slot.drop.on.stop'],
      failover: v['slot.failover'],
      isTwoPhase: v['slot.two.phase'],
      maxRetries: v['slot.max.retries'],
      retryDelayMs: v['slot.retry.delay.ms'],
    },
    publication: {
      name: v['publication.name'],
      autocreate: oneOf(v['publication.autocreate.mode']),
      viaRoot: v['publish.via.partition.root'],
      origin: oneOf(v['publish.origin']),
    },
    signalTable: signals.hasTable ? signalTableOf(v) : null,
    signalTopic: signals.topic,
    notifications: notificationSettings(v),
    chunkSize: v['incremental.snapshot.chunk.size'],
    streaming: { isOn: oneOf(v['streaming.mode']) === 'auto', bufferBytes: v['streaming.buffer.bytes'] },
    tables: (table, schema) => schemas(schema) && tables(table),
    tableFilters: TABLE_FILTERS.flatMap(key => {
      const value = v[key];
      return value === null || value === '' ? [] : [{ key, value }];
    }),
    columns: parseColumnFilter(v['column.include.list'], v['column.exclude.list']),
    shaping: parseShaping(config).shaping,
    messagePrefixes: parseFilter(v['message.prefix.include.list'], v['message.prefix.exclude.list']),
    keyColumns: parseTableLists(v['message.key.columns'] ?? ''),
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
      isLocking: oneOf(v['snapshot.locking.mode']) === 'shared',
      lockTimeoutMs: v['snapshot.lock.timeout.ms'],
      delayMs: v['snapshot.delay.ms'],
      threads: v['snapshot.max.threads'],
    },
    tombstones: v['tombstones.on.delete'],
    skippedOperations: parseOperations(v['skipped.operations']),
    skipsUnchanged: v['skip.messages.without.change'],
    types: {
      timePrecision: oneOf(v['time.precision.mode']),
      decimal: oneOf(v['decimal.handling.mode']),
      interval: oneOf(v['interval.handling.mode']),
      hstore: oneOf(v['hstore.handling.mode']),
      binary: oneOf(v['binary.handling.mode']),
      moneyFractionDigits: v['money.fraction.digits'],
      placeholder: placeholder.startsWith('hex:') ? Buffer.from(placeholder.slice(4), 'hex').toString() : placeholder,
    },
    schemaNames: oneOf(v['schema.name.adjustment.mode']),
    fieldNames: oneOf(v['field.name.adjustment.mode']),
    transactionMetadata: v['provide.transaction.metadata'],
    extendedHeaders: v['extended.headers.enabled'],
    heartbeatIntervalMs: v['heartbeat.interval.ms'],
    heartbeatQuery: v['heartbeat.action.query'],
    statusIntervalMs: v['status.update.interval.ms'],
    maxBatchSize: v['max.batch.size'],
    pollIntervalMs: v['poll.interval.ms'],
  };
}
