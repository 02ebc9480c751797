/** Where the stream stands: the last transaction that ended, and how much of the next one is done. Knows what was published before a restart. */
import type { Gtid, GtidSet } from '../protocol/gtid.ts';
import { parseGtidSet } from '../protocol/gtid.ts';
import type { LogPosition } from './position.ts';
import type { StopPoint } from './stopPoint.ts';

export class LogCursor {
  /** The file whose events come, and where the event at hand begins and ends in it. */
  file: string;
  eventStart = 0;
  eventEnd = 0;
  serverId: number;
  seconds: number;
  /** The transaction at hand; null = anonymous or none. */
  gtid: Gtid | null = null;
  isInTransaction = false;
  /** Of the last transaction that ended since the connection was made. */
  lastGtid: Gtid | null = null;
  private readonly gtids: GtidSet | null;
  private restartFile: string;
  private restartPosition: number;
  private events = 0;
  private resume: { readonly events: number; readonly rows: number; readonly gtid: string | null } | null;

  constructor(position: LogPosition, isMariaDb: boolean) {
    this.file = position.file;
    this.restartFile = position.file;
    this.restartPosition = position.position;
    this.gtids = position.gtids === null ? null : parseGtidSet(position.gtids, isMariaDb);
    this.serverId = position.serverId;
    this.seconds = position.seconds;
    const { events, rows, gtid } = position;
    this.resume = events > 0 ? { events, rows, gtid } : null;
  }

  get position(): LogPosition {
    const { resume } = this;
    return {
      file: this.restartFile,
      position: this.restartPosition,
      gtids: this.gtids?.toString() ?? null,
      events: resume?.events ?? this.events,
      rows: resume?.rows ?? 0,
      gtid: resume !== null ? resume.gtid : this.gtidText,
      serverId: this.serverId,
      seconds: this.seconds,
    };
  }

  get gtidText(): string | null {
    return gtidText(this.gtid);
  }

  /** Another file: between transactions it is where a restart begins. */
  rotate(file: string, position: number): void {
    this.file = file;
    this.eventEnd = position;
    if (this.isInTransaction || this.resume !== null) return;
    this.restartFile = file;
    this.restartPosition = position;
  }

  begin(gtid: Gtid | null): void {
    this.gtid = gtid;
    this.isInTransaction = true;
    this.events = 0;
    // Another server may have its transactions in another order.
    if (this.resume !== null && this.resume.gtid !== null && this.resume.gtid !== this.gtidText) this.resume = null;
    this.restartFile = this.file;
    this.restartPosition = this.eventStart;
  }

  /** An event of the transaction is done. */
  completeEvent(): void {
    if (!this.isInTransaction) return;
    this.events++;
    if (this.resume !== null && this.events > this.resume.events) this.resume = null;
  }

  end(): void {
    if (this.gtid !== null) {
      this.gtids?.add(this.gtid);
      this.lastGtid = this.gtid;
    }
    this.gtid = null;
    this.isInTransaction = false;
    this.events = 0;
    this.resume = null;
    this.restartFile = this.file;
    this.restartPosition = this.eventEnd;
  }

  /** Asked between transactions. */
  hasReached(stop: StopPoint): boolean {
    const { restartFile: file, restartPosition: position, gtids } = this;
    return !this.isInTransaction && stop.isReached({ file, position, gtids });
  }

  /** Rows of the event at hand that were published before. */
  get publishedRows(): number {
    const { resume } = this;
    if (resume === null || this.events > resume.events) return 0;
    return this.events < resume.events ? Number.POSITIVE_INFINITY : resume.rows;
  }
}

export const gtidText = (gtid: Gtid | null): string | null => (gtid === null ? null : `${gtid.prefix}${gtid.number}`);
