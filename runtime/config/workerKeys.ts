/**
 * The worker's configuration keys, under Kafka Connect's names, and a few of our own. One definition gives parsing, the convict schema,
 * `--help` and the documentation.
 */
import { type ConfigKeys, configDef } from '../api/configDef.ts';

export const workerKeys = {
  'bootstrap.servers': {
    type: 'LIST',
    default: '',
    importance: 'HIGH',
    documentation: 'Kafka brokers to start from, host:port each. Empty: the embedded broker in data.dir.',
  },
  'group.id': {
    type: 'STRING',
    default: 'millrace',
    importance: 'HIGH',
    documentation: 'Names the cluster of workers, and by default its internal topics.',
  },
  'data.dir': {
    type: 'STRING',
    default: './millrace-data',
    importance: 'HIGH',
    documentation: 'Folder of the embedded broker and schema registry. Not used where bootstrap.servers is set.',
  },
  'data.flush': {
    type: 'STRING',
    default: 'os',
    oneOf: ['os', 'fsync'],
    importance: 'LOW',
    documentation:
      'When the embedded broker acknowledges. os: the record survives the end of the process at any moment. fsync: a power cut as well.',
  },
  'schema.registry.url': {
    type: 'LIST',
    default: '',
    importance: 'HIGH',
    documentation:
      'Schema registry with Confluent’s REST API, for all converters that name no own. Empty with the embedded broker: the embedded registry.',
  },
  listen: {
    type: 'STRING',
    default: '127.0.0.1:8083',
    importance: 'HIGH',
    documentation: 'Address of the REST API, host:port. Port 0 takes a free one. Used where `listeners` is not set.',
  },
  listeners: {
    type: 'LIST',
    default: '',
    importance: 'MEDIUM',
    documentation: 'Addresses of the REST API as URLs, such as http://:8083 for all interfaces.',
  },
  'rest.advertised.host.name': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: 'Host under which others reach this worker; part of worker_id.',
  },
  'rest.advertised.port': {
    type: 'INT',
    default: null,
    importance: 'LOW',
    documentation: 'Port under which others reach this worker; part of worker_id.',
  },
  'admin.listeners': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation:
      'Empty switches /admin off. Unset, it is served with the rest; an address of its own is not supported.',
    check: (value: string) => (value === '' ? null : 'only unset and empty are supported'),
  },
  'access.control.allow.origin': {
    type: 'STRING',
    default: '',
    importance: 'LOW',
    documentation: 'Origin that browsers may call from (CORS); * for any; empty: off.',
  },
  'access.control.allow.methods': {
    type: 'STRING',
    default: '',
    importance: 'LOW',
    documentation: 'Methods allowed to other origins (CORS). Empty: GET, POST and HEAD.',
  },
  'response.http.headers.config': {
    type: 'STRING',
    default: '',
    importance: 'LOW',
    documentation: 'Further response headers: a comma-separated list of `[set|add|setDate|addDate] Name:Value`.',
  },
  'key.converter': {
    type: 'CLASS',
    default: 'io.confluent.connect.avro.AvroConverter',
    importance: 'HIGH',
    documentation: 'Converter of keys, for connectors that name none.',
  },
  'value.converter': {
    type: 'CLASS',
    default: 'io.confluent.connect.avro.AvroConverter',
    importance: 'HIGH',
    documentation: 'Converter of values, for connectors that name none.',
  },
  'header.converter': {
    type: 'CLASS',
    default: 'org.apache.kafka.connect.storage.SimpleHeaderConverter',
    importance: 'LOW',
    documentation: 'Converter of headers, for connectors that name none.',
  },
  'config.storage.topic': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation: 'Topic of connector configurations. Default: `<group.id>-configs`.',
  },
  'config.storage.replication.factor': {
    type: 'SHORT',
    default: -1,
    importance: 'LOW',
    documentation: 'Replication factor of the config topic when it is created; -1: the broker’s default.',
  },
  'offset.storage.topic': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation: 'Topic of source offsets. Default: `<group.id>-offsets`.',
  },
  'offset.storage.partitions': {
    type: 'INT',
    default: 25,
    importance: 'LOW',
    documentation: 'Partitions of the offset topic when it is created; -1 for the broker’s default.',
  },
  'offset.storage.replication.factor': {
    type: 'SHORT',
    default: -1,
    importance: 'LOW',
    documentation: 'Replication factor of the offset topic when it is created; -1: the broker’s default.',
  },
  'status.storage.topic': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation: 'Topic of connector and task statuses. Default: `<group.id>-status`.',
  },
  'status.storage.partitions': {
    type: 'INT',
    default: 5,
    importance: 'LOW',
    documentation: 'Partitions of the status topic when it is created; -1 for the broker’s default.',
  },
  'status.storage.replication.factor': {
    type: 'SHORT',
    default: -1,
    importance: 'LOW',
    documentation: 'Replication factor of the status topic when it is created; -1: the broker’s default.',
  },
  'offset.flush.interval.ms': {
    type: 'LONG',
    default: 60000,
    min: 1,
    importance: 'LOW',
    documentation: 'Time between commits of offsets.',
  },
  'offset.flush.timeout.ms': {
    type: 'LONG',
    default: 5000,
    min: 1,
    importance: 'LOW',
    documentation: 'How long a commit of offsets may wait for records to be acknowledged.',
  },
  'task.shutdown.graceful.timeout.ms': {
    type: 'LONG',
    default: 5000,
    min: 0,
    importance: 'LOW',
    documentation: 'How long tasks may take to stop before they are cancelled; also bounds the worker’s own stop.',
  },
  'task.threads': {
    type: 'INT',
    default: -1,
    min: -1,
    importance: 'MEDIUM',
    documentation: 'Threads that run tasks. -1: one per core. 0: tasks run in the main thread.',
  },
  'task.isolation': {
    type: 'STRING',
    default: 'pool',
    oneOf: ['pool', 'thread'],
    importance: 'MEDIUM',
    documentation:
      'pool: tasks share the threads of task.threads. thread: each task gets a thread of its own. May also be set for one connector.',
  },
  'errors.restart.max': {
    type: 'INT',
    default: 10,
    min: -1,
    importance: 'MEDIUM',
    documentation:
      'How often in a row a failed task is restarted by itself, with exponential back-off. 0: never, as in Kafka Connect. -1: without end. May also be set for one connector.',
  },
  'errors.restart.delay.initial.ms': {
    type: 'LONG',
    default: 1000,
    min: 1,
    importance: 'LOW',
    documentation: 'Wait before the first restart of a failed task; doubled for each further one.',
  },
  'errors.restart.delay.max.ms': {
    type: 'LONG',
    default: 60000,
    min: 1,
    importance: 'LOW',
    documentation: 'Longest wait before a restart of a failed task.',
  },
  'plugin.path': {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation: 'Plugin modules (.js, .mjs), or folders of them, beside the built-in plugins.',
  },
  'config.providers': {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation: 'Names of config providers; each is set up by config.providers.<name>.class and .param.*.',
  },
  'connector.client.config.override.policy': {
    type: 'STRING',
    default: 'All',
    oneOf: ['All', 'None', 'Allowlist'],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'Which producer.override.*, consumer.override.* and admin.override.* keys connectors may set.',
  },
  'connector.client.config.override.allowlist': {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation: 'Client keys that connectors may override with the policy Allowlist.',
  },
  'exactly.once.source.support': {
    type: 'STRING',
    default: 'disabled',
    oneOf: ['disabled', 'preparing', 'enabled'],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'Exactly-once delivery of sources: records and offsets in one transaction.',
  },
  'topic.creation.enable': {
    type: 'BOOLEAN',
    default: true,
    importance: 'LOW',
    documentation: 'Whether sources may create their topics by topic.creation.* rules.',
  },
  'topic.tracking.enable': {
    type: 'BOOLEAN',
    default: true,
    importance: 'LOW',
    documentation: 'Whether the topics that connectors use are tracked.',
  },
  'topic.tracking.allow.reset': {
    type: 'BOOLEAN',
    default: true,
    importance: 'LOW',
    documentation: 'Whether the tracked topics may be reset over REST.',
  },
  'internal.topics.automatic.creation.enable': {
    type: 'BOOLEAN',
    default: true,
    importance: 'LOW',
    documentation: 'Whether the worker creates its internal topics where they are missing.',
  },
  'log.level': {
    type: 'STRING',
    default: 'info',
    oneOf: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'off'],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'Level of the root logger; /admin/loggers changes it at run time.',
  },
} as const satisfies ConfigKeys;

export const workerConfigDef = configDef(workerKeys);
