/** Events of one table version in typed arrays, with what MySQL says of a change: server, GTID, position in the log. */
import type { SourceBatch } from '../../../runtime/api/index.ts';
import type { Layout } from '../../../schemas/transcode/layout.ts';
import { ChangeColumns, LOW, widened } from '../../shared/changeColumns.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { LONG } from './envelope.ts';
import type { TableVersion } from './tableVersion.ts';

/** What the changes of one event have in common; made once an event, so that no integer is made for a record. */
export interface EventLongs {
  readonly tsMs: bigint;
  readonly tsUs: bigint;
  readonly tsNs: bigint;
  readonly serverId: bigint;
  /** Number in the GTID, or where there is none, the position of the transaction. */
  readonly gtidNumber: bigint;
  readonly thread: bigint;
  readonly position: bigint;
}

export class StreamBatch extends ChangeColumns<TableVersion> {
  layout!: Layout;
  private file = '';
  private query: string | null = null;
  private rowHalves!: Int32Array;
  private groups!: Int32Array;
  private groupCount = 0;
  private lastEvent: EventLongs | null = null;

  constructor(hasTransactions: boolean) {
    super();
    this.open(hasTransactions ? LONG.collectionOrder + 1 : LONG.row + 1);
  }

  begin(version: TableVersion, layout: Layout, isKeyed: boolean, file: string, query: string | null): void {
    this.restart(version, isKeyed);
    this.groupCount = 0;
    this.lastEvent = null;
    this.layout = layout;
    this.file = file;
    this.query = query;
  }

  /** Positions are -1 where there is no such row. */
  add(
    op: number,
    before: number,
    after: number,
    key: number,
    row: number,
    event: EventLongs,
    isTombstone: boolean,
  ): number {
    const i = this.append(op, before, after, key, isTombstone);
    if (event !== this.lastEvent) this.beginGroup(event);
    this.groups[i] = this.groupCount - 1;
    this.rowHalves[2 * i + LOW] = row;
    return i;
  }

  private beginGroup(event: EventLongs): void {
    const { longs } = this;
    const group = this.groupCount++;
    this.lastEvent = event;
    longs[LONG.tsMs]![group] = event.tsMs;
    longs[LONG.tsUs]![group] = event.tsUs;
    longs[LONG.tsNs]![group] = event.tsNs;
    longs[LONG.serverId]![group] = event.serverId;
    longs[LONG.gtidNumber]![group] = event.gtidNumber;
    longs[LONG.thread]![group] = event.thread;
    longs[LONG.position]![group] = event.position;
  }

  override truncate(count: number): void {
    super.truncate(count);
    // Without records of theirs there is no room for what groups share.
    this.groupCount = this.count === 0 ? 0 : this.groups[this.count - 1]! + 1;
    this.lastEvent = null;
  }

  setOrder(index: number, totalOrder: bigint, collectionOrder: bigint): void {
    this.longs[LONG.totalOrder]![index] = totalOrder;
    this.longs[LONG.collectionOrder]![index] = collectionOrder;
  }

  protected override resize(capacity: number, longCount: number): void {
    super.resize(capacity, longCount);
    this.groups = widened(this.groups, new Int32Array(capacity));
    this.rowHalves = new Int32Array(this.longs[LONG.row]!.buffer);
  }

  /** `bytes` is where the positions point into. The batch holds until `begin`. */
  finish(bytes: Buffer, now: readonly bigint[], common: BatchCommon): SourceBatch {
    return this.batch(bytes, this.layout, [this.op], [...now, this.file, this.query], common, this.groups);
  }
}
