/** The batches that are being filled, one open per table: another version or transaction form, file or statement ends one. */
import type { SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { processingTime, type TransactionForm } from './envelope.ts';
import { StreamBatch } from './streamBatch.ts';
import type { TableVersion } from './tableVersion.ts';

const MOST_SPARE = 16;

/** How far the batches were filled at some point. */
export interface BatchMark {
  readonly takes: number;
  readonly counts: readonly number[];
}

export class EventBatches {
  private readonly common: BatchCommon;
  private readonly hasTransactions: boolean;
  private readonly open = new Map<string, StreamBatch>();
  private batches: StreamBatch[] = [];
  /** Those of the last take, whose records were published by the time the next begin. */
  private spare: StreamBatch[] = [];
  private lastVersion: TableVersion | null = null;
  private lastForm: TransactionForm | null = null;
  private last: StreamBatch | null = null;
  private file = '';
  private query: string | null = null;
  /** Bytes that were not received as they are read, laid behind the received ones. */
  private extra: Buffer[] = [];
  private extraBytes = 0;
  private takes = 0;

  constructor(common: BatchCommon, hasTransactions: boolean) {
    this.common = common;
    this.hasTransactions = hasTransactions;
  }

  /** File and statement are constants of a batch. */
  setPlace(file: string, query: string | null): void {
    if (file === this.file && query === this.query) return;
    this.file = file;
    this.query = query;
    this.closeAll();
  }

  /** The batch for a table's next record. */
  of(version: TableVersion, form: TransactionForm): StreamBatch {
    if (version === this.lastVersion && form === this.lastForm) return this.last!;
    const known = this.find(version, form);
    const batch = known !== null && !known.hasKeyChanges ? known : this.begin(version, form, true);
    this.lastVersion = version;
    this.lastForm = form;
    this.last = batch;
    return batch;
  }

  /** The batch for a record with headers of its own. */
  forKeyChange(version: TableVersion, form: TransactionForm): StreamBatch {
    const known = this.find(version, form);
    this.lastVersion = null;
    return known?.hasKeyChanges ? known : this.begin(version, form, true);
  }

  /** A batch for one record without key; the table's records go on in another one. */
  withoutKey(version: TableVersion, form: TransactionForm): StreamBatch {
    const batch = this.begin(version, form, false);
    this.open.delete(version.fullName);
    this.lastVersion = null;
    return batch;
  }

  private find(version: TableVersion, form: TransactionForm): StreamBatch | null {
    const known = this.open.get(version.fullName);
    return known?.version === version && known.layout === version.streamLayout(form) ? known : null;
  }

  private begin(version: TableVersion, form: TransactionForm, isKeyed: boolean): StreamBatch {
    const batch = this.spare.pop() ?? new StreamBatch(this.hasTransactions);
    batch.begin(version, version.streamLayout(form), isKeyed, this.file, this.query);
    this.batches.push(batch);
    this.open.set(version.fullName, batch);
    return batch;
  }

  private closeAll(): void {
    this.open.clear();
    this.lastVersion = null;
  }

  mark(): BatchMark {
    return { takes: this.takes, counts: this.batches.map(({ count }) => count) };
  }

  /** Takes back the records that were added since; false where some of them were given on. */
  rollBack({ takes, counts }: BatchMark): boolean {
    const isWhole = takes === this.takes;
    this.batches.forEach((batch, i) => {
      batch.truncate(isWhole ? (counts[i] ?? 0) : 0);
    });
    return isWhole;
  }

  /** Position of the first of bytes that were not received so, behind the `receivedBytes`. */
  addBytes(bytes: Buffer, receivedBytes: number): number {
    const position = receivedBytes + this.extraBytes;
    this.extra.push(bytes);
    this.extraBytes += bytes.length;
    return position;
  }

  /** `bytes` is what all positions point into. The batches hold until the next record is added. */
  take(bytes: Buffer): SourceBatch[] {
    const filled = this.batches.filter(batch => batch.count > 0);
    const all = this.extra.length === 0 || filled.length === 0 ? bytes : Buffer.concat([bytes, ...this.extra]);
    this.takes++;
    const now = processingTime();
    const batches = filled.map(batch => batch.finish(all, now, this.common));
    this.spare = this.batches.slice(0, MOST_SPARE).reverse();
    this.batches = [];
    this.closeAll();
    this.extra = [];
    this.extraBytes = 0;
    return batches;
  }
}
