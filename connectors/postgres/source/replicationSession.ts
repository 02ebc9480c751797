/** One replication connection while it streams: starts it, tells the server at intervals what is safe, gives bytes. */
import type pg from 'pg';
import { ConnectError } from '../../../runtime/api/index.ts';
import type { RawStream } from '../../shared/rawStream.ts';
import type { SourceSettings } from '../config.ts';
import { quoteName } from './connection.ts';
import { formatLsn } from './lsn.ts';
import { missingBytes, sendQuery, takeStream } from './rawConnection.ts';

const LONGEST_SILENCE_MS = 60_000;
/**
 * PostgreSQL 16 and later at times miss what is committed just when they go to sleep, having sent what was before it: they send it when something
 * else wakes them, a message of ours or the next commit. So they are woken soon after the last bytes, and now and then while it is quiet.
 */
const FIRST_WAKE_MS = 50;
const LATER_WAKE_MS = 1000;
const MICROS_TO_2000 = 946_684_800_000_000n;

export class ReplicationSession {
  private readonly stream: RawStream;
  private readonly timer: NodeJS.Timeout;
  private waker: NodeJS.Timeout | undefined;
  /** Everything committed before it is safe in the topics; the server may forget it. */
  flushed = 0n;
  written = 0n;

  /** `options`: what the plug-in is asked for. */
  constructor(client: pg.Client, settings: SourceSettings, start: bigint, options: readonly string[]) {
    this.stream = takeStream(client, true);
    sendQuery(
      this.stream,
      `START_REPLICATION SLOT ${quoteName(settings.slot.name)} LOGICAL ${formatLsn(start)} (${options.join(', ')})`,
    );
    this.timer = setInterval(() => this.tick(settings.statusIntervalMs), settings.statusIntervalMs);
    this.timer.unref();
    this.wakeAfter(FIRST_WAKE_MS);
  }

  async read(rest: Buffer, timeoutMs: number, gatherMs: number, signal: AbortSignal): Promise<Buffer | null> {
    const bytes = await this.stream.read(rest, missingBytes(rest, 0), timeoutMs, gatherMs, signal);
    if (bytes !== null) this.wakeAfter(FIRST_WAKE_MS);
    return bytes;
  }

  private wakeAfter(ms: number): void {
    clearTimeout(this.waker);
    const wake = (): void => {
      this.sendStatus();
      this.wakeAfter(LATER_WAKE_MS);
    };
    this.waker = setTimeout(wake, ms).unref();
  }

  /** A server that is gone without a word is asked, and given up when it does not answer. */
  private tick(intervalMs: number): void {
    const { silentMs } = this.stream;
    if (silentMs > Math.max(LONGEST_SILENCE_MS, 3 * intervalMs)) {
      this.stream.fail(
        new ConnectError('PG_UNREACHABLE', `the server has been silent for ${silentMs} ms`, { retriable: true }),
      );
      return;
    }
    this.sendStatus(silentMs > intervalMs);
  }

  /** 'd' int32 length 'r' int64 written, int64 flushed, int64 applied, int64 time, byte reply-now. */
  sendStatus(isReplyWanted = false): void {
    const message = Buffer.alloc(39);
    message[0] = 0x64;
    message.writeInt32BE(38, 1);
    message[5] = 0x72;
    const isAhead = this.written > this.flushed;
    message.writeBigUInt64BE(isAhead ? this.written : this.flushed, 6);
    message.writeBigUInt64BE(this.flushed, 14);
    message.writeBigUInt64BE(this.flushed, 22);
    message.writeBigInt64BE(BigInt(Date.now()) * 1000n - MICROS_TO_2000, 30);
    message[38] = isReplyWanted ? 1 : 0;
    this.stream.write(message);
  }

  /** Copy done and terminate: the server frees the slot at once. */
  close(): void {
    clearInterval(this.timer);
    clearTimeout(this.waker);
    this.stream.end(Buffer.from([0x63, 0, 0, 0, 4, 0x58, 0, 0, 0, 4]));
  }
}
