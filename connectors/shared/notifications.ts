/** How snapshots go, told to a topic and to the log, in Debezium's shapes. What is told goes with the next batches and does not carry an offset. */
import { randomUUID } from 'node:crypto';
import { type Logger, plainBatch, type SourceBatch, type SourcePartition } from '../../runtime/api/index.ts';
import { Struct } from '../../schemas/data/index.ts';
import { notificationKey, notificationValue } from '../../schemas/envelope/debezium.ts';
import { topicName } from './eventNames.ts';
import type { NotificationSettings } from './signalKeys.ts';

export type NotificationType =
  | 'STARTED'
  | 'IN_PROGRESS'
  | 'TABLE_SCAN_COMPLETED'
  | 'PAUSED'
  | 'RESUMED'
  | 'ABORTED'
  | 'SKIPPED'
  | 'COMPLETED';

export interface Notification {
  readonly aggregate: 'Initial Snapshot' | 'Incremental Snapshot';
  readonly type: NotificationType;
  /** Id of the signal; by default one of its own. */
  readonly id?: string | null;
  readonly data?: Readonly<Record<string, string>>;
}

export class Notifications {
  readonly #settings: NotificationSettings;
  readonly #prefix: string;
  readonly #sourcePartition: SourcePartition;
  readonly #logger: Logger;
  #waiting: SourceBatch[] = [];

  constructor(settings: NotificationSettings, prefix: string, sourcePartition: SourcePartition, logger: Logger) {
    this.#settings = settings;
    this.#prefix = prefix;
    this.#sourcePartition = sourcePartition;
    this.#logger = logger;
  }

  tell({ aggregate, type, id, data }: Notification): void {
    const { topic, isLogged } = this.#settings;
    if (topic === null && !isLogged) return;
    const additional = { ...data, connector_name: this.#prefix };
    const ownId = id ?? randomUUID();
    if (isLogged) this.#logger.info({ id: ownId, aggregate_type: aggregate, type, ...additional }, 'notification');
    if (topic === null) return;
    const now = BigInt(Date.now());
    const value = [ownId, type, aggregate, new Map(Object.entries(additional)), now];
    const record = {
      topic: topicName(topic),
      partition: null,
      keySchema: notificationKey,
      key: new Struct(notificationKey, [ownId]),
      valueSchema: notificationValue,
      value: new Struct(notificationValue, value),
      timestamp: null,
      headers: [],
    };
    this.#waiting.push(plainBatch({ records: [record], sourcePartition: this.#sourcePartition, sourceOffset: null }));
  }

  /** What was told since the last call. */
  take(): readonly SourceBatch[] {
    if (this.#waiting.length === 0) return [];
    const batches = this.#waiting;
    this.#waiting = [];
    return batches;
  }
}
