/** How a source connector wants its transactions: `transaction.boundary`, and how long one may take. */
import { type Config, ConnectError, configDef } from '../../api/index.ts';
import { sourceConnectorDef } from '../../config/connectorKeys.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import { parsed } from '../parsed.ts';

export interface TransactionSettings {
  readonly boundary: 'poll' | 'interval' | 'connector';
  /** Of boundary=interval. */
  readonly intervalMs: number;
  /** `transaction.timeout.ms` where neither worker nor connector set it. */
  readonly defaultTimeoutMs: number;
}

const { 'transaction.boundary': boundary, 'transaction.boundary.interval.ms': interval } = sourceConnectorDef.keys;
const keys = configDef({ 'transaction.boundary': boundary, 'transaction.boundary.interval.ms': interval });

/** Kafka's own default. */
const timeoutMs = 60_000;

export function transactionSettings(
  connector: Config,
  worker: Pick<WorkerConfig, 'offset.flush.interval.ms' | 'raw'>,
): TransactionSettings {
  const values = parsed(keys, connector);
  const intervalMs = values['transaction.boundary.interval.ms'] ?? worker['offset.flush.interval.ms'];
  const settings = {
    boundary: values['transaction.boundary'] as TransactionSettings['boundary'],
    intervalMs,
    defaultTimeoutMs: timeoutMs,
  };
  if (settings.boundary !== 'interval') return settings;
  const given = connector['producer.override.transaction.timeout.ms'] ?? worker.raw['producer.transaction.timeout.ms'];
  if (given !== undefined && Number(given) <= intervalMs) {
    throw new ConnectError(
      'CONFIG_INVALID',
      `transaction.timeout.ms=${given} of the producer must be above transaction.boundary.interval.ms=${intervalMs}, or the broker ends each transaction before its time`,
    );
  }
  // A transaction of the default interval takes as long as the default timeout allows at all.
  return { ...settings, defaultTimeoutMs: Math.max(timeoutMs, 2 * intervalMs) };
}

/** Of a task's producer, as in Kafka Connect. */
export function taskTransactionalId(groupId: string, connector: string, task: number): string {
  return `${groupId}-${connector}-${task}`;
}
