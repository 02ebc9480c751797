/** provide.transaction.metadata: the order of changes in their transaction, and the BEGIN and END records of the transaction topic. */
import { type ConnectRecord, plainBatch, type SourceBatch, type SourcePartition } from '../../../runtime/api/index.ts';
import { Struct } from '../../../schemas/data/index.ts';
import {
  transactionBlock,
  transactionCollection,
  transactionKey,
  transactionValue,
} from '../../../schemas/envelope/debezium.ts';
import { topicName } from '../../shared/eventNames.ts';
import type { SourceSettings } from '../config.ts';
import type { StreamBatch, TransactionLongs } from './streamBatch.ts';

/** What Debezium counts logical messages as, beside the tables. */
const MESSAGES = 'LOGICAL_DECODING_MESSAGE';

export class TransactionEvents {
  private readonly topic: string;
  private readonly sourcePartition: SourcePartition;
  private records: ConnectRecord[] = [];
  private current: TransactionLongs | null = null;
  private beginId = '';
  private isOpen = false;
  private total = 0n;
  private readonly counts = new Map<string, bigint>();

  constructor(settings: SourceSettings, sourcePartition: SourcePartition) {
    this.topic = topicName(settings.transactionTopic);
    this.sourcePartition = sourcePartition;
  }

  begin(longs: TransactionLongs, lsnHigh: number, lsnLow: number): void {
    this.current = longs;
    this.beginId = idOf(longs, lsnHigh, lsnLow);
    this.isOpen = false;
    this.total = 0n;
    this.counts.clear();
  }

  /** Numbers a change; tombstones are none. */
  count(batch: StreamBatch, index: number): void {
    const inCollection = this.next(batch.version.fullName);
    batch.setOrder(index, this.total, inCollection);
  }

  /** Numbers a logical message of the transaction; gives the block of its event. */
  message(lsnHigh: number, lsnLow: number): Struct {
    const inCollection = this.next(MESSAGES);
    return new Struct(transactionBlock, [idOf(this.current!, lsnHigh, lsnLow), this.total, inCollection]);
  }

  /** The BEGIN record comes with the first event, so that empty transactions leave no trace. */
  private next(name: string): bigint {
    if (!this.isOpen) {
      this.isOpen = true;
      this.push('BEGIN', this.beginId, null, null);
    }
    const inCollection = (this.counts.get(name) ?? 0n) + 1n;
    this.counts.set(name, inCollection);
    this.total++;
    return inCollection;
  }

  end(lsnHigh: number, lsnLow: number): void {
    if (!this.isOpen || this.current === null) return;
    const collections = Array.from(this.counts, pair => new Struct(transactionCollection, pair));
    this.push('END', idOf(this.current, lsnHigh, lsnLow), this.total, collections);
    this.isOpen = false;
  }

  private push(status: string, id: string, count: bigint | null, collections: readonly Struct[] | null): void {
    this.records.push({
      topic: this.topic,
      partition: null,
      keySchema: transactionKey,
      key: new Struct(transactionKey, [id]),
      valueSchema: transactionValue,
      value: new Struct(transactionValue, [status, id, count, collections, this.current!.tsMs]),
      timestamp: null,
      headers: [],
    });
  }

  take(): SourceBatch[] {
    if (this.records.length === 0) return [];
    const records = this.records;
    this.records = [];
    return [plainBatch({ records, sourcePartition: this.sourcePartition, sourceOffset: null })];
  }
}

const idOf = (longs: TransactionLongs, lsnHigh: number, lsnLow: number): string =>
  `${longs.txId}:${(BigInt(lsnHigh >>> 0) << 32n) | BigInt(lsnLow >>> 0)}`;
