/** The source's options: Debezium's names and defaults. */
import type { ConfigKeys } from '../../runtime/api/index.ts';
import { signalKeys } from '../shared/signalKeys.ts';

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

export const sourceKeys = {
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
  'slot.two.phase': flag(
    false,
    'Whether the server sends prepared transactions when they are prepared (PostgreSQL 15) and not after their commit. Events are the same, and come at COMMIT PREPARED.',
  ),
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
  'publish.origin': choice(
    ['any', 'none'],
    'any',
    'Whether changes that came to the database by replication are published too (any) or not (none, PostgreSQL 16): none ends loops where two databases replicate to each other.',
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
  'snapshot.max.threads': {
    type: 'INT',
    default: 1,
    min: 1,
    max: 64,
    importance: 'MEDIUM',
    documentation:
      'Connections that read the rows of a snapshot at the same time; they share large tables by ranges of blocks. Tables then come in no particular order.',
  },
  'snapshot.locking.mode': choice(
    ['none', 'shared'],
    'none',
    'Whether tables are locked against changes of their definition while the snapshot reads them.',
  ),
  'snapshot.lock.timeout.ms': number(10000, 'Longest wait for such a lock.'),
  'snapshot.delay.ms': number(0, 'Wait before the snapshot.'),
  'tombstones.on.delete': flag(true, 'Whether a delete is followed by a tombstone.'),
  'skipped.operations': text('t', 'Operations that are not published: c, u, d, t, or none.'),
  'skip.messages.without.change': flag(
    false,
    'Whether updates that change no published column (column.include.list, column.exclude.list) are not published. The server has to send the old row: REPLICA IDENTITY FULL.',
  ),
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
  'signal.data.collection': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation:
      'Table (schema.table) with columns id, type and data whose inserted rows are signals, such as for incremental snapshots.',
  },
  ...signalKeys,
  'incremental.snapshot.chunk.size': number(1024, 'Rows that an incremental snapshot reads at a time.', 1),
  'streaming.mode': choice(
    ['auto', 'off'],
    'auto',
    'Whether the server sends large transactions while they are open (auto, from PostgreSQL 14 on) or after their commit (off). Events are the same, and come at the commit.',
  ),
  'streaming.buffer.bytes': number(
    64 * 1024 * 1024,
    'Memory for open transactions; what is beyond it goes to files in the temporary folder (TMPDIR).',
    1024 * 1024,
  ),
  'status.update.interval.ms': number(10000, 'Interval at which the server is told what is safe.', 1),
  'max.batch.size': number(16384, 'Most events handed on at a time.', 1),
  'poll.interval.ms': number(500, 'Longest wait for events.', 1),
  'event.processing.failure.handling.mode': choice(
    ['fail'],
    'fail',
    'What cannot be decoded fails the task with its position.',
  ),
} as const satisfies ConfigKeys;
