/**
 * The worker's configuration keys, under Kafka Connect's names, and a few of our own. One definition gives parsing, the convict schema,
 * `--help` and the documentation.
 */
import { type ConfigKeys, configDef } from '../api/configDef.ts';
import { signatureAlgorithms } from './signatureAlgorithms.ts';

const unknownAlgorithm = (names: readonly string[]): string | null => {
  const known: readonly string[] = signatureAlgorithms;
  const stranger = names.find(name => !known.includes(name));
  return stranger === undefined ? null : `${stranger} is none of: ${known.join(', ')}`;
};

export const workerKeys = {
  'bootstrap.servers': {
    type: 'LIST',
    default: '',
    importance: 'HIGH',
    documentation:
      'Kafka brokers to start from, host:port each. Empty, for a worker alone: the embedded broker in data.dir.',
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
    documentation:
      'Folder of the embedded broker and schema registry of a worker alone. Not used where bootstrap.servers is set.',
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
    documentation:
      'Addresses of the REST API as URLs, such as http://:8083 for all interfaces or https://connect.example:8443; several are separated by commas. TLS by listeners.https.ssl.*, or else the worker’s ssl.* keys.',
  },
  'read.only.listeners': {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation: 'Further addresses, as URLs, where the API is served without all that changes anything.',
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
  'rest.advertised.listener': {
    type: 'STRING',
    default: null,
    oneOf: ['http', 'https'],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'Which of `listeners` other workers use. Unset: http where there is one, else https.',
  },
  'rest.extension.classes': {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation:
      'Kafka Connect’s key: org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension for basic authentication by rest.basic.auth.file; no other class is known.',
  },
  'rest.basic.auth.file': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation:
      'Property file of users and passwords (user=password) for basic authentication of the REST API, as Kafka’s PropertyFileLoginModule reads it. Switches it on.',
  },
  'admin.listeners': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation:
      'Addresses, as URLs, where /admin is served, and nothing else. Empty switches it off. Unset, it is served with the rest.',
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
      'How often in a row a failed task is restarted by itself, with exponential back-off; not where the error needs the user, as a poison record does. 0: never, as in Kafka Connect. -1: without end. May also be set for one connector.',
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
  'connect.protocol': {
    type: 'STRING',
    default: 'sessioned',
    oneOf: ['eager', 'compatible', 'sessioned'],
    ignoreCase: true,
    importance: 'LOW',
    documentation:
      'How workers of a cluster share work. sessioned: incremental cooperative, with signed requests between workers. compatible: without signatures. eager: all work stops at each rebalance.',
  },
  'session.timeout.ms': {
    type: 'INT',
    default: 10000,
    min: 1,
    importance: 'MEDIUM',
    documentation: 'After how long without a sign of life a worker counts as gone from its cluster.',
  },
  'heartbeat.interval.ms': {
    type: 'INT',
    default: 3000,
    min: 1,
    importance: 'MEDIUM',
    documentation: 'Time between signs of life of a worker to its cluster; at most a third of session.timeout.ms.',
  },
  'rebalance.timeout.ms': {
    type: 'INT',
    default: 60000,
    min: 1,
    importance: 'MEDIUM',
    documentation: 'How long a worker may take to join its cluster again, and to stop what it gives up.',
  },
  'scheduled.rebalance.max.delay.ms': {
    type: 'INT',
    default: 300000,
    min: 0,
    importance: 'LOW',
    documentation: 'How long what a lost worker ran waits for it to come back, before others get it. 0: not at all.',
  },
  'rebalance.graceful.handover': {
    type: 'BOOLEAN',
    default: true,
    importance: 'LOW',
    documentation:
      'Whether others take over at once from a worker that was stopped in order. false: they wait as for a lost one, as in Kafka Connect.',
  },
  'worker.sync.timeout.ms': {
    type: 'INT',
    default: 3000,
    min: 1,
    importance: 'MEDIUM',
    documentation: 'How long a worker may take to read the config topic as far as its cluster has.',
  },
  'worker.unsync.backoff.ms': {
    type: 'INT',
    default: 300000,
    min: 1,
    importance: 'MEDIUM',
    documentation: 'Longest wait before a worker that could not read the config topic in time joins its cluster again.',
  },
  'inter.worker.key.ttl.ms': {
    type: 'INT',
    default: 3600000,
    min: 1,
    importance: 'LOW',
    documentation: 'How long the key lives by which workers of a cluster sign their requests.',
  },
  'inter.worker.key.generation.algorithm': {
    type: 'STRING',
    default: 'HmacSHA256',
    oneOf: signatureAlgorithms,
    importance: 'LOW',
    documentation: 'Algorithm of the key by which workers of a cluster sign their requests.',
  },
  'inter.worker.key.size': {
    type: 'INT',
    default: null,
    min: 8,
    importance: 'LOW',
    documentation:
      'Bits of the key by which workers of a cluster sign their requests. Unset: what its algorithm takes.',
  },
  'inter.worker.signature.algorithm': {
    type: 'STRING',
    default: 'HmacSHA256',
    oneOf: signatureAlgorithms,
    importance: 'LOW',
    documentation: 'Algorithm by which this worker signs requests to others of its cluster.',
  },
  'inter.worker.verification.algorithms': {
    type: 'LIST',
    default: 'HmacSHA256',
    check: unknownAlgorithm,
    importance: 'LOW',
    documentation:
      'Algorithms of signatures that this worker accepts from others of its cluster; inter.worker.signature.algorithm is one of them.',
  },
  'plugin.path': {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation:
      'Plugins beside the built-in ones: npm packages with a "millrace" key in package.json, folders of such packages (node_modules), or module files (.js, .mjs).',
  },
  'config.providers': {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation:
      'Names of config providers; each is set up by config.providers.<name>.class and .param.*. For "${env:NAME}": config.providers=env and config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider; for files FileConfigProvider and DirectoryConfigProvider of the same package. Without it the text stays as it is.',
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
    documentation:
      'Exactly-once delivery of sources: records and offsets in one transaction. In a cluster only; set preparing on all workers first, then enabled on all.',
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
