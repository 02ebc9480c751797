/**
 * Runs tasks in the thread it lives in, with one broker connection, one set of plugins and one offset store for all of them. The main thread has
 * one, and each task thread.
 */
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import type { Config, Logger } from '../api/index.ts';
import { connectBroker } from '../broker/connectBroker.ts';
import type { Broker } from '../broker/port.ts';
import { internalTopicConfigs } from '../config/internalTopicConfigs.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import type { TaskSnapshot } from '../metrics/taskMeter.ts';
import { failureReport } from './errors/failureReport.ts';
import { ConnectorOffsets } from './offsets/connectorOffsets.ts';
import { OffsetStore } from './offsets/offsetStore.ts';
import type { PluginRegistry } from './pluginRegistry.ts';
import { SinkTaskRunner } from './sink/sinkTaskRunner.ts';
import { SourceTaskRunner } from './source/sourceTaskRunner.ts';
import type { TaskDeps } from './taskDeps.ts';
import type { TaskExecutor } from './taskExecutor.ts';
import { taskLogger } from './taskLogger.ts';
import type { TaskRunner } from './taskRunner.ts';
import {
  type FailureReport,
  type TargetState,
  type TaskGuard,
  type TaskId,
  type TaskListener,
  type TaskRequest,
  taskKey,
} from './types.ts';
import { workerRegistry } from './workerRegistry.ts';

interface Running {
  readonly runner: TaskRunner;
  readonly ended: Promise<void>;
}

export interface TaskHostOptions {
  readonly config: WorkerConfig;
  readonly plugins: PluginRegistry;
  readonly listener: TaskListener;
  readonly guard: TaskGuard;
  readonly logger: Logger;
}

export class TaskHost implements TaskExecutor {
  readonly broker: Broker;
  readonly #options: TaskHostOptions;
  #registry: SchemaRegistry | null = null;
  readonly #deps: TaskDeps;
  readonly #tasks = new Map<string, Running>();
  readonly #stores = new Map<string, Promise<OffsetStore>>();

  private constructor(options: TaskHostOptions, broker: Broker) {
    this.#options = options;
    this.broker = broker;
    this.#deps = {
      config: options.config,
      broker,
      plugins: options.plugins,
      converterSources: {
        worker: options.config,
        registry: () => (this.#registry ??= workerRegistry(options.config.registry, options.logger)),
        plugins: options.plugins,
      },
      offsets: (connector, config) => this.offsets(connector, config),
      listener: options.listener,
      guard: options.guard,
      logger: options.logger,
    };
  }

  static async open(options: TaskHostOptions): Promise<TaskHost> {
    return new TaskHost(options, await connectBroker(options.config.broker, options.logger));
  }

  startTask(request: TaskRequest): void {
    const { id } = request;
    const key = taskKey(id);
    this.#tasks.get(key)?.runner.control.cancel();
    const kind = this.#options.plugins.find(request.connectorConfig['connector.class'] ?? '', 'source', 'sink')?.kind;
    const runner =
      kind === 'sink' ? new SinkTaskRunner(request, this.#deps) : new SourceTaskRunner(request, this.#deps);
    this.#tasks.set(key, { runner, ended: this.#run(runner) });
  }

  /** Never rejects. */
  async #run(runner: TaskRunner): Promise<void> {
    const { id, stopping } = runner.control;
    const { listener } = this.#options;
    const logger = taskLogger(this.#options.logger, id);
    let failure: FailureReport | null = null;
    try {
      await runner.run();
    } catch (error) {
      if (!stopping.aborted) {
        failure = failureReport(error, { connector: id.connector, task: id.task });
        logger.debug({ err: error }, 'the task failed');
      } else if (!isAbort(error)) logger.warn({ err: error }, 'the task ended with an error while it was stopped');
    }
    // A task that was given up says nothing more: another may run under its name.
    if (this.#tasks.get(taskKey(id))?.runner !== runner) return;
    this.#tasks.delete(taskKey(id));
    listener.taskState(id, failure === null ? 'UNASSIGNED' : 'FAILED', failure);
  }

  setTarget(connector: string, target: TargetState): void {
    for (const { runner } of this.#tasks.values()) {
      if (runner.control.id.connector === connector) runner.control.setTarget(target);
    }
  }

  async stopTask(id: TaskId, gracefulMs: number): Promise<void> {
    const running = this.#tasks.get(taskKey(id));
    if (running === undefined) return;
    running.runner.control.stop();
    if (await endsWithin(running.ended, gracefulMs)) return;
    taskLogger(this.#options.logger, id).warn({ gracefulMs }, 'the task did not stop in time and is cancelled');
    running.runner.control.cancel();
    await endsWithin(running.ended, cancelMs);
    if (this.#tasks.get(taskKey(id)) !== running) return;
    this.#tasks.delete(taskKey(id));
    this.#options.listener.taskState(id, 'UNASSIGNED', null);
  }

  forgetTopics(connector: string, asOfMs: number): void {
    for (const { runner } of this.#tasks.values()) {
      if (runner.control.id.connector === connector) runner.control.forgetTopics(asOfMs);
    }
  }

  snapshots(): { id: TaskId; snapshot: TaskSnapshot }[] {
    return [...this.#tasks.values()].map(({ runner }) => ({
      id: runner.control.id,
      snapshot: runner.meter.snapshot(),
    }));
  }

  get taskCount(): number {
    return this.#tasks.size;
  }

  async offsets(connector: string, config: Config): Promise<ConnectorOffsets> {
    const own = config['offsets.storage.topic'];
    const common = this.#options.config['offset.storage.topic'];
    const names = own === undefined || own === common ? [common] : [own, common];
    return new ConnectorOffsets(connector, await Promise.all(names.map(name => this.#store(name))));
  }

  /** A store that could not be opened is tried again by the next task. */
  #store(name: string): Promise<OffsetStore> {
    let store = this.#stores.get(name);
    if (store === undefined) {
      const { config, logger } = this.#options;
      store = OffsetStore.open(
        this.broker,
        {
          name,
          partitions: config['offset.storage.partitions'],
          replicationFactor: config['offset.storage.replication.factor'],
          configs: internalTopicConfigs('offset', config),
          create: config['internal.topics.automatic.creation.enable'],
          clientId: `${config['group.id']}-offsets`,
          follow: config['exactly.once.source.support'] === 'enabled',
        },
        logger,
      );
      this.#stores.set(name, store);
      store.catch(() => this.#stores.delete(name));
    }
    return store;
  }

  /** Opens the store of offsets before the first source asks for it: making the topic takes brokers a while. */
  openOffsets(): void {
    this.#store(this.#options.config['offset.storage.topic']).catch(error => {
      this.#options.logger.debug(
        { err: error },
        'the topic of source offsets is opened again by the first task that needs it',
      );
    });
  }

  async close(gracefulMs: number): Promise<void> {
    await Promise.all([...this.#tasks.values()].map(({ runner }) => this.stopTask(runner.control.id, gracefulMs)));
    const stores = [...this.#stores.values()].map(async store => (await store).close());
    // one that is still being opened, the broker being away, ends with its connection
    await endsWithin(Promise.allSettled(stores), cancelMs);
    await this.#registry?.close?.();
    await this.broker.close();
  }
}

/** How long a cancelled task may still take to let go. */
const cancelMs = 1_000;

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

async function endsWithin(ended: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([ended.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
