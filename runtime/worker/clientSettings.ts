/**
 * Settings of a connector's Kafka clients: the worker's `producer.*` and `consumer.*`, then the connector's `producer.override.*` and so on,
 * as far as the worker's override policy allows.
 */
import { type Config, type ConfigError, ConnectError } from '../api/index.ts';
import type { Compression, ConsumerOptions, ProducerOptions } from '../broker/port.ts';
import { type WorkerConfig, withPrefix } from '../config/workerConfig.ts';

type Client = 'producer' | 'consumer' | 'admin';
const clients: readonly Client[] = ['producer', 'consumer', 'admin'];

export type OverridePolicy = Pick<
  WorkerConfig,
  'connector.client.config.override.policy' | 'connector.client.config.override.allowlist'
>;

/** One error for each override that the policy refuses. */
export function refusedOverrides(connector: Config, worker: OverridePolicy): ConfigError[] {
  const policy = worker['connector.client.config.override.policy'];
  if (policy === 'All') return [];
  const allowed = new Set(policy === 'Allowlist' ? worker['connector.client.config.override.allowlist'] : []);
  return clients.flatMap(client =>
    Object.keys(withPrefix(connector, `${client}.override.`))
      .filter(key => !allowed.has(key))
      .map(key => ({
        key: `${client}.override.${key}`,
        message: `The '${policy}' policy does not allow '${key}' to be overridden in the connector configuration.`,
      })),
  );
}

function settingsOf(client: Client, connector: Config, worker: WorkerConfig): Record<string, string> {
  const refused = refusedOverrides(connector, worker);
  if (refused.length > 0) throw new ConnectError('CONFIG_INVALID', refused.map(error => error.message).join('\n'));
  return { ...withPrefix(worker.raw, `${client}.`), ...withPrefix(connector, `${client}.override.`) };
}

/** Largest record batch that is built, before compression; a broker's default limit is 1,048,588 bytes. */
const defaultBatchBytes = 1_000_000;
const compressions: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
const defaultBufferBytes = 32 * 1024 * 1024;
/** Kafka's default of `max.request.size`, and that of the embedded broker. */
const defaultRequestBytes = { kafka: 1_048_576, embedded: 64 * 1024 * 1024 } as const;

export interface SourceProducerSettings {
  readonly options: ProducerOptions;
  readonly batchBytes: number;
  /** Bound for what is encoded and not yet acknowledged. */
  readonly bufferBytes: number;
  readonly maxRecordBytes: number;
}

/** `transactions`: for exactly-once delivery; overrides of transactional.id and enable.idempotence mean nothing then, as in Kafka Connect. */
export function sourceProducer(
  clientId: string,
  connector: Config,
  worker: WorkerConfig,
  transactions?: { readonly transactionalId: string; readonly defaultTimeoutMs: number },
): SourceProducerSettings {
  const {
    'client.id': ownClientId,
    'batch.size': batchSize,
    'buffer.memory': bufferMemory,
    'compression.type': compression,
    'enable.idempotence': idempotence,
    acks,
    'max.request.size': maxRequest,
    'delivery.timeout.ms': deliveryTimeout,
    'linger.ms': _lingerMs,
    ...settings
  } = settingsOf('producer', connector, worker);
  if (transactions !== undefined) {
    if (acks !== undefined && !['all', '-1'].includes(acks.trim().toLowerCase())) {
      throw new ConnectError(
        'CONFIG_INVALID',
        `Invalid value ${acks} for configuration acks of the producer: exactly-once delivery needs acks=all`,
      );
    }
    delete settings['transactional.id'];
  }
  const allAcks = ['all', '-1'].includes(oneOf('acks', acks ?? 'all', ['all', '-1', '0', '1']));
  const maxRequestBytes = maxRequest === undefined ? undefined : integer('max.request.size', maxRequest);
  return {
    options: {
      clientId: ownClientId ?? clientId,
      compression: oneOf('compression.type', compression ?? 'none', compressions),
      // Kafka has no idempotence without all acknowledgements.
      idempotent: transactions !== undefined || (idempotence === undefined ? allAcks : idempotence === 'true'),
      acks: allAcks ? -1 : acks === '1' ? 1 : 0,
      maxRequestBytes,
      deliveryTimeoutMs: deliveryTimeout === undefined ? undefined : integer('delivery.timeout.ms', deliveryTimeout),
      settings,
      ...(transactions !== undefined && {
        transactionalId: transactions.transactionalId,
        transactionTimeoutMs: transactions.defaultTimeoutMs,
      }),
    },
    batchBytes:
      batchSize === undefined
        ? Math.min(defaultBatchBytes, maxRequestBytes ?? defaultBatchBytes)
        : integer('batch.size', batchSize),
    bufferBytes: bufferMemory === undefined ? defaultBufferBytes : integer('buffer.memory', bufferMemory),
    maxRecordBytes: maxRequestBytes ?? defaultRequestBytes[worker.broker.kind],
  };
}

/** The group of a sink connector. */
export function sinkGroupId(name: string, connector: Config): string {
  return connector['consumer.override.group.id'] ?? `connect-${name}`;
}

export function sinkConsumer(
  name: string,
  task: number,
  connector: Config,
  worker: WorkerConfig,
): Omit<ConsumerOptions, 'onAssigned' | 'onRevoked'> {
  const {
    'client.id': clientId,
    'group.id': groupId,
    'auto.offset.reset': reset,
    'isolation.level': isolation,
    'fetch.max.bytes': maxBytes,
    'max.partition.fetch.bytes': maxPartitionBytes,
    'enable.auto.commit': _autoCommit,
    ...settings
  } = settingsOf('consumer', connector, worker);
  return {
    clientId: clientId ?? `connector-consumer-${name}-${task}`,
    groupId: groupId ?? sinkGroupId(name, connector),
    autoOffsetReset: oneOf('auto.offset.reset', reset ?? 'earliest', ['earliest', 'latest', 'none']),
    isolation: oneOf('isolation.level', isolation ?? 'read_uncommitted', ['read_uncommitted', 'read_committed']),
    maxBytes: maxBytes === undefined ? undefined : integer('fetch.max.bytes', maxBytes),
    maxPartitionBytes:
      maxPartitionBytes === undefined ? undefined : integer('max.partition.fetch.bytes', maxPartitionBytes),
    settings,
  };
}

function oneOf<const T extends string>(key: string, text: string, values: readonly T[]): T {
  const found = values.find(value => value === text.trim().toLowerCase());
  if (found !== undefined) return found;
  throw new ConnectError(
    'CONFIG_INVALID',
    `Invalid value ${text} for configuration ${key}: String must be one of: ${values.join(', ')}`,
  );
}

function integer(key: string, text: string): number {
  if (!/^-?\d+$/.test(text.trim())) {
    throw new ConnectError(
      'CONFIG_INVALID',
      `Invalid value ${text} for configuration ${key}: Not a number of type INT`,
    );
  }
  return Number(text);
}
