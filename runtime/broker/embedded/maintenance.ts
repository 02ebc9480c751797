/** Runs retention, compaction and the removal of deleted topics and dead readers in the background of the log thread, in slices that hold up appends for milliseconds only. */
import { setImmediate as immediate } from 'node:timers/promises';
import { compactPartition, needsCompaction } from './compaction.ts';
import type { LogServer } from './logServer.ts';
import { applyRetention, planRetention } from './retention.ts';
import { logKey, readMeta } from './store.ts';
import { cleanupPolicy } from './topicConfigs.ts';

/** Batches of a deleted topic that one slice removes. */
const maxGarbageBatches = 500;

export class Maintenance {
  #server: LogServer;
  #intervalMs: number;
  #warn: (message: string, error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(server: LogServer, intervalMs: number, warn: (message: string, error: unknown) => void) {
    this.#server = server;
    this.#intervalMs = intervalMs;
    this.#warn = warn;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#round = this.#runRound().then(() => {
        if (!this.#stopped) this.start();
      });
    }, this.#intervalMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#round;
  }

  async #runRound(): Promise<void> {
    try {
      this.#server.context.store.forgetDeadReaders();
      await this.#collectGarbage();
      for (const topic of [...this.#server.catalog.topics()]) {
        const policy = cleanupPolicy(topic.configs);
        for (const log of topic.partitions) {
          if (policy.delete)
            while (!log.deleted) {
              const slice = planRetention(log, policy, Date.now());
              if (slice === null) break;
              this.#server.write(() => applyRetention(log, slice));
              if (!(await this.#pause())) return;
            }
          if (policy.compact && !log.deleted && needsCompaction(log, policy))
            await compactPartition(log, policy, Date.now(), {
              write: body => this.#server.write(body),
              pause: () => this.#pause(),
            });
        }
      }
    } catch (error) {
      this.#warn('retention and compaction of the embedded broker stopped; tried again with the next round', error);
    }
  }

  async #collectGarbage(): Promise<void> {
    const { store } = this.#server.context;
    for (const { key } of [...readMeta(store, 'garbage')]) {
      const topicId = key[1] as number;
      const range = { start: logKey(topicId, 0, 0), end: logKey(topicId + 1, 0, 0) };
      for (;;) {
        const keys = [...store.log.getKeys({ ...range, limit: maxGarbageBatches })];
        this.#server.write(() => {
          for (const batch of keys) store.log.removeSync(batch);
          if (keys.length > 0) return;
          for (const aborted of [...store.aborted.getKeys(range)]) store.aborted.removeSync(aborted);
          for (const cleaned of [...readMeta(store, 'cleaned', topicId)]) store.meta.removeSync(cleaned.key);
          store.meta.removeSync(key);
        });
        if (keys.length === 0) break;
        if (!(await this.#pause())) return;
      }
    }
  }

  async #pause(): Promise<boolean> {
    await immediate();
    return !this.#stopped;
  }
}
