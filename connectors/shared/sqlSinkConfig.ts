/** The configuration that all SQL sinks share: the keys of the Confluent, Aiven and Debezium JDBC sinks, under one set of names. */
import {
  type Config,
  type ConfigError,
  type ConfigKeys,
  type ConfigValues,
  configDef,
} from '../../runtime/api/index.ts';
import { ignoredKey } from './ignoredKey.ts';
import { misspeltKeys } from './misspeltKeys.ts';
import { parseMapping, sourceFieldsOf, type TableNameRules } from './tableName.ts';

const connection = 'Connection';
const writes = 'Writes';
const mapping = 'Data mapping';
const ddl = 'DDL support';
const retries = 'Retries';

export const sqlSinkKeys = {
  'connection.url': {
    type: 'STRING',
    importance: 'HIGH',
    documentation: 'Where the target database is, as a JDBC URL or in the URL form of the database.',
    group: connection,
    orderInGroup: 1,
  },
  'connection.user': {
    type: 'STRING',
    default: null,
    importance: 'HIGH',
    documentation: 'User of the target database; wins over one in the URL.',
    group: connection,
    orderInGroup: 2,
    aliases: ['connection.username'],
  },
  'connection.password': {
    type: 'PASSWORD',
    default: null,
    importance: 'HIGH',
    documentation: 'Password of the user; wins over one in the URL.',
    group: connection,
    orderInGroup: 3,
  },
  'insert.mode': {
    type: 'STRING',
    default: 'insert',
    oneOf: ['insert', 'multi', 'upsert', 'update'],
    ignoreCase: true,
    importance: 'HIGH',
    documentation:
      'insert: plain INSERT, a key that is there already is an error (multi means the same). upsert: insert or overwrite the given columns. update: UPDATE by key, rows that are not there are counted and left out.',
    group: writes,
    orderInGroup: 1,
  },
  'delete.enabled': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation:
      'Whether deletes are applied: records with a null value, delete events, and flattened records with __deleted = true. Needs a key.',
    group: writes,
    orderInGroup: 2,
  },
  'truncate.enabled': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether a truncate event empties the target table.',
    group: writes,
    orderInGroup: 3,
  },
  'batch.size': {
    type: 'INT',
    default: 10_000,
    min: 1,
    max: 1_000_000,
    importance: 'MEDIUM',
    documentation: 'Most rows of one flush (one transaction).',
    group: writes,
    orderInGroup: 4,
  },
  'batch.bytes': {
    type: 'INT',
    default: 8 << 20,
    min: 1024,
    importance: 'LOW',
    documentation: 'Bytes of encoded rows at which a flush begins. A task holds about twice as much.',
    group: writes,
    orderInGroup: 5,
  },
  'linger.ms': {
    type: 'LONG',
    default: 0,
    min: 0,
    importance: 'LOW',
    documentation:
      'How long rows may wait for more while the connection is idle. With 0 they are written at once, and collect only while an earlier flush is under way.',
    group: writes,
    orderInGroup: 6,
  },
  'pk.mode': {
    type: 'STRING',
    default: 'none',
    oneOf: ['none', 'kafka', 'record_key', 'record_value'],
    ignoreCase: true,
    importance: 'HIGH',
    documentation:
      'Where key columns come from: none, the coordinates of the record in Kafka, the record key, or fields of the value.',
    group: mapping,
    orderInGroup: 1,
    aliases: ['primary.key.mode'],
  },
  'pk.fields': {
    type: 'LIST',
    default: [],
    importance: 'MEDIUM',
    documentation:
      'kafka: names of the three columns, __connect_topic,__connect_partition,__connect_offset if empty. record_key: fields of the key, all if empty; for a key that is no struct, the one column it goes to. record_value: fields of the value, all if empty.',
    group: mapping,
    orderInGroup: 2,
    aliases: ['primary.key.fields'],
  },
  'table.name.format': {
    type: 'STRING',
    default: '${topic}',
    importance: 'MEDIUM',
    documentation:
      'Name of the target table, made of ${topic}, and for change events ${source.schema}, ${source.table}, ${source.db} and other text fields of their source block. A name of two parts is schema.table; of three, the first is left out, so that prefix.schema.table works as it is.',
    group: mapping,
    orderInGroup: 3,
    aliases: ['collection.name.format'],
  },
  'topics.to.tables.mapping': {
    type: 'LIST',
    default: [],
    importance: 'MEDIUM',
    documentation: 'topic:table pairs, which win over table.name.format.',
    group: mapping,
    orderInGroup: 4,
    check: (pairs: readonly string[]) => {
      const parsed = parseMapping(pairs);
      return typeof parsed === 'string' ? parsed : null;
    },
  },
  'table.name.normalize': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation: 'Whether characters of the topic other than letters, digits and _ become _ in the table name.',
    group: mapping,
    orderInGroup: 5,
  },
  'field.include.list': {
    type: 'LIST',
    default: [],
    importance: 'MEDIUM',
    documentation: 'Fields to write, as name or topic:name; all if empty. Key columns are always written.',
    group: mapping,
    orderInGroup: 6,
    aliases: ['fields.whitelist'],
  },
  'field.exclude.list': {
    type: 'LIST',
    default: [],
    importance: 'MEDIUM',
    documentation: 'Fields not to write, as name or topic:name.',
    group: mapping,
    orderInGroup: 7,
  },
  'replace.null.with.default': {
    type: 'BOOLEAN',
    default: true,
    importance: 'MEDIUM',
    documentation:
      'Whether a null in a flat record takes the default of its schema. Never done for change events, where a null is a null.',
    group: mapping,
    orderInGroup: 8,
  },
  'unavailable.value.placeholder': {
    type: 'STRING',
    default: '__debezium_unavailable_value',
    importance: 'LOW',
    documentation:
      'What update events carry for a column whose value the source did not send. Such a column is left as it is in the target. Other records that carry it are refused: it is never written.',
    group: mapping,
    orderInGroup: 9,
  },
  'auto.create': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether a missing table is created from the schema of the records.',
    group: ddl,
    orderInGroup: 1,
  },
  'auto.evolve': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether missing columns are added and columns that have become too narrow are widened.',
    group: ddl,
    orderInGroup: 2,
  },
  'schema.evolution': {
    type: 'STRING',
    default: null,
    oneOf: ['none', 'basic'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation: 'basic switches auto.create and auto.evolve on, none switches both off.',
    group: ddl,
    orderInGroup: 3,
  },
  'max.retries': {
    type: 'INT',
    default: null,
    min: 0,
    importance: 'MEDIUM',
    documentation:
      'How often a flush is tried again after an error that may pass (connection lost, deadlock, serialization failure). Without end if not set.',
    group: retries,
    orderInGroup: 1,
    aliases: ['flush.max.retries'],
  },
  'retry.backoff.ms': {
    type: 'INT',
    default: 1000,
    min: 0,
    importance: 'MEDIUM',
    documentation: 'Wait before the first retry; doubled for each further one up to 30 s, with jitter.',
    group: retries,
    orderInGroup: 2,
    aliases: ['flush.retry.delay.ms'],
  },
  'quote.sql.identifiers': ignoredKey('identifiers are always quoted.'),
  'dialect.name': ignoredKey('the URL tells the dialect.'),
  'db.timezone': ignoredKey('values without a time zone are written as they are.'),
  'table.types': ignoredKey('tables, partitioned tables, foreign tables and updatable views are all allowed.'),
  'use.reduction.buffer': ignoredKey('flushes are always folded by key.'),
  'keyed.message.batch.mode': ignoredKey('flushes are always folded by key.'),
  'trim.sensitive.log': ignoredKey('row values are never logged.'),
} as const satisfies ConfigKeys;

export type SqlSinkValues = ConfigValues<typeof sqlSinkKeys>;
export type InsertMode = 'insert' | 'upsert' | 'update';
export type KeyMode = 'none' | 'kafka' | 'record_key' | 'record_value';

/** What the values mean together. */
export interface SqlSinkSettings {
  readonly insertMode: InsertMode;
  readonly keyMode: KeyMode;
  readonly keyFields: readonly string[];
  readonly deleteEnabled: boolean;
  /** Deletes that are not enabled are left out, as the Debezium sink does, instead of being an error. */
  readonly deletesIgnored: boolean;
  readonly truncateEnabled: boolean;
  readonly autoCreate: boolean;
  readonly autoEvolve: boolean;
  readonly replaceNullWithDefault: boolean;
  readonly unavailablePlaceholder: string;
  readonly tableName: TableNameRules;
  readonly includes: (topic: string, field: string) => boolean;
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly lingerMs: number;
  readonly maxRetries: number | null;
  readonly retryBackoffMs: number;
  /** As `FlushBounds` has it, where the sink can tell that one row stands in the way of another. */
  readonly holdMs?: number;
}

const KAFKA_COLUMNS = ['__connect_topic', '__connect_partition', '__connect_offset'];

export function sqlSinkSettings(values: SqlSinkValues, config: Config): SqlSinkSettings {
  const mode = values['insert.mode'].toLowerCase();
  const keyMode = values['pk.mode'].toLowerCase() as KeyMode;
  const evolution = values['schema.evolution']?.toLowerCase() ?? null;
  const likeDebezium = config['connector.class']?.startsWith('io.debezium.') ?? false;
  const include = new Set(values['field.include.list']);
  const exclude = new Set(values['field.exclude.list']);
  const named = (set: ReadonlySet<string>, topic: string, field: string): boolean =>
    set.has(field) || set.has(`${topic}:${field}`);
  const pairs = parseMapping(values['topics.to.tables.mapping']);
  return {
    insertMode: mode === 'multi' ? 'insert' : (mode as InsertMode),
    keyMode,
    keyFields: keyMode === 'kafka' && values['pk.fields'].length === 0 ? KAFKA_COLUMNS : values['pk.fields'],
    deleteEnabled: values['delete.enabled'],
    deletesIgnored: likeDebezium,
    truncateEnabled: values['truncate.enabled'],
    autoCreate: evolution === null ? values['auto.create'] : evolution === 'basic',
    autoEvolve: evolution === null ? values['auto.evolve'] : evolution === 'basic',
    replaceNullWithDefault: values['replace.null.with.default'],
    unavailablePlaceholder: values['unavailable.value.placeholder'],
    tableName: {
      format: values['table.name.format'],
      mapping: typeof pairs === 'string' ? new Map() : pairs,
      normalize: values['table.name.normalize'],
      dotsToUnderscores: likeDebezium,
    },
    includes: (topic, field) => (include.size === 0 || named(include, topic, field)) && !named(exclude, topic, field),
    maxRows: values['batch.size'],
    maxBytes: values['batch.bytes'],
    lingerMs: values['linger.ms'],
    maxRetries: values['max.retries'],
    retryBackoffMs: values['retry.backoff.ms'],
  };
}

const SPELLINGS = Object.entries(sqlSinkKeys).flatMap(([name, key]) => [
  name,
  ...('aliases' in key ? key.aliases : []),
]);

/** Checks across keys that need no database and no record. `furtherKeys` are those that the sink has besides. */
export function checkSqlSinkConfig(config: Config, furtherKeys: readonly string[] = []): readonly ConfigError[] {
  const { values, errors } = configDef(sqlSinkKeys).parse(config);
  const found = [...misspeltKeys(config, [...SPELLINGS, ...furtherKeys])];
  if (errors.length > 0) return found;
  const settings = sqlSinkSettings(values, config);
  const complain = (key: string, why: string): void => {
    found.push({ key, message: `Invalid value ${config[key] ?? ''} for configuration ${key}: ${why}` });
  };
  if (settings.insertMode !== 'insert' && settings.keyMode === 'none')
    complain('pk.mode', `insert.mode=${settings.insertMode} needs a key: use record_key, record_value or kafka`);
  if (settings.deleteEnabled && (settings.keyMode === 'none' || settings.keyMode === 'kafka'))
    complain('delete.enabled', 'deletes are found by key: use pk.mode=record_key (or record_value for change events)');
  if (settings.keyMode === 'kafka' && settings.keyFields.length !== 3)
    complain('pk.fields', 'pk.mode=kafka needs three names: for topic, partition and offset');
  const { format } = settings.tableName;
  if (format.replaceAll(/\$\{(topic|source\.[A-Za-z0-9_]+)\}/g, '').includes('${'))
    complain('table.name.format', 'only ${topic} and ${source.<field>} can be replaced');
  else if (format === '' || (format.includes('${source.') && sourceFieldsOf(format).length === 0))
    complain('table.name.format', 'it gives no table name');
  return found;
}
