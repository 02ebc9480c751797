/**
 * The stream of changes over however many connections it takes: decodes what arrives, looks tables up, connects again with back-off where the connection
 * is lost.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from 'mysql2/promise';
import { ConnectError, type Logger, type SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { BinlogDecoder, type SeenLog } from './binlogDecoder.ts';
import { BinlogSession } from './binlogSession.ts';
import { connect, isOutage, sourceError } from './connection.ts';
import { formatPosition, type LogPosition } from './position.ts';
import type { SchemaChanges } from './schemaChanges.ts';
import type { TableVersions } from './tableVersions.ts';

const FIRST_RETRY_MS = 200;
/** While data keeps coming, a few ms gather more of it: each batch has a price of its own here and in the worker. The first after a rest goes at once. */
const BUSY_MS = 5;
const GATHER_MS = 3;
/** Readers that have the same server id end each other in turn: each gets some of the log in between. */
const TAKEOVER_MS = 120_000;
const EMPTY = Buffer.alloc(0);

export interface StreamOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly versions: TableVersions;
  /** null = what DDL does is not published. */
  readonly schemaChanges: SchemaChanges | null;
}

/** Positions of different sessions may be those of different servers. */
export interface StreamPlace extends SeenLog {
  readonly session: number;
  readonly published: LogPosition;
}

export class ChangeStream {
  private readonly options: StreamOptions;
  private readonly uuid = randomUUID();
  private session: BinlogSession | null = null;
  private catalog: Connection | null = null;
  private decoder: BinlogDecoder | null = null;
  private lastPosition: LogPosition;
  /** Connections made so far. */
  private sessions = 0;
  /** Received bytes, where the walk stands in them, and whether whole packets are left there. */
  private bytes: Buffer = EMPTY;
  private at = 0;
  private isFull = false;
  private wanted = 1;
  /** Met while there were batches to hand out first. */
  private failure: { readonly error: unknown } | null = null;
  private busyUntil = 0;
  private attempts = 0;
  private takeovers = 0;
  private lastTakeoverMs = Number.NEGATIVE_INFINITY;
  /** Connections lost, and errors that ended the stream. */
  disconnects = 0;
  errors = 0;

  constructor(options: StreamOptions, position: LogPosition) {
    this.options = options;
    this.lastPosition = position;
  }

  /** Behind what was handed out last. */
  get position(): LogPosition {
    return this.lastPosition;
  }

  /** How much of the log of the server that it is connected to was handed out; null = it is not connected. */
  get place(): StreamPlace | null {
    if (this.decoder === null) return null;
    return { ...this.decoder.seen, session: this.sessions, published: this.lastPosition };
  }

  /** Whether stop.at is reached: `next` gives no more. */
  get isStopped(): boolean {
    return this.decoder?.isStopped ?? false;
  }

  get isConnected(): boolean {
    return this.session !== null;
  }

  /** What came by now; waits at most `timeoutMs` for some. Throws when the connection stays lost, or for what cannot be decoded. */
  async next(timeoutMs: number): Promise<SourceBatch[]> {
    try {
      if (this.failure !== null) {
        const { error } = this.failure;
        this.failure = null;
        throw error;
      }
      if (this.session === null) await this.openSession();
      return await this.receive(this.session!, this.decoder!, timeoutMs);
    } catch (error) {
      await this.recover(error);
      return [];
    }
  }

  private async openSession(): Promise<void> {
    const { settings, common, versions, signal, logger } = this.options;
    const session = await BinlogSession.open(settings, this.lastPosition, this.uuid, signal);
    this.session = session;
    this.sessions++;
    this.decoder = new BinlogDecoder(
      {
        settings,
        common,
        isCaptured: (database, table) => versions.isCaptured(database, table),
        hasChecksum: session.hasChecksum,
        readsDefinitions: this.options.schemaChanges !== null,
        logger,
      },
      this.lastPosition,
    );
    this.bytes = EMPTY;
    this.at = 0;
    this.isFull = false;
    this.wanted = 1;
  }

  private async receive(session: BinlogSession, decoder: BinlogDecoder, timeoutMs: number): Promise<SourceBatch[]> {
    if (!this.isFull) {
      const gatherMs = performance.now() < this.busyUntil ? GATHER_MS : 0;
      const rest = this.bytes.subarray(this.at);
      const more = await session.read(rest, this.wanted, timeoutMs, gatherMs, this.options.signal);
      if (more === null) return [];
      this.busyUntil = performance.now() + BUSY_MS;
      this.bytes = more;
      this.at = 0;
    }
    try {
      await this.walk(decoder);
      this.attempts = 0;
    } catch (error) {
      // The position is behind what could not be looked up: nothing of what was walked is handed out, and it is read again.
      if (decoder.rows.truncated !== null || decoder.definition !== null) throw error;
      this.failure = { error };
    }
    const batches = decoder.takeBatches(this.bytes);
    this.lastPosition = decoder.position;
    return batches;
  }

  private async walk(decoder: BinlogDecoder): Promise<void> {
    const { versions, schemaChanges } = this.options;
    for (;;) {
      const { next, stop } = decoder.walk(this.bytes, this.at);
      this.at = next;
      this.isFull = stop === 'full';
      this.wanted = decoder.missing;
      if (stop !== 'lookup') return;
      const { rows } = decoder;
      const { pendingTable, truncated } = rows;
      if (pendingTable !== null) rows.setVersion(await versions.fromLog(await this.connection(), pendingTable));
      if (truncated !== null) rows.addTruncate(await versions.forTruncate(await this.connection(), truncated));
      const { definition } = decoder;
      if (definition === null) continue;
      decoder.addDefinition(await schemaChanges!.ofStatement(() => this.connection(), definition));
    }
  }

  private async connection(): Promise<Connection> {
    this.catalog ??= await connect(this.options.settings);
    return this.catalog;
  }

  /** Returns after a wait where another connection may help; throws otherwise. The position is that of the last event handed out. */
  private async recover(error: unknown): Promise<void> {
    const { settings, logger, signal } = this.options;
    this.closeSession();
    if (signal.aborted) return;
    if (!isOutage(error)) {
      this.errors++;
      const failure = sourceError(error, settings);
      throw failure instanceof ConnectError ? failure.at({ position: formatPosition(this.lastPosition) }) : failure;
    }
    this.disconnects++;
    this.catalog?.destroy();
    this.catalog = null;
    this.attempts++;
    if (error instanceof ConnectError && error.code === 'MYSQL_SERVER_ID_TAKEN') this.attempts = this.countTakeover();
    if (this.attempts > settings.maxRetries) {
      this.attempts = 0;
      this.takeovers = 0;
      throw sourceError(error, settings);
    }
    const longest = Math.min(settings.retryDelayMs, FIRST_RETRY_MS * 2 ** (this.attempts - 1));
    // Spread, so that readers that lost the same server do not come back all at once.
    const waitMs = Math.ceil(longest * (0.5 + Math.random() / 2));
    logger.warn({ attempt: this.attempts, waitMs, reason: String(error) }, 'the connection is lost: connecting again');
    await delay(waitMs, undefined, { signal }).catch(() => {});
  }

  private countTakeover(): number {
    const now = performance.now();
    if (now - this.lastTakeoverMs > TAKEOVER_MS) this.takeovers = 0;
    this.lastTakeoverMs = now;
    return ++this.takeovers;
  }

  /** Lets the connection go; the next call of `next` goes on where this one stands. */
  rest(): void {
    this.closeSession();
  }

  private closeSession(): void {
    this.session?.close();
    this.session = null;
    this.decoder = null;
  }

  async close(): Promise<void> {
    this.closeSession();
    await this.catalog?.end().catch(() => {});
    this.catalog = null;
  }
}
