/**
 * Runs tasks in the thread it lives in, with one broker connection, one set of plugins and one offset store for all of them. The main thread has
 * one, and each task thread.
 */
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import type { Config, Logger } from '../api/index.ts';
import type { Broker } from '../broker/port.ts';
import { connectBroker } from '../broker/connectBroker.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import type { TaskSnapshot } from '../metrics/taskMeter.ts';
import { failureReport } from './errors/failureReport.ts';
import { ConnectorOffsets } from './offsets/connectorOffsets.ts';
import { OffsetStore } from './offsets/offsetStore.ts';
import type { PluginRegistry } from './pluginRegistry.ts';
import { Registries } from './registries.ts';
import { SinkTaskRunner } from './sink/sinkTaskRunner.ts';
import { SourceTaskRunner } from './source/sourceTaskRunner.ts';
import type { TaskDeps } from './taskDeps.ts';
import { taskLogger } from './taskLogger.ts';
import type { TaskRunner } from './taskRunner.ts';
import { type TargetState, type TaskId, type TaskListener, type TaskRequest, taskKey } from './types.ts';

interface Running {
  readonly runner: TaskRunner;
  readonly ended: Promise<void>;
}

export interface TaskHostOptions {
  readonly config: WorkerConfig;
  readonly plugins: PluginRegistry;
  readonly listener: TaskListener;
  readonly logger: Logger;
}

export class TaskHost {
  readonly broker: Broker;
  readonly #options: TaskHostOptions;
  readonly #registries: Registries;
  readonly #deps: TaskDeps;
  readonly #tasks = new Map<string, Running>();
  readonly #stores = new Map<string, Promise<OffsetStore>>();

  private constructor(options: TaskHostOptions, broker: Broker) {
    this.#options = options;
    this.broker = broker;
    this.#registries = new Registries(options.config.registry, options.logger);
    this.#deps = {
      config: options.config,
      broker,
      plugins: options.plugins,
      converterSources: {
        worker: options.config.raw,
        registry: (converterConfig: Config): SchemaRegistry => this.#registries.get(converterConfig),
        plugins: options.plugins,
      },
      offsets: (connector, config) => this.offsets(connector, config),
      listener: options.listener,
      logger: options.logger,
    };
  }

  static async open(options: TaskHostOptions): Promise<TaskHost> {
    return new TaskHost(options, await connectBroker(options.config.broker, options.logger));
  }

  /** Returns at once; how it goes is told to the listener. */
  startTask(request: TaskRequest): void {
    const { id } = request;
    const key = taskKey(id);
    const before = this.#tasks.get(key);
    if (before !== undefined) {
      before.runner.control.stop();
      before.ended.then(
        () => this.startTask(request),
        () => this.startTask(request),
      );
      return;
    }
    const { plugins, listener, logger } = this.#options;
    const kind = plugins.find(request.connectorConfig['connector.class'] ?? '', 'source', 'sink')?.kind;
    const runner =
      kind === 'sink' ? new SinkTaskRunner(request, this.#deps) : new SourceTaskRunner(request, this.#deps);
    const ended = runner.run().then(
      () => listener.taskState(id, 'UNASSIGNED', null),
      error => {
        if (runner.control.stopping.aborted) {
          if (error !== runner.control.stopping.reason && !isAbort(error)) {
            taskLogger(logger, id).warn({ err: error }, 'the task ended with an error while it was stopped');
          }
          listener.taskState(id, 'UNASSIGNED', null);
          return;
        }
        taskLogger(logger, id).error({ err: error }, 'the task failed');
        listener.taskState(id, 'FAILED', failureReport(error, { connector: id.connector, task: id.task }));
      },
    );
    const running = { runner, ended };
    this.#tasks.set(key, running);
    ended.finally(() => {
      if (this.#tasks.get(key) === running) this.#tasks.delete(key);
    });
  }

  setTarget(connector: string, target: TargetState): void {
    for (const { runner } of this.#tasks.values()) {
      if (runner.control.id.connector === connector) runner.control.setTarget(target);
    }
  }

  /** Resolves when the task has ended, or was given up at the end of its time. */
  async stopTask(id: TaskId, gracefulMs: number): Promise<void> {
    const running = this.#tasks.get(taskKey(id));
    if (running === undefined) return;
    running.runner.control.stop();
    if (await endsWithin(running.ended, gracefulMs)) return;
    taskLogger(this.#options.logger, id).warn({ gracefulMs }, 'the task did not stop in time and is cancelled');
    running.runner.control.cancel();
    await endsWithin(running.ended, cancelMs);
    if (this.#tasks.get(taskKey(id)) === running) this.#tasks.delete(taskKey(id));
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
          create: config['internal.topics.automatic.creation.enable'],
          clientId: `${config['group.id']}-offsets`,
        },
        logger,
      );
      this.#stores.set(name, store);
      store.catch(() => this.#stores.delete(name));
    }
    return store;
  }

  async close(gracefulMs: number): Promise<void> {
    await Promise.all([...this.#tasks.values()].map(({ runner }) => this.stopTask(runner.control.id, gracefulMs)));
    for (const store of this.#stores.values()) await (await store).close();
    await this.#registries.close();
    await this.broker.close();
  }
}

/** How long a cancelled task may still take to let go. */
const cancelMs = 1_000;

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

async function endsWithin(ended: Promise<void>, ms: number): Promise<boolean> {
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
