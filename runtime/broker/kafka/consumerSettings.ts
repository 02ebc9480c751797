/** Options of a consumer, with `consumer.override.*` on top, by Kafka's names and defaults. */
import type { ConsumerOptions } from '../port.ts';
import { type Assignor, cooperativeStickyAssignor, rangeAssignor } from './assignors.ts';
import { invalid, millis } from './clientSettings.ts';
import type { FetchOptions } from './fetchRequest.ts';

export interface ConsumerSettings {
  readonly fetch: FetchOptions;
  readonly autoOffsetReset: 'earliest' | 'latest' | 'none';
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly maxPollIntervalMs: number;
  readonly groupInstanceId: string | null;
  readonly assignors: readonly Assignor[];
}

export const consumerKeys: ReadonlySet<string> = new Set([
  'auto.offset.reset',
  'fetch.max.bytes',
  'fetch.max.wait.ms',
  'fetch.min.bytes',
  'group.instance.id',
  'heartbeat.interval.ms',
  'isolation.level',
  'max.partition.fetch.bytes',
  'max.poll.interval.ms',
  'partition.assignment.strategy',
  'session.timeout.ms',
  // Read where records are decoded.
  'check.crcs',
]);

export function consumerSettings(options: ConsumerOptions): ConsumerSettings {
  const given = options.settings ?? {};
  const isolation =
    oneOf(given, 'isolation.level', ['read_uncommitted', 'read_committed']) ?? options.isolation ?? 'read_uncommitted';
  return {
    fetch: {
      maxWaitMs: millis(given, 'fetch.max.wait.ms', 500),
      minBytes: millis(given, 'fetch.min.bytes', 1),
      maxBytes: millis(given, 'fetch.max.bytes', options.maxBytes ?? 52_428_800),
      maxPartitionBytes: millis(given, 'max.partition.fetch.bytes', options.maxPartitionBytes ?? 1_048_576),
      readCommitted: isolation === 'read_committed',
    },
    autoOffsetReset:
      oneOf(given, 'auto.offset.reset', ['earliest', 'latest', 'none']) ?? options.autoOffsetReset ?? 'latest',
    sessionTimeoutMs: millis(given, 'session.timeout.ms', 45_000),
    heartbeatIntervalMs: millis(given, 'heartbeat.interval.ms', 3000),
    maxPollIntervalMs: millis(given, 'max.poll.interval.ms', 300_000),
    groupInstanceId: given['group.instance.id'] ?? null,
    assignors: assignorsOf(given['partition.assignment.strategy']),
  };
}

function oneOf<const T extends string>(
  settings: Readonly<Record<string, string>>,
  key: string,
  allowed: readonly T[],
): T | undefined {
  const text = settings[key]?.trim().toLowerCase();
  if (text === undefined) return undefined;
  const match = allowed.find(value => value === text);
  if (match === undefined) throw invalid(key, text, `it must be one of ${allowed.join(', ')}`);
  return match;
}

/**
 * By default cooperative-sticky alone: a rebalance stops only the partitions that move. Java consumers offer it by default beside range, so that they can share
 * the group; range may be asked for where other members know nothing else.
 */
function assignorsOf(text: string | undefined): Assignor[] {
  if (text === undefined) return [cooperativeStickyAssignor];
  return text.split(',').map(entry => {
    const name = entry.trim().split('.').at(-1)!;
    if (name === 'RangeAssignor' || name === 'range') return rangeAssignor;
    if (name === 'CooperativeStickyAssignor' || name === 'cooperative-sticky') return cooperativeStickyAssignor;
    throw invalid('partition.assignment.strategy', entry, 'it must be RangeAssignor or CooperativeStickyAssignor');
  });
}
