/** Topic configs by Kafka's names: the defaults, and what retention and compaction read from them. */
import { ConnectError } from '../../../schemas/errors.ts';

const defaults: Readonly<Record<string, string>> = {
  'cleanup.policy': 'delete',
  'compression.type': 'producer',
  'delete.retention.ms': '86400000',
  // Kafka's limit of 1 MiB bounds requests over a network; here only memory does.
  'max.message.bytes': String(64 * 1024 * 1024 + 12),
  'message.timestamp.type': 'CreateTime',
  'min.cleanable.dirty.ratio': '0.5',
  'min.compaction.lag.ms': '0',
  'min.insync.replicas': '1',
  'retention.bytes': '-1',
  'retention.ms': '604800000',
};

export function effectiveConfigs(configs: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries({ ...defaults, ...configs }));
}

export interface CleanupPolicy {
  readonly delete: boolean;
  readonly compact: boolean;
  /** Infinity = no limit. */
  readonly retentionMs: number;
  readonly retentionBytes: number;
  readonly deleteRetentionMs: number;
  readonly minCompactionLagMs: number;
  readonly minCleanableDirtyRatio: number;
}

export function cleanupPolicy(configs: Readonly<Record<string, string>>): CleanupPolicy {
  const all = effectiveConfigs(configs);
  const policies = all
    .get('cleanup.policy')!
    .split(',')
    .map(policy => policy.trim());
  const limit = (key: string) => {
    const value = Number(all.get(key));
    return value < 0 ? Number.POSITIVE_INFINITY : value;
  };
  return {
    delete: policies.includes('delete'),
    compact: policies.includes('compact'),
    retentionMs: limit('retention.ms'),
    retentionBytes: limit('retention.bytes'),
    deleteRetentionMs: limit('delete.retention.ms'),
    minCompactionLagMs: Number(all.get('min.compaction.lag.ms')),
    minCleanableDirtyRatio: Number(all.get('min.cleanable.dirty.ratio')),
  };
}

const numeric = [
  'delete.retention.ms',
  'max.message.bytes',
  'min.cleanable.dirty.ratio',
  'retention.bytes',
  'retention.ms',
];

/** Refuses what Kafka refuses: names it would not take, policies that do not exist, numbers that are none. */
export function checkTopicSpec(name: string, configs: Readonly<Record<string, string>>): void {
  const refuse = (why: string) =>
    new ConnectError('BROKER_TOPIC_INVALID', `Topic ${JSON.stringify(name)} cannot be created: ${why}.`, {
      place: { topic: name },
    });
  if (!/^[a-zA-Z0-9._-]{1,249}$/.test(name) || name === '.' || name === '..')
    throw refuse('a name has 1 to 249 letters, digits, dots, underscores and hyphens, and is not "." or ".."');
  for (const key of numeric)
    if (configs[key] !== undefined && !/^-?\d+(\.\d+)?$/.test(configs[key]))
      throw refuse(`${key} is ${JSON.stringify(configs[key])}, not a number`);
  for (const policy of (configs['cleanup.policy'] ?? 'delete').split(','))
    if (policy.trim() !== 'delete' && policy.trim() !== 'compact')
      throw refuse(`cleanup.policy ${JSON.stringify(policy)} is not delete, compact or both with a comma`);
}
