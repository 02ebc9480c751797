/**
 * The source's configuration: Debezium's option names and defaults, parsed once into `SourceSettings`. Options of Debezium that would change
 * events and are not there yet are refused, harmless ones accepted with one warning.
 */
import {
  type Config,
  type ConfigError,
  type ConfigKeys,
  type ConfigValues,
  configDef,
} from '../../runtime/api/index.ts';
import { parseColumnFilter, parseFilter, type TextFilter } from './source/filters.ts';
import { type KeyColumns, parseKeyColumns } from './source/keyColumns.ts';
import type { NameAdjustment } from './source/names.ts';
import type { TypeSettings } from './types/columnType.ts';

const list = (documentation: string) =>
  ({ type: 'STRING', default: null, importance: 'MEDIUM', documentation, group: 'Filters' }) as const;
const flag = (value: boolean, documentation: string) =>
  ({ type: 'BOOLEAN', default: value, importance: 'LOW', documentation }) as const;
const choice = <const T extends readonly string[]>(oneOf: T, value: T[number], documentation: string) =>
  ({ type: 'STRING', default: value as string, oneOf, ignoreCase: true, importance: 'MEDIUM', documentation }) as const;
const number = (value: number, documentation: string, min = 0) =>
  ({ type: 'LONG', default: value, min, importance: 'LOW', documentation }) as const;
const text = (value: string, documentation: string) =>
  ({ type: 'STRING', default: value, importance: 'MEDIUM', documentation }) as const;

const keys = {
  'database.hostname': {
    type: 'STRING',
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Host of the PostgreSQL server.',
  },
  'database.port': {
    type: 'INT',
    default: 5432,
    min: 1,
    max: 65535,
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Port of the PostgreSQL server.',
  },
  'database.user': {
    type: 'STRING',
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'User with the REPLICATION attribute and SELECT on the captured tables.',
  },
  'database.password': {
    type: 'PASSWORD',
    default: '',
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Password of the user.',
  },
  'database.dbname': {
    type: 'STRING',
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Database whose changes are captured.',
  },
  'database.sslmode': choice(
    ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'],
    'prefer',
    'How the connection is encrypted, as in libpq.',
  ),
  'database.sslrootcert': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: 'File with the certificates that the server is checked against.',
  },
  'database.sslcert': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: 'File with the client certificate.',
  },
  'database.sslkey': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: 'File with the client key (PEM).',
  },
  'database.sslpassword': {
    type: 'PASSWORD',
    default: null,
    importance: 'LOW',
    documentation: 'Password of the client key.',
  },
  'database.initial.statements': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: 'SQL statements to run on each connection that reads tables, separated by semicolons.',
  },
  'database.tcpKeepAlive': flag(true, 'Whether TCP keep-alive is on.'),
  'topic.prefix': {
    type: 'STRING',
    importance: 'HIGH',
    documentation:
      'Logical name of the server: the first part of all topic and schema names. Never change it: offsets are kept under it.',
    check: (value: string) =>
      /^[A-Za-z0-9._-]+$/.test(value) ? null : 'only letters, digits, dots, underscores and hyphens are allowed',
  },
  'topic.delimiter': text('.', 'Stands between the parts of topic names.'),
  'topic.heartbeat.prefix': text('__debezium-heartbeat', 'First part of the name of the heartbeat topic.'),
  'topic.transaction': text('transaction', 'Last part of the name of the transaction topic.'),
  'plugin.name': choice(
    ['pgoutput', 'decoderbufs', 'wal2json'],
    'pgoutput',
    'Logical decoding plug-in. Only pgoutput is supported: it is part of every PostgreSQL server.',
  ),
  'slot.name': text('debezium', 'Name of the replication slot. Each connector needs its own.'),
  'slot.drop.on.stop': flag(
    false,
    'Whether the slot is dropped when the task stops. Changes made until it starts again are lost then.',
  ),
  'slot.failover': flag(false, 'Whether the slot is synchronised to standbys (PostgreSQL 17).'),
  'slot.max.retries': number(
    6,
    'Attempts to connect to a slot, and to reconnect after a lost connection, before the task fails.',
  ),
  'slot.retry.delay.ms': number(10000, 'Longest wait between such attempts.'),
  'publication.name': text('dbz_publication', 'Name of the publication.'),
  'publication.autocreate.mode': choice(
    ['all_tables', 'disabled', 'filtered', 'no_tables'],
    'all_tables',
    'Whether and how the publication is created if it does not exist.',
  ),
  'publish.via.partition.root': flag(
    false,
    'Whether a publication that is created publishes partitions under the name of their root table.',
  ),
  'schema.include.list': list('Regular expressions of schema names to capture.'),
  'schema.exclude.list': list('Regular expressions of schema names to leave out.'),
  'table.include.list': list('Regular expressions of tables (schema.table) to capture.'),
  'table.exclude.list': list('Regular expressions of tables (schema.table) to leave out.'),
  'column.include.list': list('Regular expressions of columns (schema.table.column) to publish.'),
  'column.exclude.list': list('Regular expressions of columns (schema.table.column) to leave out.'),
  'message.prefix.include.list': list('Regular expressions of prefixes of logical messages to publish.'),
  'message.prefix.exclude.list': list('Regular expressions of prefixes of logical messages to leave out.'),
  'message.key.columns': list('Key columns by table: schema.table:column,column;…'),
  'snapshot.mode': choice(
    ['initial', 'always', 'initial_only', 'no_data', 'never', 'schema_only', 'when_needed'],
    'initial',
    'When existing rows are read.',
  ),
  'snapshot.fetch.size': number(10240, 'Most rows of a snapshot handed on at a time.', 1),
  'snapshot.include.collection.list': list(
    'Regular expressions of tables whose rows the snapshot reads; the others are only streamed.',
  ),
  'snapshot.select.statement.overrides': list(
    'Tables (schema.table) whose rows are read by a SELECT of snapshot.select.statement.overrides.<schema>.<table>.',
  ),
  'snapshot.locking.mode': choice(
    ['none', 'shared'],
    'none',
    'Whether tables are locked against changes of their definition while the snapshot reads them.',
  ),
  'snapshot.lock.timeout.ms': number(10000, 'Longest wait for such a lock.'),
  'snapshot.delay.ms': number(0, 'Wait before the snapshot.'),
  'tombstones.on.delete': flag(true, 'Whether a delete is followed by a tombstone.'),
  'skipped.operations': text('t', 'Operations that are not published: c, u, d, t, or none.'),
  'decimal.handling.mode': choice(['precise', 'string', 'double'], 'precise', 'Form of numeric and money values.'),
  'money.fraction.digits': number(2, 'Fraction digits of money values.'),
  'time.precision.mode': choice(
    ['adaptive', 'adaptive_time_microseconds', 'connect', 'isostring', 'microseconds', 'nanoseconds'],
    'adaptive',
    'Form of dates and times.',
  ),
  'interval.handling.mode': choice(['numeric', 'string'], 'numeric', 'Form of intervals.'),
  'hstore.handling.mode': choice(['json', 'map'], 'json', 'Form of hstore values.'),
  'binary.handling.mode': choice(['bytes', 'base64', 'base64-url-safe', 'hex'], 'bytes', 'Form of bytea values.'),
  'unavailable.value.placeholder': text(
    '__debezium_unavailable_value',
    'Stands for a TOASTed value that did not change and that the server does not send. hex: before hexadecimal digits allowed.',
  ),
  'schema.name.adjustment.mode': choice(
    ['none', 'avro', 'avro_unicode'],
    'none',
    'How schema names are made fit for Avro.',
  ),
  'field.name.adjustment.mode': choice(
    ['none', 'avro', 'avro_unicode'],
    'none',
    'How field names are made fit for Avro. Avro converters need avro.',
  ),
  'provide.transaction.metadata': flag(false, 'Whether transactions are published with BEGIN and END events.'),
  'extended.headers.enabled': flag(true, 'Whether records carry headers with the connector, task and run.'),
  'heartbeat.interval.ms': number(0, 'Interval of heartbeat records; 0 = none.'),
  'heartbeat.action.query': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: 'SQL run at each heartbeat, to keep the slot of a quiet database moving.',
  },
  'status.update.interval.ms': number(10000, 'Interval at which the server is told what is safe.', 1),
  'max.batch.size': number(16384, 'Most events handed on at a time.', 1),
  'max.queue.size.in.bytes': number(16777216, 'Most bytes read ahead of the worker; 0 = the default.'),
  'poll.interval.ms': number(500, 'Longest wait for events.', 1),
  'event.processing.failure.handling.mode': choice(
    ['fail'],
    'fail',
    'What cannot be decoded fails the task with its position.',
  ),
} as const satisfies ConfigKeys;

export const sourceConfigDef = configDef(keys);
type Values = ConfigValues<typeof keys>;

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
    readonly maxRetries: number;
    readonly retryDelayMs: number;
  };
  readonly publication: {
    readonly name: string;
    readonly autocreate: 'all_tables' | 'disabled' | 'filtered' | 'no_tables';
    readonly viaRoot: boolean;
  };
  readonly tables: TextFilter;
  readonly columns: TextFilter;
  readonly keyColumns: KeyColumns;
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
  };
  readonly tombstones: boolean;
  readonly skippedOperations: ReadonlySet<string>;
  readonly types: TypeSettings;
  readonly schemaNames: NameAdjustment;
  readonly fieldNames: NameAdjustment;
  readonly transactionMetadata: boolean;
  readonly extendedHeaders: boolean;
  readonly heartbeatIntervalMs: number;
  readonly heartbeatQuery: string | null;
  readonly statusIntervalMs: number;
  readonly maxBatchSize: number;
  readonly maxQueueBytes: number;
  readonly pollIntervalMs: number;
}

const oneOf = <T extends string>(value: string): T => value.toLowerCase() as T;

/** Settings of a valid config; `errors` says what is wrong with another one. `warning` names options that have no effect here. */
export function parseSettings(config: Config): {
  settings: SourceSettings | null;
  errors: readonly ConfigError[];
  warning: string | null;
} {
  const { values, errors: parseErrors } = sourceConfigDef.parse(config);
  const errors = [...parseErrors, ...crossChecks(config, values)];
  const warning = ignoredOptions(config);
  if (errors.length > 0) return { settings: null, errors, warning };
  return { settings: settingsOf(config, values), errors, warning };
}

const invalid = (key: string, value: string, why: string): ConfigError => ({
  key,
  message: `Invalid value ${value} for configuration ${key}: ${why}`,
});

/** Options of Debezium that change events and that this connector does not have yet: their effect would be missed without a word. */
const REFUSED: readonly (readonly [RegExp, (value: string) => boolean])[] = [
  [/^column\.(mask|truncate)\./, () => true],
  [/^(column|datatype)\.propagate\.source\.type$/, () => true],
  [/^(converters|post\.processors|custom\.metric\.tags)$/, value => value !== ''],
  [
    /^include\.unknown\.datatypes$|^skip\.messages\.without\.change$|^include\.schema\.comments$/,
    value => /^true$/i.test(value),
  ],
  [
    /^signal\.data\.collection$|^read\.only$|^replica\.identity\.autoset\.values$/,
    value => value !== '' && value !== 'false',
  ],
  [/^topic\.naming\.strategy$/, value => !/SchemaTopicNamingStrategy$/.test(value)],
  [/^xmin\.fetch\.interval\.ms$/, value => value !== '0'],
];

/** Options without effect on events, or whose only supported value is the default. */
const IGNORED =
  /^(max\.queue\.size|errors\.max\.retries|snapshot\.max\.threads|snapshot\.isolation\.mode|streaming\.delay\.ms|signal\.(enabled\.channels|poll\.interval\.ms)|notification\.|incremental\.snapshot\.|retriable\.restart\.connector\.wait\.ms|connection\.validation\.timeout\.ms|flush\.lsn\.source|offset\.mismatch\.strategy|schema\.refresh\.mode|slot\.stream\.params|xmin\.fetch\.interval\.ms|database\.(query\.timeout\.ms|sslfactory)|guardrail\.|topic\.cache\.size|snapshot\.tables\.order\.by\.row\.count|schema\.history\.|lsn\.flush\.|openlineage\.|advanced\.metrics\.)/;

function ignoredOptions(config: Config): string | null {
  const ignored = Object.keys(config).filter(key => IGNORED.test(key));
  return ignored.length === 0 ? null : `these options have no effect in this connector: ${ignored.join(', ')}`;
}

function crossChecks(config: Config, values: Values): ConfigError[] {
  const errors: ConfigError[] = [];
  for (const [key, value] of Object.entries(config)) {
    if (REFUSED.some(([name, isSet]) => name.test(key) && isSet(value))) {
      errors.push(
        invalid(key, value, 'this option of Debezium is not supported yet and would change events; remove it'),
      );
    }
  }
  const plugin = values['plugin.name'];
  if (plugin !== undefined && plugin !== 'pgoutput') {
    errors.push(
      invalid(
        'plugin.name',
        plugin,
        'only pgoutput is supported; it comes with every PostgreSQL server, so set plugin.name=pgoutput (a slot made with another plug-in cannot be used)',
      ),
    );
  }
  for (const what of ['schema', 'table', 'column', 'message.prefix'] as const) {
    if (values[`${what}.include.list`] && values[`${what}.exclude.list`]) {
      errors.push(
        invalid(
          `${what}.exclude.list`,
          String(values[`${what}.exclude.list`]),
          `${what}.include.list is already set; use only one of them`,
        ),
      );
    }
  }
  for (const key of Object.keys(keys).filter(k => k.endsWith('.list')) as (keyof Values)[]) {
    const value = values[key];
    if (typeof value !== 'string') continue;
    try {
      parseFilter(value, null);
    } catch (error) {
      errors.push(invalid(key, value, `a regular expression is malformed: ${(error as Error).message}`));
    }
  }
  const slot = values['slot.name'];
  if (slot !== undefined && !/^[a-z0-9_]{1,63}$/.test(slot)) {
    errors.push(invalid('slot.name', slot, 'only lower-case letters, digits and underscores are allowed, at most 63'));
  }
  const skipped = values['skipped.operations'];
  if (skipped !== undefined && !/^\s*(none|[cudt](\s*,\s*[cudt])*)?\s*$/.test(skipped)) {
    errors.push(invalid('skipped.operations', skipped, 'a list of c, u, d, t, or none'));
  }
  const keyColumns = values['message.key.columns'];
  if (keyColumns) {
    try {
      parseKeyColumns(keyColumns);
    } catch (error) {
      errors.push(invalid('message.key.columns', keyColumns, (error as Error).message));
    }
  }
  return errors;
}

function settingsOf(config: Config, v: Values): SourceSettings {
  const schemas = parseFilter(v['schema.include.list'], v['schema.exclude.list']);
  const tables = parseFilter(v['table.include.list'], v['table.exclude.list']);
  const snapshotMode = oneOf<string>(v['snapshot.mode']);
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
      maxRetries: v['slot.max.retries'],
      retryDelayMs: v['slot.retry.delay.ms'],
    },
    publication: {
      name: v['publication.name'],
      autocreate: oneOf(v['publication.autocreate.mode']),
      viaRoot: v['publish.via.partition.root'],
    },
    tables: (table, schema) => schemas(schema) && tables(table),
    columns: parseColumnFilter(v['column.include.list'], v['column.exclude.list']),
    messagePrefixes: parseFilter(v['message.prefix.include.list'], v['message.prefix.exclude.list']),
    keyColumns: parseKeyColumns(v['message.key.columns'] ?? ''),
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
    },
    tombstones: v['tombstones.on.delete'],
    skippedOperations: new Set(v['skipped.operations'].split(',').map(s => s.trim())),
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
    maxQueueBytes: v['max.queue.size.in.bytes'] || 16777216,
    pollIntervalMs: v['poll.interval.ms'],
  };
}
