/** Settings that are not known are named once per process, so that a misspelt key does not go unnoticed. */
import type { Logger } from '../../api/logger.ts';
import { connectionKeys } from './clientSettings.ts';
import { consumerKeys } from './consumerSettings.ts';
import { producerKeys } from './producerSettings.ts';

export function isKnownClientKey(client: 'producer' | 'consumer' | 'admin', key: string): boolean {
  const own = { producer: producerKeys, consumer: consumerKeys, admin: connectionKeys }[client];
  return isKnown(key, own);
}

function isKnown(key: string, known: ReadonlySet<string>): boolean {
  return known.has(key) || connectionKeys.has(key) || ignored.has(key);
}

const warned = new Set<string>();

/** Keys of Java clients that mean nothing here, or that the worker reads itself. */
const ignored: ReadonlySet<string> = new Set([
  'key.serializer',
  'value.serializer',
  'key.deserializer',
  'value.deserializer',
  'client.dns.lookup',
  'enable.auto.commit',
  'auto.commit.interval.ms',
  'batch.size',
  'linger.ms',
  'buffer.memory',
  'retries',
  'connections.max.idle.ms',
  'default.api.timeout.ms',
  'max.poll.records',
  'group.id',
  'metric.reporters',
  'metrics.num.samples',
  'metrics.recording.level',
  'metrics.sample.window.ms',
  'receive.buffer.bytes',
  'send.buffer.bytes',
  'socket.connection.setup.timeout.max.ms',
  'ssl.protocol',
  'ssl.client.auth',
]);

export function warnUnknown(
  settings: Readonly<Record<string, string>>,
  known: ReadonlySet<string>,
  logger: Logger,
): void {
  const unknown = Object.keys(settings).filter(key => !isKnown(key, known) && !warned.has(key));
  for (const key of unknown) warned.add(key);
  if (unknown.length > 0)
    logger.warn({ keys: unknown }, `Kafka client settings that are not known are ignored: ${unknown.join(', ')}`);
}
