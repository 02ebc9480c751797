/**
 * What became of transactions, as the database tells: whether a COMMIT in the journal stands, and which transactions a crash of the server has ended.
 * What it cannot tell yet is asked for again, for error.timeout.ms.
 */
import type { Logger } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import type { JournalBlock } from '../journal/segmentFile.ts';
import type { CommitState } from './commitStates.ts';

/** What the database says of a transaction; `unreachable` is for a while. */
export type AskCommitState = (transaction: number) => Promise<CommitState | 'unreachable'>;

type Undecided = 'open' | 'unknown' | 'unreachable';

export class CommitDecisions {
  readonly #ask: AskCommitState | null;
  readonly #errorTimeoutMs: number;
  readonly #logger: Logger;
  #undecidedSince = 0;

  /** Without `ask` the journal is believed. */
  constructor(ask: AskCommitState | null, errorTimeoutMs: number, logger: Logger) {
    this.#ask = ask;
    this.#errorTimeoutMs = errorTimeoutMs;
    this.#logger = logger;
  }

  /** Of a COMMIT. Null = to be asked again. `sequence` is of the block's segment. Throws FB_UNREACHABLE, FB_COMMIT_UNDECIDED. */
  async of(block: JournalBlock, sequence: number): Promise<'committed' | 'rolled back' | null> {
    const state = this.#ask === null ? 'committed' : await this.#ask(block.transaction);
    if (state === 'committed' || state === 'rolled back') {
      this.#undecidedSince = 0;
      return state;
    }
    const { transaction: tnx } = block;
    return this.#waitFor(state, `Transaction ${tnx}, whose COMMIT is in ${block.where}`, sequence, block);
  }

  /**
   * Those of open transactions that may live on behind the cleanup block of a server that was started after a crash. It writes the block with its first
   * connection, and what another connection began in that moment stands in front of it. Null = to be asked again. Throws FB_UNREACHABLE.
   */
  async survivors(
    cleanup: JournalBlock,
    sequence: number,
    open: Iterable<{ readonly number: number; readonly isDoubted: boolean }>,
  ): Promise<ReadonlySet<number> | null> {
    const alive = new Set<number>();
    for (const { number, isDoubted } of open) {
      const state = this.#ask === null ? 'committed' : await this.#ask(number);
      if (state === 'unreachable') {
        return this.#waitFor(
          state,
          `Transaction ${number}, open at the cleanup in ${cleanup.where}`,
          sequence,
          cleanup,
        );
      }
      // What was silent since the cleanup before has not lived through two crashes, unless it is in limbo.
      if (state === 'open' || (state === 'committed' && !isDoubted)) alive.add(number);
    }
    this.#undecidedSince = 0;
    return alive;
  }

  #waitFor(state: Undecided, where: string, sequence: number, block: JournalBlock): null {
    const now = performance.now();
    if (this.#undecidedSince === 0) {
      this.#undecidedSince = now;
      this.#logger.warn({ state }, `${where}: what became of it is not known yet; it is waited for`);
    }
    if (now - this.#undecidedSince < this.#errorTimeoutMs) return null;
    this.#undecidedSince = 0;
    throw undecided(where, `${sequence}:${block.position}`, state);
  }
}

function undecided(where: string, position: string, state: Undecided): ConnectError {
  const place = { place: { position } };
  switch (state) {
    case 'unreachable':
      return new ConnectError(
        'FB_UNREACHABLE',
        `${where}: the database cannot be asked whether it has committed. Nothing is published until it answers.`,
        { ...place, retriable: true },
      );
    case 'open':
      return new ConnectError(
        'FB_COMMIT_UNDECIDED',
        `${where}, is still open or in limbo in the database. If it is in limbo, end it with gfix -commit or gfix -rollback.`,
        { ...place, retriable: true },
      );
    case 'unknown':
      return new ConnectError(
        'FB_COMMIT_UNDECIDED',
        `${where}, is not known in the database: the journal is of a later state than the database. If it was restored, reset the offsets of the connector.`,
        place,
      );
  }
}
