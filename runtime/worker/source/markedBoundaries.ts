/** The boundaries that a task has asked for, until the runner comes to them. */
import type { SourceBatch, TransactionBoundaries } from '../../api/index.ts';

type End = 'commit' | 'abort';

export class MarkedBoundaries implements TransactionBoundaries {
  readonly #batches = new Map<SourceBatch, End>();
  #poll: End | null = null;

  commit(batch?: SourceBatch): void {
    this.#mark('commit', batch);
  }

  abort(batch?: SourceBatch): void {
    this.#mark('abort', batch);
  }

  /** How the transaction ends behind the batch; null = it goes on. */
  behind(batch: SourceBatch): End | null {
    const end = this.#batches.get(batch) ?? null;
    this.#batches.delete(batch);
    return end;
  }

  behindPoll(): End | null {
    const end = this.#poll;
    this.#poll = null;
    return end;
  }

  #mark(end: End, batch: SourceBatch | undefined): void {
    if (batch === undefined) this.#poll = end;
    else this.#batches.set(batch, end);
  }
}
