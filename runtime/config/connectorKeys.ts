/**
 * The keys that every connector has, beside its own. Orders, groups and texts are what Kafka Connect's REST API shows; keys of ours are internal,
 * which shows them only where they are set.
 */
import { type ConfigKeys, configDef } from '../api/configDef.ts';
import { workerKeys } from './workerKeys.ts';

const common = 'Common';
const errors = 'Error Handling';

const identityKeys = {
  name: {
    type: 'STRING',
    importance: 'HIGH',
    documentation: 'Name of the connector, unique in its cluster.',
    group: common,
    orderInGroup: 1,
    width: 'MEDIUM',
    displayName: 'Connector name',
    check: checkName,
  },
  'connector.class': {
    type: 'STRING',
    importance: 'HIGH',
    documentation:
      'Class of the connector: its full name, its simple name, or that without “Connector”. GET /connector-plugins lists them.',
    group: common,
    orderInGroup: 2,
    width: 'LONG',
    displayName: 'Connector class',
  },
  'connector.plugin.version': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation: 'Version of the connector’s plugin. Default: the installed one.',
    group: common,
    orderInGroup: 3,
    width: 'MEDIUM',
    displayName: 'Connector version',
  },
} as const satisfies ConfigKeys;

const topicsKeys = {
  topics: {
    type: 'LIST',
    default: '',
    importance: 'HIGH',
    documentation: 'Topics to read, separated by commas.',
    group: common,
    orderInGroup: 4,
    width: 'LONG',
    displayName: 'Topics',
  },
  'topics.regex': {
    type: 'STRING',
    default: '',
    importance: 'HIGH',
    documentation: 'Pattern of the names of topics to read; it has to match the whole name.',
    group: common,
    orderInGroup: 4,
    width: 'LONG',
    displayName: 'Topics regex',
    check: checkPattern,
  },
} as const satisfies ConfigKeys;

const taskKeys = {
  'tasks.max': {
    type: 'INT',
    default: 1,
    min: 1,
    importance: 'HIGH',
    documentation: 'Most tasks that the connector may have.',
    group: common,
    orderInGroup: 4,
    width: 'SHORT',
    displayName: 'Tasks max',
  },
  'tasks.max.enforce': {
    type: 'BOOLEAN',
    default: true,
    importance: 'LOW',
    documentation: 'Whether a connector that makes more tasks than tasks.max fails. Deprecated.',
    group: common,
    orderInGroup: 5,
    width: 'SHORT',
    displayName: 'Enforce tasks max',
  },
} as const satisfies ConfigKeys;

const converterKeys = {
  'key.converter': converterKey('Key', 6),
  'key.converter.plugin.version': versionKey('Key', 7),
  'value.converter': converterKey('Value', 8),
  'value.converter.plugin.version': versionKey('Value', 9),
  'header.converter': converterKey('Header', 10),
  'header.converter.plugin.version': versionKey('Header', 11),
} as const satisfies ConfigKeys;

const chainKeys = {
  transforms: {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation:
      'Names of the transforms to apply, in order; each is set up by transforms.<name>.type and its own keys.',
    group: 'Transforms',
    orderInGroup: 12,
    width: 'LONG',
    displayName: 'Transforms',
    check: checkUnique,
  },
  predicates: {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation: 'Names of predicates that transforms refer to; each is set up by predicates.<name>.type.',
    group: 'Predicates',
    orderInGroup: 13,
    width: 'LONG',
    displayName: 'Predicates',
    check: checkUnique,
  },
  'config.action.reload': {
    type: 'STRING',
    default: 'restart',
    oneOf: ['none', 'restart'],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'What to do when a config provider says that a value has changed.',
    group: common,
    orderInGroup: 14,
    width: 'MEDIUM',
    displayName: 'Reload Action',
  },
} as const satisfies ConfigKeys;

const errorKeys = {
  'errors.retry.timeout': {
    type: 'LONG',
    default: 0,
    importance: 'MEDIUM',
    documentation: 'How long a failed operation on a record is tried again, ms; -1: without end.',
    group: errors,
    orderInGroup: 1,
    width: 'MEDIUM',
    displayName: 'Retry Timeout for Errors',
  },
  'errors.retry.delay.max.ms': {
    type: 'LONG',
    default: 60000,
    importance: 'MEDIUM',
    documentation: 'Longest wait between two such attempts, ms.',
    group: errors,
    orderInGroup: 2,
    width: 'MEDIUM',
    displayName: 'Maximum Delay Between Retries for Errors',
  },
  'errors.tolerance': {
    type: 'STRING',
    default: 'none',
    oneOf: ['none', 'all'],
    importance: 'MEDIUM',
    documentation:
      'none: a record that fails ends the task. all: it is counted, logged, sent to the dead letter queue if there is one, and skipped.',
    group: errors,
    orderInGroup: 3,
    width: 'SHORT',
    displayName: 'Error Tolerance',
  },
  'errors.log.enable': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether each failed record is logged.',
    group: errors,
    orderInGroup: 4,
    width: 'SHORT',
    displayName: 'Log Errors',
  },
  'errors.log.include.messages': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether such a log line shows the record’s contents.',
    group: errors,
    orderInGroup: 5,
    width: 'SHORT',
    displayName: 'Log Error Details',
  },
  'errors.restart.max': { ...workerKeys['errors.restart.max'], default: null, internal: true },
  'task.isolation': { ...workerKeys['task.isolation'], default: null, internal: true },
} as const satisfies ConfigKeys;

const deadLetterKeys = {
  'errors.deadletterqueue.topic.name': {
    type: 'STRING',
    default: '',
    importance: 'MEDIUM',
    documentation: 'Topic for records that failed in this sink. Empty: none.',
    group: errors,
    orderInGroup: 6,
    width: 'MEDIUM',
    displayName: 'Dead Letter Queue Topic Name',
  },
  'errors.deadletterqueue.topic.replication.factor': {
    type: 'SHORT',
    default: 3,
    importance: 'MEDIUM',
    documentation: 'Replication factor of the dead letter queue when it is created.',
    group: errors,
    orderInGroup: 7,
    width: 'MEDIUM',
    displayName: 'Dead Letter Queue Topic Replication Factor',
  },
  'errors.deadletterqueue.context.headers.enable': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether records in the dead letter queue get headers that say what failed and where.',
    group: errors,
    orderInGroup: 8,
    width: 'MEDIUM',
    displayName: 'Enable Error Context Headers',
  },
} as const satisfies ConfigKeys;

const sourceOnlyKeys = {
  'topic.creation.groups': {
    type: 'LIST',
    default: '',
    importance: 'LOW',
    documentation: 'Groups of topics with creation settings of their own, under topic.creation.<group>.*.',
    group: 'Topic Creation',
    orderInGroup: 1,
    width: 'LONG',
    displayName: 'Topic Creation Groups',
    check: checkUnique,
  },
  'exactly.once.support': {
    type: 'STRING',
    default: 'requested',
    oneOf: ['requested', 'required'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'required: the connector fails validation unless it can deliver exactly once with its configuration.',
    group: 'Exactly Once Support',
    orderInGroup: 2,
    width: 'SHORT',
    displayName: 'Exactly once support',
  },
  'transaction.boundary': {
    type: 'STRING',
    default: 'poll',
    oneOf: ['poll', 'interval', 'connector'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation: 'With exactly-once delivery: what ends a transaction.',
    group: 'Exactly Once Support',
    orderInGroup: 3,
    width: 'SHORT',
    displayName: 'Transaction Boundary',
  },
  'transaction.boundary.interval.ms': {
    type: 'LONG',
    default: null,
    min: 0,
    importance: 'LOW',
    documentation: 'With transaction.boundary=interval: its length. Default: the worker’s offset.flush.interval.ms.',
    group: 'Exactly Once Support',
    orderInGroup: 4,
    width: 'SHORT',
    displayName: 'Transaction boundary interval',
  },
  'offsets.storage.topic': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: 'Offsets topic of this connector alone. Default: the worker’s.',
    group: 'offsets.topic',
    orderInGroup: 1,
    width: 'LONG',
    displayName: 'Offsets topic',
  },
} as const satisfies ConfigKeys;

const sharedKeys = { ...taskKeys, ...converterKeys, ...chainKeys, ...errorKeys };

export const sourceConnectorDef = configDef({ ...identityKeys, ...sharedKeys, ...sourceOnlyKeys });
export const sinkConnectorDef = configDef({ ...identityKeys, ...topicsKeys, ...sharedKeys, ...deadLetterKeys });

function converterKey<const O extends number>(what: string, orderInGroup: O) {
  return {
    type: 'CLASS',
    default: null,
    importance: 'LOW',
    documentation: `Converter of the connector’s ${what.toLowerCase()}s. Default: the worker’s.`,
    group: common,
    orderInGroup,
    width: 'SHORT',
    displayName: `${what} converter class`,
  } as const;
}

function versionKey<const O extends number>(what: string, orderInGroup: O) {
  return {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: `Version of the ${what.toLowerCase()} converter’s plugin. Default: the installed one.`,
    group: common,
    orderInGroup,
    width: 'SHORT',
    displayName: `${what} converter version`,
  } as const;
}

function checkName(name: string): string | null {
  if (name === '') return 'String may not be empty';
  const controls = [...name].map(c => c.codePointAt(0)!).filter(code => code < 0x20 || code === 0x7f);
  if (controls.length === 0) return null;
  return `String may not contain control sequences but had the following ASCII chars: ${controls.join(', ')}`;
}

function checkPattern(pattern: string): string | null {
  if (pattern === '') return null;
  try {
    new RegExp(pattern, 'u');
    return null;
  } catch {
    return 'Invalid regular expression';
  }
}

function checkUnique(names: readonly string[]): string | null {
  return new Set(names).size === names.length ? null : 'Duplicate alias provided.';
}
