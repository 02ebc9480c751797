/** The batches that are being filled, one open per relation: records with headers of their own, truncates and new origins end one. */
import { ConnectError, type SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { processingTime } from './envelope.ts';
import { StreamBatch } from './streamBatch.ts';
import type { TableVersion } from './tableVersion.ts';

const MOST_SPARE = 16;

export class EventBatches {
  private readonly common: BatchCommon;
  private readonly hasTransactions: boolean;
  /** Versions by relation; null = the table is not captured. */
  private readonly versions = new Map<number, TableVersion | null>();
  private readonly open = new Map<number, StreamBatch>();
  private batches: StreamBatch[] = [];
  /** Those of the last take, whose records were published by the time the next begin. */
  private spare: StreamBatch[] = [];
  private lastOid = -1;
  private last: StreamBatch | null = null;
  private origin: string | null = null;
  private originLsn: bigint | null = null;
  /** Tuples that are in no message, laid behind the received bytes. */
  private extra: Buffer[] = [];
  private extraBytes = 0;

  constructor(common: BatchCommon, hasTransactions: boolean) {
    this.common = common;
    this.hasTransactions = hasTransactions;
  }

  setVersion(oid: number, version: TableVersion | null): void {
    if (this.versions.get(oid) !== version) this.close(oid);
    this.versions.set(oid, version);
  }

  /** Null = the table is not captured. */
  version(oid: number): TableVersion | null {
    const version = this.versions.get(oid);
    if (version !== undefined) return version;
    throw new ConnectError('PG_PROTOCOL_INVALID', `pgoutput sent a change of relation ${oid} before its description.`);
  }

  /** The origin is a constant of a batch. */
  setOrigin(origin: string | null, originLsn: bigint | null): void {
    if (origin === null && this.origin === null) return;
    this.open.clear();
    this.lastOid = -1;
    this.origin = origin;
    this.originLsn = originLsn;
  }

  /** The batch for a relation's next record. */
  of(oid: number): StreamBatch | null {
    if (oid === this.lastOid) return this.last;
    const known = this.open.get(oid);
    const batch = known !== undefined && !known.hasKeyChanges ? known : this.begin(oid);
    this.lastOid = oid;
    this.last = batch;
    return batch;
  }

  /** The batch for a record with headers of its own. */
  forKeyChange(oid: number): StreamBatch {
    const known = this.open.get(oid);
    this.lastOid = -1;
    return known?.hasKeyChanges ? known : this.begin(oid)!;
  }

  /** A batch for one record without key; the relation's records go on in another one. */
  withoutKey(oid: number): StreamBatch | null {
    const version = this.versions.get(oid) ?? null;
    this.close(oid);
    return version === null ? null : this.add(version, false);
  }

  private begin(oid: number): StreamBatch | null {
    const version = this.version(oid);
    if (version === null) return null;
    const batch = this.add(version, true);
    this.open.set(oid, batch);
    return batch;
  }

  private add(version: TableVersion, isKeyed: boolean): StreamBatch {
    const batch = this.spare.pop() ?? new StreamBatch(this.hasTransactions);
    batch.begin(version, isKeyed, this.origin, this.originLsn);
    this.batches.push(batch);
    return batch;
  }

  private close(oid: number): void {
    this.open.delete(oid);
    this.lastOid = -1;
  }

  /** Position of a tuple that is in no message, of `receivedBytes` bytes. */
  addTuple(tuple: Buffer, receivedBytes: number): number {
    const position = receivedBytes + this.extraBytes;
    this.extra.push(tuple);
    this.extraBytes += tuple.length;
    return position;
  }

  /** `bytes` is what all positions point into. The batches hold until the next record is added. */
  take(bytes: Buffer): SourceBatch[] {
    if (this.batches.length === 0) return [];
    const all = this.extra.length === 0 ? bytes : Buffer.concat([bytes, ...this.extra]);
    const now = processingTime();
    const batches = this.batches.filter(batch => batch.count > 0).map(batch => batch.finish(all, now, this.common));
    this.spare = this.batches.slice(0, MOST_SPARE).reverse();
    this.batches = [];
    this.open.clear();
    this.lastOid = -1;
    this.extra = [];
    this.extraBytes = 0;
    return batches;
  }
}
