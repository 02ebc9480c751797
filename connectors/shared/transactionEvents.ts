/** provide.transaction.metadata: the order of changes in their transaction, and the BEGIN and END records of the transaction topic. */
import { type ConnectRecord, plainBatch, type SourceBatch, type SourcePartition } from '../../runtime/api/index.ts';
import { Struct } from '../../schemas/data/index.ts';
import { transactionCollection, transactionKey, transactionValue } from '../../schemas/envelope/debezium.ts';
import { topicName } from './eventNames.ts';

/** A batch whose records can tell their place in their transaction. */
export interface OrderedBatch {
  /** `fullName` is what END records count the changes under. */
  readonly version: { readonly fullName: string };
  setOrder(index: number, totalOrder: bigint, collectionOrder: bigint): void;
}

/** How far a transaction was counted at some point. */
export interface TransactionMark {
  readonly total: bigint;
  readonly counts: readonly (readonly [name: string, count: bigint])[];
  readonly records: number;
}

export class TransactionEvents {
  private readonly topic: string;
  private readonly sourcePartition: SourcePartition;
  private records: ConnectRecord[] = [];
  private id = '';
  private tsMs = 0n;
  private total = 0n;
  private readonly counts = new Map<string, bigint>();

  constructor(topic: string, sourcePartition: SourcePartition) {
    this.topic = topicName(topic);
    this.sourcePartition = sourcePartition;
  }

  begin(id: string): void {
    this.id = id;
    this.total = 0n;
    this.counts.clear();
  }

  /** Numbers a change; tombstones are none. The BEGIN record comes with the first, so that empty transactions leave no trace. */
  count(batch: OrderedBatch, index: number, tsMs: bigint): void {
    this.tsMs = tsMs;
    if (this.total === 0n) this.push('BEGIN', null, null);
    const name = batch.version.fullName;
    const inCollection = (this.counts.get(name) ?? 0n) + 1n;
    this.counts.set(name, inCollection);
    batch.setOrder(index, ++this.total, inCollection);
  }

  mark(): TransactionMark {
    return { total: this.total, counts: [...this.counts], records: this.records.length };
  }

  /** Takes back what was counted since, of which nothing was given on. */
  rollBack({ total, counts, records }: TransactionMark): void {
    this.total = total;
    this.counts.clear();
    for (const [name, count] of counts) this.counts.set(name, count);
    this.records.length = records;
  }

  end(): void {
    if (this.total === 0n) return;
    const collections = Array.from(this.counts, pair => new Struct(transactionCollection, pair));
    this.push('END', this.total, collections);
    this.total = 0n;
  }

  private push(status: string, count: bigint | null, collections: readonly Struct[] | null): void {
    this.records.push({
      topic: this.topic,
      partition: null,
      keySchema: transactionKey,
      key: new Struct(transactionKey, [this.id]),
      valueSchema: transactionValue,
      value: new Struct(transactionValue, [status, this.id, count, collections, this.tsMs]),
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
