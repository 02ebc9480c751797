/**
 * The stream of changes over however many connections it takes: decodes what arrives, describes relations, connects again with back-off where the
 * connection is lost, goes over to text where a column has no binary reader, tells the server what is committed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { ConnectError, type Logger, type SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { connect, isConnectionLoss, sourceError, sqlState } from './connection.ts';
import { HeldTransactions, NeedsCommitted } from './heldTransactions.ts';
import { formatLsn } from './lsn.ts';
import { readMissing } from './missingValues.ts';
import { PgOutputDecoder, RECENT_TRANSACTIONS } from './pgoutput.ts';
import { MODERN_SINCE, pluginOptions } from './pluginOptions.ts';
import type { StreamPosition } from './position.ts';
import { type Relation, readRelation } from './relation.ts';
import type { RelationVersions } from './relations.ts';
import { ReplicationSession } from './replicationSession.ts';
import { readSlot, slotAhead } from './server.ts';
import { isDecodingFailure } from './streamError.ts';
import { NeedsTextForm } from './tableVersion.ts';
import type { TransactionReplay } from './transactionReplay.ts';

const FIRST_RETRY_MS = 200;
/** The server takes a moment to let go of the slot when a connection ends. */
const OWN_END_MS = 2000;
const OWN_END_WAIT_MS = 20;
/** While data keeps coming, a few ms gather more of it: each batch has a price of its own here and in the worker. The first after a rest goes at once. */
const BUSY_MS = 5;
const GATHER_MS = 3;
/** For so long bytes that give no events, such as those of open transactions, are followed by the next: a poll without records is followed by a rest. */
const SLICE_MS = 50;
const EMPTY = Buffer.alloc(0);

export interface StreamOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly versions: RelationVersions;
  readonly serverVersion: number;
  /** Up to where the server may have been told before that it need not keep the log; null = not known. */
  readonly flushed: bigint | null;
}

export class ChangeStream {
  private readonly options: StreamOptions;
  private isBinary: boolean;
  private isStreaming: boolean;
  private readonly isTwoPhase: boolean;
  private session: ReplicationSession | null = null;
  private catalog: pg.Client | null = null;
  private decoder: PgOutputDecoder;
  /** Received bytes, where the walk stands in them, and whether whole messages are left there. */
  private bytes: Buffer = EMPTY;
  private at = 0;
  private isFull = false;
  private readonly held: HeldTransactions;
  /** A transaction that was held and is committed: its messages come next, before the received ones that are left. */
  private replay: { readonly transaction: TransactionReplay; readonly bytes: Buffer; readonly at: number } | null =
    null;
  /** Met while there were batches to hand out first. */
  private failure: { readonly error: unknown } | null = null;
  private busyUntil = 0;
  private hasReceived = false;
  private attempts = 0;
  /** When this connector ended its last connection. */
  private closedMs = Number.NEGATIVE_INFINITY;
  private confirmed = 0n;
  /** Ids of the transactions that came last. */
  readonly recent = new Uint32Array(RECENT_TRANSACTIONS);

  constructor(options: StreamOptions, position: StreamPosition) {
    this.options = options;
    this.isBinary = options.serverVersion >= MODERN_SINCE;
    this.isStreaming = options.settings.streaming.isOn && this.isBinary;
    this.isTwoPhase = options.settings.slot.isTwoPhase;
    this.held = new HeldTransactions(options.settings.streaming.bufferBytes, options.settings.messagePrefixes);
    this.decoder = this.newDecoder(position);
  }

  get position(): StreamPosition {
    return this.decoder.position;
  }

  /** What came by now; waits at most `timeoutMs` for some. Throws when the connection stays lost, or for what cannot be decoded. */
  async next(timeoutMs: number): Promise<SourceBatch[]> {
    try {
      if (this.failure !== null) {
        const { error } = this.failure;
        this.failure = null;
        throw error;
      }
      this.session ??= await this.openSession();
      const sliceEndMs = performance.now() + SLICE_MS;
      for (;;) {
        const batches = await this.receive(this.session, timeoutMs);
        const isOver = !this.hasReceived || this.isFull || this.failure !== null || performance.now() > sliceEndMs;
        if (batches.length > 0 || isOver) return batches;
      }
    } catch (error) {
      await this.recover(error);
      return [];
    }
  }

  private async receive(session: ReplicationSession, timeoutMs: number): Promise<SourceBatch[]> {
    if (this.isFull) {
      // What was received or replayed is not walked to its end.
    } else if (this.replay !== null) {
      await this.readReplay(this.replay);
    } else {
      const gatherMs = performance.now() < this.busyUntil ? GATHER_MS : 0;
      const more = await session.read(this.bytes.subarray(this.at), timeoutMs, gatherMs, this.options.signal);
      this.hasReceived = more !== null;
      if (more === null) return [];
      this.busyUntil = performance.now() + BUSY_MS;
      this.bytes = more;
      this.at = 0;
    }
    const start = this.decoder.position;
    try {
      await this.walk();
    } catch (error) {
      this.failure = { error };
    }
    await this.completeRows(start);
    if (this.failure === null) this.attempts = 0;
    session.flushed = this.confirmed;
    session.written = this.decoder.walEnd;
    if (this.decoder.isReplyRequested) {
      this.decoder.isReplyRequested = false;
      session.sendStatus();
    }
    return this.decoder.takeBatches(this.bytes);
  }

  /** Goes over to the messages of the transaction that was held, on to the next ones of it, or back. */
  private async readReplay(replay: NonNullable<typeof this.replay>): Promise<void> {
    const isBegun = this.bytes !== replay.bytes;
    const piece = await replay.transaction.next(isBegun ? this.bytes.subarray(this.at) : EMPTY);
    if (piece === null) {
      this.replay = null;
      this.bytes = replay.bytes;
      this.at = replay.at;
      await replay.transaction.close();
      return;
    }
    this.bytes = piece;
    this.at = 0;
  }

  private async walk(): Promise<void> {
    for (;;) {
      if (this.held.isInSegment && this.replay === null && !(await this.hold())) return;
      const { next, stop } = this.decoder.walk(this.bytes, this.at);
      this.at = next;
      this.isFull = stop === 'full' || stop === 'mark';
      if (stop === 'streamed') {
        if (await this.hold()) continue;
        return;
      }
      if (stop !== 'relation') return;
      await this.describe(this.decoder.relation!);
    }
  }

  private async describe(relation: Relation): Promise<void> {
    this.catalog ??= await connect(this.options.settings, 'catalog');
    const form = this.isBinary ? 'binary' : 'text';
    this.decoder.setVersion(relation.oid, await this.options.versions.resolve(this.catalog, relation, form));
  }

  /** Keeps what is of open transactions; false where the walk has to end: at the end of the bytes, or because a transaction that was held comes next. */
  private async hold(): Promise<boolean> {
    const { next, replay } = await this.held.take(this.bytes, this.at, this.decoder.control);
    this.at = next;
    for (const message of this.held.described.splice(0)) {
      const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
      await this.describe(readRelation(message, view, 0));
    }
    if (replay !== null) this.replay = { transaction: replay, bytes: this.bytes, at: next };
    return replay === null && !this.held.isInSegment;
  }

  /** Where values cannot be read, nothing of what was walked is handed out: the stream begins again at `start`. */
  private async completeRows(start: StreamPosition): Promise<void> {
    const rows = this.decoder.incompleteRows;
    if (rows.length === 0) return;
    const { settings, logger, signal } = this.options;
    try {
      this.catalog ??= await connect(settings, 'catalog');
      this.decoder.setRows(await readMissing(this.catalog, rows, logger, signal), this.bytes);
    } catch (error) {
      this.failure = null;
      this.decoder = this.newDecoder(start);
      throw error;
    }
  }

  private async openSession(): Promise<ReplicationSession> {
    const { settings } = this.options;
    const { position } = this.decoder;
    this.catalog ??= await connect(settings, 'catalog');
    const slot = await readSlot(this.catalog, settings.slot.name);
    if (slot === null) {
      throw new ConnectError(
        'PG_SLOT_MISSING',
        `The slot "${settings.slot.name}" does not exist any more: changes made since it was dropped cannot be read. Reset the offsets of the connector to read all rows again, or use snapshot.mode=when_needed.`,
      );
    }
    if (slot.walStatus === 'lost') {
      throw new ConnectError(
        'PG_SLOT_LOST',
        `The server removed WAL that the slot "${settings.slot.name}" needs. Raise max_slot_wal_keep_size, drop the slot and reset the offsets of the connector, or use snapshot.mode=when_needed.`,
      );
    }
    const { flushed } = this.options;
    const ahead = slotAhead(settings.slot.name, slot, flushed);
    if (ahead !== null && slot.confirmedFlush! > this.confirmed) throw new ConnectError('PG_SLOT_AHEAD', ahead);
    if (slot.activePid !== null) {
      throw new ConnectError(
        'PG_SLOT_ACTIVE',
        `The slot "${settings.slot.name}" is in use by process ${slot.activePid} of the server. Give each connector its own slot.name.`,
        { retriable: true },
      );
    }
    this.decoder = this.newDecoder(position);
    await this.forgetHeld();
    const published = position.lastCommit ?? 0n;
    if (this.isTwoPhase) {
      // What is prepared and not published comes again only to those who start before it: from where the server was told to keep it.
      this.decoder.publishedBefore = published;
      this.held.publishedBefore = published;
    }
    this.bytes = EMPTY;
    this.at = 0;
    this.isFull = false;
    const client = await connect(settings, 'stream', { replication: true, isRaw: true });
    const session = new ReplicationSession(
      client,
      settings,
      this.isTwoPhase ? 0n : published,
      pluginOptions(settings, this.options.serverVersion, this.isBinary, this.isStreaming),
    );
    session.flushed = this.confirmed;
    return session;
  }

  private newDecoder(position: StreamPosition): PgOutputDecoder {
    const { settings, common } = this.options;
    return new PgOutputDecoder(settings, common, position, this.recent);
  }

  /** Returns after a wait where another connection may help; throws otherwise. The position is that of the last event handed out. */
  private async recover(error: unknown): Promise<void> {
    const { settings, logger, signal } = this.options;
    this.closeSession();
    if (signal.aborted) return;
    if (error instanceof NeedsTextForm) {
      this.isBinary = false;
      logger.info({ column: error.message }, 'a column has no binary form here: the stream goes on in text form');
      return;
    }
    if (this.isStreaming && (error instanceof NeedsCommitted || isDecodingFailure(error))) {
      this.isStreaming = false;
      logger.info(
        { reason: String(error) },
        'what the server sends of open transactions is not enough: until the next start of the task it sends them after their commit',
      );
      return;
    }
    const isActive = sqlState(error) === '55006' || (error instanceof ConnectError && error.code === 'PG_SLOT_ACTIVE');
    if (isActive && performance.now() - this.closedMs < OWN_END_MS) {
      await delay(OWN_END_WAIT_MS, undefined, { signal }).catch(() => {});
      return;
    }
    if (!isActive && !isConnectionLoss(error)) {
      const { lastCommit, lsn } = this.decoder.position;
      throw error instanceof ConnectError ? error.at({ position: formatLsn(lastCommit ?? lsn) }) : error;
    }
    await this.catalog?.end().catch(() => {});
    this.catalog = null;
    if (++this.attempts > settings.slot.maxRetries) {
      this.attempts = 0;
      if (isActive && !(error instanceof ConnectError)) {
        throw new ConnectError(
          'PG_SLOT_ACTIVE',
          `${(error as Error).message}. Give each connector its own slot.name.`,
          {
            cause: error,
            retriable: true,
          },
        );
      }
      throw sourceError(error, settings);
    }
    const waitMs = Math.min(settings.slot.retryDelayMs, FIRST_RETRY_MS * 2 ** (this.attempts - 1));
    logger.warn(
      { attempt: this.attempts, waitMs, reason: String(error) },
      'the replication connection is lost: connecting again',
    );
    await delay(waitMs, undefined, { signal }).catch(() => {});
  }

  /** The mark behind the batches given out last, if they end with one. */
  takeMark(): string | null {
    const { mark } = this.decoder;
    this.decoder.mark = null;
    return mark;
  }

  /** Everything committed up to `lsn` is safe in the topics. */
  confirm(lsn: bigint): void {
    if (lsn <= this.confirmed) return;
    this.confirmed = lsn;
    if (this.session === null) return;
    this.session.flushed = this.confirmed;
    this.session.sendStatus();
  }

  /**
   * Where the oldest transaction begins that is prepared and not committed; null = none. The server must keep it for as long as its commit is not stored
   * with an offset: then, and not now, may it be told of what comes behind.
   */
  get oldestPrepared(): bigint | null {
    return this.isTwoPhase ? this.held.oldestPrepared : null;
  }

  /**
   * For when nothing handed out is unconfirmed: up to where the server has sent, and had nothing for us, which it need not keep once this is stored;
   * null = no further than before.
   */
  get idleEnd(): bigint | null {
    const { decoder } = this;
    if (decoder.isInTransaction || this.isFull || this.replay !== null || decoder.position.changesAtLsn > 0)
      return null;
    return decoder.walEnd > this.confirmed ? decoder.walEnd : null;
  }

  /** Lets the connection go; the next call of `next` goes on where this one stands. */
  rest(): void {
    this.session?.sendStatus();
    this.closeSession();
  }

  private closeSession(): void {
    if (this.session !== null) this.closedMs = performance.now();
    this.session?.close();
    this.session = null;
  }

  private async forgetHeld(): Promise<void> {
    const { replay } = this;
    this.replay = null;
    await replay?.transaction.close();
    await this.held.clear();
  }

  async close(): Promise<void> {
    this.rest();
    await this.forgetHeld();
    await this.catalog?.end().catch(() => {});
    this.catalog = null;
  }
}
