/**
 * The change stream: follows the segments, keeps the open transactions, and publishes each at its COMMIT, in commit order, once the database says that it
 * has committed. Blocks of transactions that are open at the stored position are read again up to it; nothing before it is published again.
 */
import { type Logger, offsetBatch, type SourceBatch, type SourceOffset } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import { TransactionEvents } from '../../shared/transactionEvents.ts';
import type { SourceSettings } from '../config.ts';
import type { JournalPosition } from '../journal/metadata.ts';
import type { JournalBlock } from '../journal/segmentFile.ts';
import { SEGMENT_HEADER_BYTES } from '../journal/segmentHeader.ts';
import { comparePositions, type TableHistory } from '../journal/tableHistory.ts';
import { BlockCache } from './blockCache.ts';
import { type AskCommitState, CommitDecisions } from './commitDecisions.ts';
import { CommittedChanges } from './committedChanges.ts';
import { JournalEvents } from './journalEvents.ts';
import { OpenTransaction } from './openTransaction.ts';
import { type StreamPosition, toOffset } from './position.ts';
import { RowBuffer } from './rowBuffer.ts';
import type { SchemaHistory } from './schemaHistory.ts';
import type { SegmentDirectory } from './segmentDirectory.ts';
import { SegmentFollower } from './segmentFollower.ts';
import { TableBatches } from './tableBatch.ts';
import { TableVersions } from './tableVersion.ts';

export interface StreamOptions {
  readonly settings: SourceSettings;
  readonly common: BatchCommon;
  readonly logger: Logger;
  readonly directory: SegmentDirectory;
  readonly history: SchemaHistory;
  /** Of rows or documents, about which a poll ends. */
  readonly pollBytes: number;
  /** Reads the catalogue and adds to the history what a transaction of DDL left behind. */
  readonly learn: (transaction: OpenTransaction, position: JournalPosition, tables: TableHistory) => Promise<void>;
  /** Reads the formats of tables again. */
  readonly learnFormats: (tables: TableHistory) => Promise<void>;
  /** Of transactions whose COMMIT is in the journal; null = the journal is believed. */
  readonly commitState: AskCommitState | null;
  /** A transaction was left out that the journal says is committed. */
  readonly onRolledBack: () => void;
}

interface HeldCommit {
  readonly kind: 'commit';
  readonly block: JournalBlock;
  readonly transaction: OpenTransaction;
  /** Its events were handed on; event.format=journal. */
  isRead: boolean;
}

/** A block that is not dealt with before the database has told something. */
type HeldBlock = HeldCommit | { readonly kind: 'cleanup'; readonly block: JournalBlock };

export class JournalStream {
  readonly #options: StreamOptions;
  #start: StreamPosition;
  readonly #follower: SegmentFollower;
  readonly #tables: TableHistory;
  readonly #open = new Map<number, OpenTransaction>();
  readonly #rows = new RowBuffer();
  readonly #batches: TableBatches;
  readonly #changes: CommittedChanges;
  readonly #transactions: TransactionEvents | null;
  readonly #unseen: ReadonlySet<number>;
  /** Null = changes are published. */
  readonly #events: JournalEvents | null;
  #publishing: AsyncGenerator<void> | null = null;
  /** Whether a COMMIT stands, and what its DDL left behind, the database must tell, as it must which transactions a crash has ended. */
  #held: HeldBlock | null = null;
  /** A block could not be read, or a transaction not be published to its end: what follows must not be, either. */
  #failure: { readonly error: unknown } | null = null;
  readonly #decisions: CommitDecisions;
  readonly #cache = new BlockCache();
  #lastOffset = '';
  #lastGiven: SourceOffset | null = null;

  constructor(options: StreamOptions, start: StreamPosition) {
    this.#options = options;
    this.#start = start;
    const { settings, directory, logger } = options;
    this.#follower = new SegmentFollower(
      {
        directory,
        logger,
        errorTimeoutMs: settings.errorTimeoutMs,
        onReissue: sequence => this.#beginAgain(sequence),
      },
      start,
    );
    this.#decisions = new CommitDecisions(options.commitState, settings.errorTimeoutMs, logger);
    this.#tables = options.history.tables();
    this.#tables.startAt({ sequence: this.#follower.sequence, offset: SEGMENT_HEADER_BYTES }, 0);
    this.#batches = new TableBatches(options.common);
    const versions = new TableVersions(settings);
    const { transactionTopic } = settings;
    this.#transactions =
      transactionTopic === null ? null : new TransactionEvents(transactionTopic, options.common.sourcePartition);
    this.#changes = new CommittedChanges(
      { rows: this.#rows, batches: this.#batches, versions, transactions: this.#transactions },
      settings,
      sequence => this.#pathOf(sequence),
    );
    this.#unseen = new Set(start.snapshot?.unseen);
    this.#events = settings.format === 'debezium' ? null : new JournalEvents(settings, this.#tables);
  }

  /** What there is, up to a bound; empty when there is nothing for now. The last batch has the offset. */
  async poll(signal: AbortSignal): Promise<SourceBatch[]> {
    if (this.#failure !== null) throw this.#failure.error;
    this.#rows.reset();
    try {
      while (this.#hasRoom() && !signal.aborted && !this.#endsDocuments() && (await this.#step()));
    } catch (error) {
      // What there is goes first; the next poll fails with the same.
      if (this.#bytes() === 0) throw error;
    }
    const { common } = this.#options;
    const batches = this.#events?.take(common, this.#follower.modifiedMs) ?? this.#batches.take(this.#rows.bytes);
    if (this.#transactions !== null) batches.push(...this.#transactions.take());
    // Between transactions only: what is published in part is published again.
    if (this.#publishing !== null || this.#held !== null || this.#failure !== null) return batches;
    // Between segments only: those that a restart repeats it repeats whole.
    if (this.#events !== null && !this.#follower.isBetweenSegments) return batches;
    const offset = this.#offset();
    const last = batches.at(-1);
    if (offset === null) return batches;
    if (last === undefined) return [offsetBatch(common.sourcePartition, offset)];
    (last as { sourceOffset: SourceOffset | null }).sourceOffset = offset;
    return batches;
  }

  /** False where there is nothing to do for now. */
  async #step(): Promise<boolean> {
    const publishing = this.#publishing;
    if (publishing !== null) {
      if ((await this.#once(() => publishing.next())).done) this.#publishing = null;
      return true;
    }
    const held = this.#held;
    if (held !== null) {
      const isSettled = held.kind === 'commit' ? await this.#settle(held) : await this.#cleanUp(held.block);
      if (!isSettled) return false;
      this.#held = null;
      return true;
    }
    const block = await this.#follower.next();
    if (block === null) return false;
    await this.#once(() => this.#take(block));
    return true;
  }

  /** What cannot be done again: where it fails, nothing may follow. */
  async #once<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** Of the last batch that had one; null = none had. */
  get lastOffset(): SourceOffset | null {
    return this.#lastGiven;
  }

  /** A poll goes on a while to the end of a transaction, since only there it can give an offset. */
  #hasRoom(): boolean {
    const { pollBytes } = this.#options;
    return this.#bytes() < (this.#publishing === null ? pollBytes : 2 * pollBytes);
  }

  /** Whether there are events up to the end of a segment, where they may have an offset. */
  #endsDocuments(): boolean {
    return this.#events !== null && this.#bytes() > 0 && this.#held === null && this.#follower.isBetweenSegments;
  }

  #bytes(): number {
    return this.#events?.length ?? this.#rows.length;
  }

  /** Null where it is the one given last. */
  #offset(): SourceOffset | null {
    const position = this.#position();
    if (!this.#follower.isSafe || comparePositions(position, this.#start) < 0) return null;
    const offset = toOffset(position);
    const text = JSON.stringify(offset);
    if (text === this.#lastOffset) return null;
    this.#lastOffset = text;
    this.#lastGiven = offset;
    return offset;
  }

  #position(): StreamPosition {
    const { sequence, offset, pending } = this.#follower;
    const { guid, snapshot } = this.#start;
    const open = new Map([...this.#open.values()].map(({ number, sequence: from }) => [number, from]));
    return { guid, sequence, offset, open, pending, snapshot };
  }

  async #take(block: JournalBlock): Promise<void> {
    const { transaction: number } = block;
    const position = { sequence: this.#follower.sequence, offset: block.nextPosition };
    const isRewinding = comparePositions(position, this.#start) <= 0;
    if (number === 0) {
      if (isRewinding) this.#readEvents(block, true, false);
      else this.#held = { kind: 'cleanup', block };
      return;
    }
    // Blocks of transactions that ended before the position are not needed, but the history goes on at their commits.
    if (isRewinding && !this.#start.open.has(number)) {
      this.#tables.passTo(position);
      return;
    }
    let transaction = this.#open.get(number);
    if (transaction === undefined || block.isFirst) {
      if (transaction !== undefined) this.#drop(transaction);
      transaction = new OpenTransaction(number, position.sequence, block.isFirst);
      this.#open.set(number, transaction);
    }
    const outcome = transaction.add(
      block,
      position.sequence,
      this.#tables.here,
      this.#events === null ? this.#cache : null,
    );
    if (transaction.statements.length > 0) this.#tables.altering.add(number);
    if (outcome === 'committed') {
      this.#held = { kind: 'commit', block, transaction, isRead: false };
      return;
    }
    if (this.#events !== null && transaction.hasUnknownLayout) {
      await this.#options.learnFormats(this.#tables);
      transaction.hasUnknownLayout = false;
    }
    this.#readEvents(block, isRewinding, false);
    if (outcome === 'rolled back') this.#drop(transaction);
  }

  #readEvents(block: JournalBlock, isRewinding: boolean, isRolledBack: boolean): void {
    const events = this.#events;
    if (events === null) return;
    if (isRewinding) {
      events.rewind(block);
      return;
    }
    const { header } = this.#follower;
    const beginning = { sequence: header.sequence, offset: SEGMENT_HEADER_BYTES };
    events.read(block, header, comparePositions(beginning, this.#start) >= 0, isRolledBack);
  }

  /** Deals with a COMMIT; false where the database cannot tell yet. */
  async #settle(held: HeldCommit): Promise<boolean> {
    const { block, transaction } = held;
    const isSeen = this.#isSeen(transaction.number);
    const state = isSeen ? 'committed' : await this.#decisions.of(block, this.#follower.sequence);
    if (state === null) return false;
    if (state === 'committed') {
      this.#follower.sawCommit();
      // What its DDL left behind may have to be asked for more than once.
      if (!held.isRead) this.#readEvents(block, false, false);
      held.isRead = true;
      await this.#commit(block, transaction, isSeen);
      return true;
    }
    this.#options.logger.warn(
      { tnx: transaction.number, where: block.where },
      'the server was killed while it committed a transaction, and rolled it back: it is left out, although the journal has its COMMIT',
    );
    this.#options.onRolledBack();
    this.#readEvents(block, false, true);
    this.#drop(transaction);
    return true;
  }

  /** The server was started after a crash; false where the database cannot tell yet who has lived on. */
  async #cleanUp(block: JournalBlock): Promise<boolean> {
    const alive = await this.#decisions.survivors(block, this.#follower.sequence, this.#open.values());
    if (alive === null) return false;
    this.#readEvents(block, false, false);
    for (const transaction of this.#open.values()) {
      if (alive.has(transaction.number)) transaction.isDoubted = true;
      else this.#drop(transaction);
    }
    return true;
  }

  async #commit(block: JournalBlock, transaction: OpenTransaction, isSeen: boolean): Promise<void> {
    const position = { sequence: this.#follower.sequence, offset: block.nextPosition };
    this.#tables.passTo(position);
    const { history, learn } = this.#options;
    if (transaction.statements.length > 0 && !isSeen && !history.hasLearned(position)) {
      await learn(transaction, position, this.#tables);
    }
    if (transaction.hasUnknownLayout && !isSeen) await this.#options.learnFormats(this.#tables);
    this.#drop(transaction);
    if (this.#events !== null) return;
    if (isSeen || !this.#isWhole(transaction, block)) return;
    const stamp = {
      tsMs: BigInt(this.#follower.modifiedMs),
      tnx: BigInt(transaction.number),
      segment: BigInt(position.sequence),
      offset: BigInt(position.offset),
    };
    this.#publishing = this.#changes.publish(transaction, stamp);
  }

  /** Whether the snapshot has seen it: it is not published again. */
  #isSeen(transaction: number): boolean {
    const { snapshot } = this.#start;
    return snapshot !== null && transaction < snapshot.tnx && !this.#unseen.has(transaction);
  }

  /** False for one that began before the first segment of a source without snapshot. */
  #isWhole({ number, isWhole }: OpenTransaction, block: JournalBlock): boolean {
    if (isWhole) return true;
    if (this.#start.snapshot === null) {
      this.#options.logger.warn({ tnx: number }, 'a transaction began before the first segment; it is left out');
      return false;
    }
    throw new ConnectError(
      'FB_SEGMENT_MISSING',
      `Transaction ${number}, which commits in ${block.where}, began in a segment that is not in ${this.#options.settings.directory}.`,
    );
  }

  #drop(transaction: OpenTransaction): void {
    this.#open.delete(transaction.number);
    this.#tables.altering.delete(transaction.number);
  }

  /**
   * What the segment and those behind it hold now is all new, also before the position that was stored. A transaction that had blocks there is dead; others may live:
   * an earlier crash left the old segment behind, and they began after it.
   */
  #beginAgain(sequence: number): void {
    for (const transaction of this.#open.values()) {
      if (transaction.blocks.at(-1)!.sequence >= sequence) this.#drop(transaction);
    }
    this.#events?.beginAgain();
    if (sequence <= this.#start.sequence) this.#start = setBack(this.#start, sequence);
  }

  async #pathOf(sequence: number): Promise<string> {
    const found = (await this.#options.directory.list()).get(sequence);
    if (found !== undefined) return found.path;
    throw new ConnectError(
      'FB_SEGMENT_MISSING',
      `Segment ${sequence} is not in ${this.#options.settings.directory} any more; a transaction that began in it has committed.`,
    );
  }

  async close(): Promise<void> {
    await this.#publishing?.return(undefined);
    await this.#changes.close();
    await this.#follower.close();
  }
}

/** At the start of a segment, with what began before it. */
const setBack = (position: StreamPosition, sequence: number): StreamPosition => ({
  ...position,
  sequence,
  offset: SEGMENT_HEADER_BYTES,
  open: new Map([...position.open].filter(([, from]) => from < sequence)),
  pending: position.pending.filter(of => of.sequence < sequence),
});
