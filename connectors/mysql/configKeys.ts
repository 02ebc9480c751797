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
const file = (documentation: string) => ({ type: 'STRING', default: null, importance: 'LOW', documentation }) as const;

export const sourceKeys = {
  'database.hostname': {
    type: 'STRING',
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Host of the server.',
  },
  'database.port': {
    type: 'INT',
    default: 3306,
    min: 1,
    max: 65535,
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Port of the server.',
  },
  'database.user': {
    type: 'STRING',
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'User with REPLICATION SLAVE, REPLICATION CLIENT and SELECT on the captured tables.',
  },
  'database.password': {
    type: 'PASSWORD',
    default: '',
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Password of the user.',
  },
  'database.server.id': {
    type: 'LONG',
    default: null,
    min: 1,
    max: 4294967295,
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Id among the replicas of the server, unique for each connector; none = a free one is taken.',
  },
  'database.ssl.mode': choice(
    ['disabled', 'preferred', 'required', 'verify_ca', 'verify_identity'],
    'preferred',
    'Whether connections are encrypted, and whether the server is checked.',
  ),
  'database.ssl.ca': file('File with the certificates (PEM) that the server is checked against.'),
  'database.ssl.cert': file('File with the client certificate (PEM).'),
  'database.ssl.key': file('File with the client key (PEM).'),
  'connect.timeout.ms': number(30000, 'Longest wait for a connection.', 1),
  'connect.keep.alive.interval.ms': number(
    60000,
    'Longest silence of the server after which the connection is given up and made again; it is asked for a sign of life three times as often.',
    1000,
  ),
  'connect.max.retries': number(6, 'Attempts to make a lost connection again before the task fails.'),
  'connect.retry.delay.max.ms': number(10000, 'Longest wait between such attempts.', 1),
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
  'database.include.list': list('Regular expressions of databases to capture.'),
  'database.exclude.list': list('Regular expressions of databases to leave out.'),
  'table.include.list': list('Regular expressions of tables (database.table) to capture.'),
  'table.exclude.list': list('Regular expressions of tables (database.table) to leave out.'),
  'column.include.list': list('Regular expressions of columns (database.table.column) to publish.'),
  'column.exclude.list': list('Regular expressions of columns (database.table.column) to leave out.'),
  'message.key.columns': list('Key columns by table: database.table:column,column;…'),
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
    'Tables (database.table) whose rows are read by a SELECT of snapshot.select.statement.overrides.<database>.<table>.',
  ),
  'snapshot.locking.mode': choice(
    ['none', 'minimal'],
    'none',
    'minimal: all writing waits for the moment in which the position of the snapshot is read. none: no lock; changes made while the snapshot begins may be repeated after it. Needs GTIDs, or MariaDB; else minimal is used.',
  ),
  'snapshot.lock.timeout.ms': number(10000, 'Longest wait for such a lock.', 1000),
  'snapshot.delay.ms': number(0, 'Wait before the snapshot.'),
  'stop.at': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation:
      'Where the stream ends, as file:position or as a set of GTIDs: the transaction that reaches it is the last one that is published. Then the task rests.',
  },
  'tombstones.on.delete': flag(true, 'Whether a delete is followed by a tombstone.'),
  'skipped.operations': text('t', 'Operations that are not published: c, u, d, t, or none.'),
  'table.skipped.operations': list(
    'The same for single tables, which it counts for instead: database.table:operation,operation;…',
  ),
  'skip.messages.without.change': flag(
    false,
    'Whether updates that change no published column (column.include.list, column.exclude.list) are not published.',
  ),
  'decimal.handling.mode': choice(['precise', 'string', 'double'], 'precise', 'Form of DECIMAL values.'),
  'bigint.unsigned.handling.mode': choice(
    ['long', 'precise'],
    'long',
    'Form of BIGINT UNSIGNED values: INT64, in which large ones are negative, or Decimal.',
  ),
  'time.precision.mode': choice(
    ['adaptive_time_microseconds', 'connect', 'isostring', 'microseconds', 'nanoseconds'],
    'adaptive_time_microseconds',
    'Form of dates and times.',
  ),
  'binary.handling.mode': choice(['bytes', 'base64', 'base64-url-safe', 'hex'], 'bytes', 'Form of bytes.'),
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
  'include.query': flag(
    false,
    'Whether events carry the statement that caused them. Needs binlog_rows_query_log_events=ON, in MariaDB binlog_annotate_row_events=ON.',
  ),
  'signal.data.collection': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation:
      'Table (database.table) with columns id, type and data whose inserted rows are signals, such as for incremental snapshots.',
  },
  ...signalKeys,
  'incremental.snapshot.chunk.size': number(1024, 'Rows of a chunk of an incremental snapshot.', 1),
  'incremental.snapshot.max.threads': number(
    4,
    'Most chunks of an incremental snapshot that are read at once, each over a connection of its own.',
    1,
  ),
  'include.schema.changes': flag(
    true,
    'Whether what DDL does to tables of the captured databases is published to the topic that has the name of topic.prefix.',
  ),
  'schema.history.internal.kafka.topic': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation:
      'Topic of the worker’s cluster that keeps the statements that define tables; made where it is missing. Used only where the server does not have binlog_row_metadata=FULL.',
  },
  'schema.history.internal.skip.unparseable.ddl': flag(
    false,
    'Whether a statement that defines tables and cannot be read is left out of that history, with a warning; else it stops the task.',
  ),
  'include.schema.comments': flag(false, 'Whether schemas and schema changes tell the comments of columns and tables.'),
  'provide.transaction.metadata': flag(false, 'Whether transactions are published with BEGIN and END events.'),
  'extended.headers.enabled': flag(true, 'Whether records carry headers with the connector, task and run.'),
  'heartbeat.interval.ms': number(0, 'Interval of heartbeat records; 0 = none.'),
  'heartbeat.action.query': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: 'SQL run at each heartbeat.',
  },
  'max.batch.size': number(16384, 'Most events handed on at a time.', 1),
  'poll.interval.ms': number(500, 'Longest wait for events.', 1),
  'event.processing.failure.handling.mode': choice(
    ['fail'],
    'fail',
    'What cannot be decoded fails the task with its position.',
  ),
} as const satisfies ConfigKeys;
