/**
 * Brings new task configs from the owner of a connector to the leader, who writes them: again with back-off while the leader is away or changes, until they
 * are there, newer ones replace them, or the connector is no longer this worker's.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Config, Logger } from '../../api/index.ts';

export interface PublisherOptions {
  /** Writes them where this worker leads; false = it does not. */
  readonly writeAsLeader: (connector: string, configs: readonly Config[]) => Promise<boolean>;
  /** Sends them to the leader; false = there is none to send them to. */
  readonly sendToLeader: (connector: string, configs: readonly Config[], signal: AbortSignal) => Promise<boolean>;
  readonly isOwner: (connector: string) => boolean;
  readonly logger: Logger;
}

const firstBackoffMs = 250;
const maxBackoffMs = 60_000;

export class TaskConfigPublisher {
  readonly #options: PublisherOptions;
  readonly #publishing = new Map<string, AbortController>();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  publish(connector: string, configs: readonly Config[]): void {
    this.#publishing.get(connector)?.abort();
    const stop = new AbortController();
    this.#publishing.set(connector, stop);
    this.#publish(connector, configs, stop.signal)
      .catch(error => {
        if (stop.signal.aborted) return;
        this.#options.logger.error({ err: error, connector }, `task configs of connector ${connector} were not taken`);
      })
      .finally(() => {
        if (this.#publishing.get(connector) === stop) this.#publishing.delete(connector);
      });
  }

  close(): void {
    for (const stop of this.#publishing.values()) stop.abort();
  }

  async #publish(connector: string, configs: readonly Config[], signal: AbortSignal): Promise<void> {
    const { logger, isOwner, writeAsLeader, sendToLeader } = this.#options;
    for (let backoffMs = firstBackoffMs; isOwner(connector); backoffMs = Math.min(2 * backoffMs, maxBackoffMs)) {
      signal.throwIfAborted();
      try {
        if ((await writeAsLeader(connector, configs)) || (await sendToLeader(connector, configs, signal))) return;
      } catch (error) {
        if (signal.aborted) return;
        logger.warn(
          { err: error, connector, backoffMs },
          `task configs of connector ${connector} could not be given to the leader, it is tried again`,
        );
      }
      await wait(backoffMs, undefined, { signal });
    }
  }
}
