/**
 * The leader's right to write to the config topic: a transactional producer that fences the leader before, whose writes then come to nothing. One write at a
 * time. Once it is fenced itself it writes no more, until the right is claimed anew by a leader of a new generation.
 */
import { ConnectError, type Logger } from '../../api/index.ts';
import type { Broker, Producer } from '../../broker/port.ts';

export interface LeaderWriterOptions {
  readonly broker: Broker;
  readonly transactionalId: string;
  readonly clientId: string;
  /** Another worker has claimed the right. */
  readonly onFenced: () => void;
  readonly logger: Logger;
}

/** Short: what a leader that died has open holds up all readers. */
const transactionTimeoutMs = 10_000;
const closeTimeoutMs = 1_000;

export class LeaderWriter {
  readonly #options: LeaderWriterOptions;
  #claimed = false;
  #producer: Producer | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: LeaderWriterOptions) {
    this.#options = options;
  }

  /** This worker leads. What a leader before had open is aborted. Kept while it goes on leading. */
  claim(): Promise<void> {
    return this.#inTurn(async () => {
      this.#claimed = true;
      await this.#ready();
    });
  }

  /** Another worker leads. */
  release(): void {
    if (!this.#claimed) return;
    this.#claimed = false;
    void this.#inTurn(() => this.#drop());
  }

  /** Runs one transaction of `write`. */
  write<T>(write: (producer: Producer) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      if (!this.#claimed) {
        throw new ConnectError('REQUEST_CONFLICT', 'this worker does not lead its cluster any more', {
          retriable: true,
        });
      }
      try {
        return await write(await this.#ready());
      } catch (error) {
        await this.#drop();
        throw error;
      }
    }, true);
  }

  async close(): Promise<void> {
    this.#claimed = false;
    const producer = this.#producer;
    this.#producer = null;
    await producer?.close(closeTimeoutMs);
  }

  async #ready(): Promise<Producer> {
    if (this.#producer !== null) return this.#producer;
    const { broker, transactionalId, clientId } = this.#options;
    const producer = broker.producer({ clientId, transactionalId, transactionTimeoutMs });
    try {
      await producer.initTransactions();
    } catch (error) {
      await producer.close(closeTimeoutMs);
      throw error;
    }
    this.#producer = producer;
    return producer;
  }

  async #drop(): Promise<void> {
    const { logger } = this.#options;
    const producer = this.#producer;
    this.#producer = null;
    await producer?.close(closeTimeoutMs).catch(error => logger.debug({ err: error }, 'failed producer did not close'));
  }

  #inTurn<T>(work: () => Promise<T>, tellsFenced = false): Promise<T> {
    const result = this.#turn.then(work).catch(error => {
      if (tellsFenced && error instanceof ConnectError && error.code === 'BROKER_PRODUCER_FENCED' && this.#claimed) {
        this.#claimed = false;
        this.#options.onFenced();
      }
      throw error;
    });
    this.#turn = result.catch(() => undefined);
    return result;
  }
}
