/** Whether a COMMIT in the journal stands, as the database tells; one that it cannot tell yet is asked for again, for error.timeout.ms. */
import type { Logger } from '../../../runtime/api/index.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import type { JournalBlock } from '../journal/segmentFile.ts';
import type { CommitState } from './commitStates.ts';

/** What the database says of a transaction; `unreachable` is for a while. */
export type AskCommitState = (transaction: number) => Promise<CommitState | 'unreachable'>;

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

  /** Null = to be asked again. `sequence` is of the block's segment. Throws FB_UNREACHABLE, FB_COMMIT_UNDECIDED. */
  async of(block: JournalBlock, sequence: number): Promise<'committed' | 'rolled back' | null> {
    const state = this.#ask === null ? 'committed' : await this.#ask(block.transaction);
    if (state === 'committed' || state === 'rolled back') {
      this.#undecidedSince = 0;
      return state;
    }
    const now = performance.now();
    if (this.#undecidedSince === 0) {
      this.#undecidedSince = now;
      const tnx = block.transaction;
      this.#logger.warn({ tnx, state }, 'whether a transaction has committed is not known yet; it is waited for');
    }
    if (now - this.#undecidedSince < this.#errorTimeoutMs) return null;
    this.#undecidedSince = 0;
    throw undecided(block, sequence, state);
  }
}

function undecided(block: JournalBlock, sequence: number, state: 'open' | 'unknown' | 'unreachable'): ConnectError {
  const where = `Transaction ${block.transaction}, whose COMMIT is in ${block.where}`;
  const place = { place: { position: `${sequence}:${block.position}` } };
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
