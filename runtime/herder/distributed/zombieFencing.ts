/**
 * The leader's rounds of fencing: before the first task of new task configs may write, every producer that tasks of the earlier ones may have is fenced, and how
 * many there may be from now on is written down. A single task needs no round: its successor has the same transactional.id and fences it by itself.
 */
import { ConnectError, type Logger } from '../../api/index.ts';
import type { Broker } from '../../broker/port.ts';
import { taskTransactionalId } from '../../worker/source/transactionSettings.ts';
import { fencingRecord } from '../stores/configState.ts';
import type { ConfigStore } from '../stores/configStore.ts';

export interface ZombieFencingOptions {
  readonly broker: Pick<Broker, 'producer'>;
  readonly groupId: string;
  readonly configs: ConfigStore;
  /** Throws where another worker leads. */
  readonly requireLeader: () => void;
  readonly syncTimeoutMs: number;
  readonly logger: Logger;
}

/** Nothing is ever written with it. */
const transactionTimeoutMs = 10_000;
const closeTimeoutMs = 1_000;
/** Producers that are made at a time. */
const atATime = 20;

export class ZombieFencing {
  readonly #options: ZombieFencingOptions;
  readonly #rounds = new Map<string, Promise<void>>();

  constructor(options: ZombieFencingOptions) {
    this.#options = options;
  }

  /** Resolves when the newest tasks of the connector may start. Calls of one round share it. */
  fence(name: string): Promise<void> {
    let round = this.#rounds.get(name);
    if (round === undefined) {
      round = this.#fence(name).finally(() => this.#rounds.delete(name));
      this.#rounds.set(name, round);
    }
    return round;
  }

  async #fence(name: string): Promise<void> {
    const { configs, requireLeader, syncTimeoutMs, logger } = this.#options;
    const { state } = configs;
    requireLeader();
    // A leader that is new may not know yet of the task configs that the asking worker has.
    if (!state.isFencingPending(name)) await configs.readToEnd(syncTimeoutMs);
    const entry = state.connector(name);
    if (entry === null) throw new ConnectError('RESOURCE_UNKNOWN', `Connector ${name} not found`);
    if (!state.isFencingPending(name)) return;
    const generation = state.taskGeneration(name);
    const tasks = entry.taskConfigs.length;
    const before = state.taskCountRecord(name) ?? 0;
    if (before > 1 || (before === 1 && tasks !== 1)) {
      await this.#fenceProducers(name, before);
      logger.info({ connector: name, tasks: before }, 'earlier tasks of the connector are fenced');
    }
    requireLeader();
    if (state.taskGeneration(name) !== generation) {
      throw new ConnectError(
        'SOURCE_TASK_SUPERSEDED',
        `Connector ${name} has got newer task configs while tasks of the earlier ones were being fenced`,
        { retriable: true },
      );
    }
    if (state.isFencingPending(name)) await configs.writeAsLeader([fencingRecord(name, tasks)]);
  }

  async #fenceProducers(name: string, count: number): Promise<void> {
    const { broker, groupId } = this.#options;
    const ids = Array.from({ length: count }, (_, task) => taskTransactionalId(groupId, name, task));
    for (let i = 0; i < ids.length; i += atATime) {
      await Promise.all(
        ids.slice(i, i + atATime).map(async transactionalId => {
          const producer = broker.producer({
            clientId: `${groupId}-fencing`,
            transactionalId,
            transactionTimeoutMs,
          });
          try {
            await producer.initTransactions();
          } finally {
            await producer.close(closeTimeoutMs);
          }
        }),
      );
    }
  }
}
