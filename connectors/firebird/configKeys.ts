/** The source's options: Debezium's names where it has them. */
import type { ConfigKeys } from '../../runtime/api/index.ts';

const choice = <const T extends readonly string[]>(oneOf: T, value: T[number], documentation: string) =>
  ({ type: 'STRING', default: value as string, oneOf, ignoreCase: true, importance: 'MEDIUM', documentation }) as const;
const optional = (documentation: string) =>
  ({ type: 'STRING', default: null, importance: 'MEDIUM', documentation }) as const;
const flag = (value: boolean, documentation: string) =>
  ({ type: 'BOOLEAN', default: value, importance: 'LOW', documentation }) as const;
const text = (value: string, documentation: string) =>
  ({ type: 'STRING', default: value, importance: 'LOW', documentation }) as const;
const milliseconds = (value: number, min: number, documentation: string) =>
  ({ type: 'LONG', default: value, min, importance: 'LOW', documentation }) as const;

export const sourceKeys = {
  'database.hostname': {
    type: 'STRING',
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Host of the Firebird server.',
  },
  'database.port': {
    type: 'INT',
    default: 3050,
    min: 1,
    max: 65535,
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'Port of the Firebird server.',
  },
  'database.user': {
    type: 'STRING',
    importance: 'HIGH',
    group: 'Connection',
    documentation: 'User with SELECT on the captured tables.',
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
    documentation: 'Database whose changes are captured: its path on the server, or an alias.',
  },
  'database.role': optional('Role that the user takes.'),
  'topic.prefix': {
    type: 'STRING',
    importance: 'HIGH',
    documentation: 'Begins the names of all topics: prefix.TABLE. Do not change it later.',
    check: (value: string) => (/^[A-Za-z0-9._-]+$/.test(value) ? null : 'Only letters, digits, ".", "_" and "-"'),
  },
  'topic.delimiter': {
    type: 'STRING',
    default: '.',
    importance: 'LOW',
    documentation: 'Between the parts of a topic name.',
  },
  'journal.source.dir': {
    type: 'STRING',
    importance: 'HIGH',
    group: 'Journal',
    documentation:
      'Directory of archived journal segments (journal_archive_directory of replication.conf), as this worker sees it. One connector per database and directory.',
  },
  'journal.verify.commits': flag(
    true,
    'Whether the database is asked, before a transaction is published, if it has committed: a server that is killed rolls back transactions whose COMMIT is in its journal already. Switch it off only to read a journal whose database is gone.',
  ),
  'journal.delete.segments': flag(
    true,
    'Whether segments are deleted once they are processed, their offset is stored and no open transaction needs them.',
  ),
  'heartbeat.interval.ms': milliseconds(0, 0, 'Interval of heartbeat records, which carry the offset; 0 = none.'),
  'topic.heartbeat.prefix': text('__debezium-heartbeat', 'First part of the name of the heartbeat topic.'),
  'provide.transaction.metadata': flag(
    false,
    'Whether events tell their place in their transaction, and transactions are published with BEGIN and END events.',
  ),
  'topic.transaction': text('transaction', 'Last part of the name of the transaction topic.'),
  'extended.headers.enabled': flag(true, 'Whether records carry headers with the connector, task and run.'),
  'skipped.operations': text('t', 'Operations that are not published: c, u, d, t, or none.'),
  'poll.interval.ms': milliseconds(500, 1, 'How often the directory is looked at while there is nothing to do.'),
  'error.timeout.ms': milliseconds(
    60_000,
    0,
    'How long a segment that is damaged, not complete or missing, or a database that does not answer or has not decided a transaction, is waited for before the task fails.',
  ),
  'schema.history.file': optional(
    'File in which the layouts of tables are kept. Default: .millrace-<topic.prefix>.json in journal.source.dir, so that another worker finds it.',
  ),
  'event.format': choice(
    ['debezium', 'journal'],
    'debezium',
    'debezium: a change event for each row of a committed transaction, in a topic per table. journal: every event of the journal in its order, as JSON text in one topic.',
  ),
  'journal.topic': optional('Topic for event.format=journal. Default: topic.prefix.'),
  'include.ddl': flag(true, 'Whether event.format=journal has EXECUTE SQL events.'),
  'include.sequences': flag(true, 'Whether event.format=journal has SET SEQUENCE events.'),
  'dump.blobs': flag(
    true,
    'Whether values of blobs are published; otherwise unavailable.value.placeholder stands for them.',
  ),
  'table.include.list': {
    ...optional('Regular expressions, comma-separated: tables to capture. Default: all.'),
    group: 'Filters',
  },
  'table.exclude.list': {
    ...optional('Regular expressions, comma-separated: tables not to capture. Not together with table.include.list.'),
    group: 'Filters',
  },
  'column.include.list': {
    ...optional('Regular expressions, comma-separated: columns (TABLE.COLUMN) to publish. Default: all.'),
    group: 'Filters',
  },
  'column.exclude.list': {
    ...optional(
      'Regular expressions, comma-separated: columns (TABLE.COLUMN) to leave out. Not together with column.include.list. Key columns stay in keys.',
    ),
    group: 'Filters',
  },
  'message.key.columns': {
    type: 'STRING',
    default: '',
    importance: 'MEDIUM',
    documentation: 'Key columns other than those of the primary key: TABLE:A,B;(.*)LOG:ID.',
  },
  'snapshot.mode': choice(
    ['initial', 'always', 'initial_only', 'no_data', 'never', 'schema_only', 'when_needed'],
    'initial',
    'initial: the rows that are there, then their changes. initial_only: only the rows. always: the rows at each start. when_needed: again where a segment that is needed is gone. no_data (never, schema_only): changes only, from the first segment in the directory.',
  ),
  'snapshot.include.collection.list': {
    ...optional(
      'Regular expressions, comma-separated: tables whose rows the snapshot reads; the others are only streamed. Default: all.',
    ),
    group: 'Filters',
  },
  'snapshot.fetch.size': {
    type: 'INT',
    default: 2000,
    min: 1,
    importance: 'LOW',
    documentation: 'Most rows of a batch while the snapshot is read.',
  },
  'tombstones.on.delete': flag(true, 'Whether a delete event is followed by a record with a null value.'),
  'decimal.handling.mode': choice(
    ['precise', 'string', 'double'],
    'precise',
    'Form of NUMERIC, DECIMAL and INT128. DECFLOAT is text always.',
  ),
  'unavailable.value.placeholder': {
    type: 'STRING',
    default: '__debezium_unavailable_value',
    importance: 'LOW',
    documentation: 'Stands for values of blobs that the journal does not have: those of old rows.',
  },
  'schema.name.adjustment.mode': choice(
    ['none', 'avro', 'avro_unicode'],
    'none',
    'How schema names are made fit for Avro.',
  ),
  'field.name.adjustment.mode': choice(
    ['none', 'avro', 'avro_unicode'],
    'none',
    'How field names are made fit for Avro.',
  ),
} as const satisfies ConfigKeys;
