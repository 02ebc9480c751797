/** What the worker that leads does besides assigning: takes the right to write, corrects statuses that nobody else can, and renews the session key. */
import type { Logger } from '../../api/index.ts';
import type { SignatureAlgorithm } from '../../config/signatureAlgorithms.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { StatusBoard } from '../lifecycle/statusBoard.ts';
import { sessionKeyRecord } from '../stores/configState.ts';
import type { ConfigStore } from '../stores/configStore.ts';
import { newSessionKey } from './sessionKeys.ts';
import { connectorTask, workerIdOf, workKey } from './workIds.ts';

export interface LeaderDutiesOptions {
  readonly configs: ConfigStore;
  readonly statuses: StatusBoard;
  readonly config: WorkerConfig;
  /** All that is to run somewhere. */
  readonly configured: () => ReadonlySet<string>;
  /** Whether this worker leads a cluster whose requests between workers are signed. */
  readonly keepsKey: () => boolean;
  readonly logger: Logger;
}

const keyRetryMs = 5_000;

export class LeaderDuties {
  readonly #options: LeaderDutiesOptions;
  #keyTimer: NodeJS.Timeout | null = null;

  constructor(options: LeaderDutiesOptions) {
    this.#options = options;
  }

  /** A generation begins that this worker leads; `owners` are the URLs of the workers, by what they run. */
  begin(owners: ReadonlyMap<string, string>): void {
    const { configs, logger } = this.#options;
    configs.lead(true).catch(error => {
      logger.error({ err: error }, 'the right to write the configs of the cluster could not be had');
    });
    this.#correctStatuses(owners);
    this.#keepSessionKey();
  }

  close(): void {
    if (this.#keyTimer !== null) clearTimeout(this.#keyTimer);
  }

  #correctStatuses(owners: ReadonlyMap<string, string>): void {
    const { statuses, configs } = this.#options;
    const configured = this.#options.configured();
    const present = new Set([...owners.values()].map(workerIdOf));
    // What waits for a worker that is gone must not seem to run.
    statuses.unassign((_, connector, task) => {
      const key = workKey({ connector, task: task ?? connectorTask });
      return configured.has(key) && !owners.has(key);
    });
    for (const name of statuses.names()) {
      const entry = configs.state.connector(name);
      if (entry === null) {
        statuses.forget(name);
        continue;
      }
      // Left by a worker that was gone before it could say that its tasks are no more.
      for (const [task, { workerId }] of statuses.tasks(name)) {
        if (task >= entry.taskConfigs.length && !present.has(workerId)) statuses.forgetTask(name, task);
      }
    }
  }

  #keepSessionKey(): void {
    this.close();
    if (!this.#options.keepsKey()) return;
    const { configs, config, logger } = this.#options;
    const ttlMs = config['inter.worker.key.ttl.ms'];
    const algorithm = config['inter.worker.key.generation.algorithm'] as SignatureAlgorithm;
    const ageMs = Date.now() - (configs.state.sessionKey?.createdMs ?? 0);
    if (ageMs >= ttlMs) {
      configs
        .writeAsLeader([sessionKeyRecord(newSessionKey(algorithm, config['inter.worker.key.size'], Date.now()))])
        .catch(error => logger.error({ err: error }, 'the session key could not be written, it is tried again'));
    }
    const nextMs = ageMs >= ttlMs ? Math.min(ttlMs, keyRetryMs) : ttlMs - ageMs;
    this.#keyTimer = setTimeout(() => this.#keepSessionKey(), nextMs);
    this.#keyTimer.unref();
  }
}
