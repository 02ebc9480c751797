/**
 * Turns the packets of a binary log stream into events: checks their framing and checksums, unpacks compressed transactions, keeps the place in the log.
 * Stops at a table that there is no version of, for the stream to look it up; stops for good at what cannot be read.
 */
import { ConnectError, type Logger, type SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { TransactionEvents } from '../../shared/transactionEvents.ts';
import type { SourceSettings } from '../config.ts';
import { checksum } from '../protocol/checksum.ts';
import { ARTIFICIAL_FLAG, CHECKSUM_BYTES, EVENT_HEADER_BYTES, EventType } from '../protocol/eventTypes.ts';
import { PacketReader } from '../protocol/packetReader.ts';
import { PayloadReader } from '../protocol/transactionPayload.ts';
import { EventBatches } from './eventBatches.ts';
import { gtidText, LogCursor } from './logCursor.ts';
import { LogEvents } from './logEvents.ts';
import type { LogPosition } from './position.ts';
import { RowEvents } from './rowEvents.ts';
import type { LoggedStatement } from './schemaChanges.ts';
import { streamError } from './streamError.ts';
import { TransactionScope } from './transactionScope.ts';

const EMPTY = Buffer.alloc(0);

/** Where a walk stopped: all whole packets read, enough events for a batch, or something to be looked up: a table, or what a statement defines. */
export type Stop = 'end' | 'full' | 'lookup';

export interface SeenLog {
  readonly file: string;
  /** End of the last event. */
  readonly position: number;
  readonly gtid: string | null;
  readonly serverId: number;
}

export interface DecoderOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly isCaptured: (database: string, table: string) => boolean;
  /** Whether events carry a CRC-32. */
  readonly hasChecksum: boolean;
  /** Whether statements that define tables are of interest. */
  readonly readsDefinitions: boolean;
  readonly logger: Logger;
}

export class BinlogDecoder {
  readonly rows: RowEvents;
  private definitions: SourceBatch[] = [];
  /** After a stop at the end: bytes without which there is no further packet. */
  missing = 1;
  private readonly options: DecoderOptions;
  private readonly events: LogEvents;
  private readonly cursor: LogCursor;
  private readonly batches: EventBatches;
  private readonly transactions: TransactionEvents | null;
  private readonly packet = new PacketReader();
  private hasChecksum: boolean;
  /** The events of a compressed transaction that is being read, where in them the walk stands, and where they will lie in the batch's bytes. */
  private payload: { reader: PayloadReader; bytes: Buffer; at: number; base: number } | null = null;

  constructor(options: DecoderOptions, position: LogPosition) {
    const { settings, common, isCaptured, readsDefinitions, logger } = options;
    const { transactionMetadata } = settings;
    const isMariaDb = settings.connector === 'mariadb';
    this.options = options;
    this.hasChecksum = options.hasChecksum;
    this.cursor = new LogCursor(position, isMariaDb);
    this.batches = new EventBatches(common, transactionMetadata);
    this.transactions = transactionMetadata
      ? new TransactionEvents(settings.transactionTopic, common.sourcePartition)
      : null;
    const { cursor, batches, transactions } = this;
    const scope = new TransactionScope(cursor, isMariaDb, transactionMetadata);
    const parts = { settings, isCaptured, cursor, scope, batches, transactions };
    this.rows = new RowEvents(parts);
    this.events = new LogEvents({ ...parts, readsDefinitions, rows: this.rows, logger });
  }

  get position(): LogPosition {
    return this.cursor.position;
  }

  /** How much of the log has been walked through. */
  get seen(): SeenLog {
    const { cursor, payload } = this;
    return {
      file: cursor.file,
      position: payload === null ? cursor.eventEnd : cursor.eventStart,
      gtid: gtidText(cursor.lastGtid),
      serverId: cursor.serverId,
    };
  }

  walk(bytes: Buffer, from: number): { readonly next: number; readonly stop: Stop } {
    this.rows.receivedBytes = bytes.length;
    const { packet } = this;
    let p = from;
    try {
      for (;;) {
        if (this.isStopped) return { next: p, stop: 'end' };
        if (this.payload !== null && !this.walkPayload()) return { next: p, stop: this.stop };
        if (this.rows.count >= this.options.settings.maxBatchSize) return { next: p, stop: 'full' };
        if (!packet.read(bytes, p)) {
          this.missing = packet.missing;
          return { next: p, stop: 'end' };
        }
        p = packet.next;
        const { start, end } = packet;
        if (bytes[start] !== 0) throw streamError(bytes, start, end);
        this.event(bytes, start + 1, end);
        if (this.isPending) return { next: p, stop: 'lookup' };
      }
    } catch (error) {
      throw this.located(error);
    }
  }

  /** Set after a stop at a statement that defines tables. */
  get definition(): LoggedStatement | null {
    return this.events.definition;
  }

  private get stop(): Stop {
    return this.isPending ? 'lookup' : 'full';
  }

  private get isPending(): boolean {
    return this.rows.isPending || this.definition !== null;
  }

  /** Gives what is published of the statement at which the walk stopped. */
  addDefinition(batches: readonly SourceBatch[]): void {
    this.events.definition = null;
    this.definitions.push(...batches);
  }

  private located(error: unknown): unknown {
    const { file, eventStart } = this.cursor;
    const position = `${file}:${eventStart}${this.cursor.gtid === null ? '' : ` in ${this.cursor.gtidText}`}`;
    if (error instanceof ConnectError) return error.at({ position });
    if (!(error instanceof RangeError)) return error;
    return new ConnectError('MYSQL_EVENT_DAMAGED', `An event of the log is malformed: ${error.message}.`, {
      cause: error,
      place: { position },
    });
  }

  /** True when all events of the compressed transaction are done. */
  private walkPayload(): boolean {
    const payload = this.payload!;
    for (;;) {
      const { bytes } = payload;
      while (payload.at + EVENT_HEADER_BYTES <= bytes.length) {
        if (this.rows.count >= this.options.settings.maxBatchSize) return false;
        const end = payload.at + bytes.readUInt32LE(payload.at + 9);
        if (end > bytes.length) break;
        if (payload.base < 0) payload.base = this.batches.addBytes(bytes, this.rows.receivedBytes);
        const start = payload.at;
        payload.at = end;
        // Events in here have neither checksum nor position of their own.
        this.events.dispatch(bytes, start, end, payload.base);
        if (this.isPending) return false;
      }
      const next = payload.reader.next(bytes.subarray(payload.at));
      if (next === null) {
        this.payload = null;
        return true;
      }
      payload.bytes = next;
      payload.at = 0;
      payload.base = -1;
    }
  }

  /** The batches of what was walked through; `bytes` must be what `walk` was given. */
  takeBatches(bytes: Buffer): SourceBatch[] {
    this.rows.count = 0;
    const batches = this.batches.take(bytes);
    if (this.payload !== null) this.payload.base = -1;
    if (this.transactions !== null) batches.push(...this.transactions.take());
    batches.push(...this.definitions);
    this.definitions = [];
    return batches;
  }

  /** Header: seconds, type, server id, length, position of the next event, flags. */
  private event(bytes: Buffer, p: number, end: number): void {
    if (p + EVENT_HEADER_BYTES > end || bytes.readUInt32LE(p + 9) !== end - p) {
      throw new RangeError(`its length is not that of its packet`);
    }
    const { cursor } = this;
    const next = bytes.readUInt32LE(p + 13);
    const isArtificial = (bytes.readUInt16LE(p + 17) & ARTIFICIAL_FLAG) !== 0;
    if (next !== 0 && !isArtificial) {
      cursor.eventEnd = next;
      cursor.eventStart = next - (end - p);
    }
    const type = bytes[p + 4]!;
    if (type === EventType.formatDescription) {
      // The last byte before the checksum, which this event always has, tells whether the others have one.
      this.hasChecksum = bytes[end - CHECKSUM_BYTES - 1] === 1;
      this.rows.forgetTables();
      return;
    }
    if (this.hasChecksum) {
      const expected = bytes.readUInt32LE(end - CHECKSUM_BYTES);
      if (checksum(bytes, p, end - CHECKSUM_BYTES) !== expected) {
        throw new ConnectError('MYSQL_EVENT_DAMAGED', 'An event of the log does not have its checksum.');
      }
    }
    const bodyEnd = this.hasChecksum ? end - CHECKSUM_BYTES : end;
    if (type === EventType.transactionPayload) {
      const reader = new PayloadReader(bytes, p + EVENT_HEADER_BYTES, bodyEnd);
      this.payload = { reader, bytes: EMPTY, at: 0, base: -1 };
      return;
    }
    this.events.dispatch(bytes, p, bodyEnd, 0);
  }

  /** Whether nothing more is to be published: stop.at is reached. */
  get isStopped(): boolean {
    const { stopAt } = this.options.settings;
    return stopAt !== null && this.cursor.hasReached(stopAt);
  }
}
