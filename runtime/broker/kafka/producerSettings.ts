/** Options of a producer, with `producer.override.*` on top, by Kafka's names and defaults. */
import type { Compression, ProducerOptions } from '../port.ts';
import { invalid, millis } from './clientSettings.ts';

export interface ProducerSettings {
  readonly compression: Compression;
  readonly idempotent: boolean;
  readonly transactionalId: string | null;
  readonly transactionTimeoutMs: number;
  readonly acks: -1 | 0 | 1;
  readonly maxRequestBytes: number;
  /** Infinity = no bound. */
  readonly deliveryTimeoutMs: number;
  readonly maxInFlight: number;
  /** How long a topic may be missing before sending to it fails. */
  readonly maxBlockMs: number;
}

export const producerKeys: ReadonlySet<string> = new Set([
  'acks',
  'compression.type',
  'delivery.timeout.ms',
  'enable.idempotence',
  'max.block.ms',
  'max.in.flight.requests.per.connection',
  'max.request.size',
  'transaction.timeout.ms',
  'transactional.id',
]);

export function producerSettings(options: ProducerOptions): ProducerSettings {
  const given = options.settings ?? {};
  const transactionalId = given['transactional.id'] ?? options.transactionalId ?? null;
  const acks = acksOf(given.acks) ?? options.acks ?? -1;
  const idempotent = booleanOf(given['enable.idempotence']) ?? options.idempotent ?? acks === -1;
  if ((idempotent || transactionalId !== null) && acks !== -1)
    throw invalid('acks', String(acks), 'enable.idempotence and transactions need acks=all');
  const deliveryTimeoutMs = millis(given, 'delivery.timeout.ms', options.deliveryTimeoutMs ?? Number.POSITIVE_INFINITY);
  return {
    compression: compressionOf(given['compression.type']) ?? options.compression ?? 'none',
    idempotent: idempotent || transactionalId !== null,
    transactionalId,
    transactionTimeoutMs: millis(given, 'transaction.timeout.ms', options.transactionTimeoutMs ?? 60_000),
    acks,
    maxRequestBytes: millis(given, 'max.request.size', options.maxRequestBytes ?? 1_048_576),
    // Java's way to say for ever is the largest int.
    deliveryTimeoutMs: deliveryTimeoutMs >= 0x7fff_ffff ? Number.POSITIVE_INFINITY : deliveryTimeoutMs,
    maxInFlight: Math.max(1, millis(given, 'max.in.flight.requests.per.connection', 5)),
    maxBlockMs: millis(given, 'max.block.ms', 60_000),
  };
}

function acksOf(text: string | undefined): -1 | 0 | 1 | undefined {
  switch (text?.trim()) {
    case undefined:
      return undefined;
    case 'all':
    case '-1':
      return -1;
    case '0':
      return 0;
    case '1':
      return 1;
    default:
      throw invalid('acks', text!, 'it must be all, -1, 0 or 1');
  }
}

function booleanOf(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  return /^true$/i.test(text.trim());
}

function compressionOf(text: string | undefined): Compression | undefined {
  switch (text?.trim()) {
    case undefined:
      return undefined;
    case 'none':
    case 'gzip':
    case 'snappy':
    case 'lz4':
    case 'zstd':
      return text!.trim() as Compression;
    default:
      throw invalid('compression.type', text!, 'it must be none, gzip, snappy, lz4 or zstd');
  }
}
