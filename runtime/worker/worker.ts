/**
 * Runs connectors and tasks as it is told, and reports how they are; what is to run where is the herder's matter. Connectors live in the main
 * thread, tasks on a pool of threads.
 */
import { asConnectError } from '../../schemas/errors.ts';
import type { Config, Logger, SourceOffset, SourcePartition } from '../api/index.ts';
import type { Broker } from '../broker/port.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import type { TaskSnapshot } from '../metrics/taskMeter.ts';
import { ConnectorHost, type ConnectorListener } from './connectorHost.ts';
import type { OffsetChange } from './offsets/offsetStore.ts';
import { type DeclaredModule, PluginRegistry } from './pluginRegistry.ts';
import type { SourcePosition } from './source/offsetTracker.ts';
import { TaskHost } from './taskHost.ts';
import { installTestHooks } from './testHooks.ts';
import { TaskPool } from './threads/taskPool.ts';
import {
  type TargetState,
  type TaskGuard,
  type TaskId,
  type TaskListener,
  type TaskRequest,
  taskKey,
} from './types.ts';

export type WorkerListener = TaskListener & ConnectorListener;

/** Where the counts of tasks go, about once a second for each. */
export interface MetricsSink {
  updateTask(id: TaskId, snapshot: TaskSnapshot): void;
}

export interface WorkerOptions {
  readonly config: WorkerConfig;
  /** A URL alone: of a module that has to be imported to know what is in it. */
  readonly pluginModules: readonly (DeclaredModule | string)[];
  readonly listener: WorkerListener;
  /** Asked by tasks that deliver exactly once; a worker alone has none. */
  readonly guard?: TaskGuard;
  readonly metrics: MetricsSink;
  readonly logger: Logger;
}

const metricsMs = 1_000;

/** Of a worker that runs alone: there is nobody to be fenced. */
const noGuard: TaskGuard = { ask: async () => {} };

export class Worker {
  readonly plugins: PluginRegistry;
  readonly #options: WorkerOptions;
  readonly #host: TaskHost;
  readonly #pool: TaskPool;
  readonly #connectors: ConnectorHost;
  readonly #tasks = new Set<string>();
  readonly #metricsTimer: NodeJS.Timeout;
  readonly #removeTestHooks: () => void;

  private constructor(options: WorkerOptions, plugins: PluginRegistry, host: TaskHost) {
    const { config, listener, logger, guard = noGuard } = options;
    this.#options = options;
    this.plugins = plugins;
    this.#host = host;
    const onMetrics = (id: TaskId, snapshot: TaskSnapshot): void => {
      if (this.#tasks.has(taskKey(id))) options.metrics.updateTask(id, snapshot);
    };
    this.#pool = new TaskPool({ host, config, pluginModules: plugins.modules, listener, guard, onMetrics, logger });
    this.#connectors = new ConnectorHost({
      plugins,
      offsets: (name, connectorConfig) => host.offsets(name, connectorConfig),
      listener,
      logger,
    });
    this.#metricsTimer = setInterval(() => {
      for (const { id, snapshot } of host.snapshots()) onMetrics(id, snapshot);
    }, metricsMs);
    this.#metricsTimer.unref();
    this.#removeTestHooks = installTestHooks(this.#pool, logger);
  }

  static async start(options: WorkerOptions): Promise<Worker> {
    const { config, listener, logger, guard = noGuard } = options;
    const plugins = await PluginRegistry.open(options.pluginModules);
    const host = await TaskHost.open({ config, plugins, listener, guard, logger });
    return new Worker(options, plugins, host);
  }

  /** The connection of the main thread. */
  get broker(): Broker {
    return this.#host.broker;
  }

  /** Rejects where the connector does not start. */
  startConnector(name: string, config: Config, target: TargetState): Promise<void> {
    return this.#connectors.start(name, config, target);
  }

  taskConfigs(name: string): Promise<Config[]> {
    return this.#connectors.taskConfigs(name);
  }

  stopConnector(name: string): Promise<void> {
    return this.#connectors.stop(name);
  }

  /** Resolves at once; how the task goes is told to the listener. */
  async startTask(request: TaskRequest): Promise<void> {
    this.#tasks.add(taskKey(request.id));
    this.#pool.startTask(request);
  }

  /** Of a connector and its tasks. */
  async setTarget(name: string, target: TargetState): Promise<void> {
    this.#pool.setTarget(name, target);
    await this.#connectors.setTarget(name, target);
  }

  async stopTasks(ids: readonly TaskId[]): Promise<void> {
    for (const id of ids) this.#tasks.delete(taskKey(id));
    const gracefulMs = this.#options.config['task.shutdown.graceful.timeout.ms'];
    await Promise.all(ids.map(id => this.#pool.stopTask(id, gracefulMs)));
  }

  forgetTopics(name: string, asOfMs: number): void {
    this.#pool.forgetTopics(name, asOfMs);
  }

  async sourceOffsets(name: string, config: Config): Promise<SourcePosition[]> {
    return (await this.#host.offsets(name, config)).list();
  }

  /**
   * Alters the offsets named, or with null resets all. The connector is asked first. True = nothing is left to be altered elsewhere.
   * The connector must be stopped.
   */
  async alterSourceOffsets(
    name: string,
    config: Config,
    changes: readonly { readonly partition: unknown; readonly offset: unknown }[] | null,
  ): Promise<boolean> {
    const offsets = await this.#host.offsets(name, config);
    const all: readonly OffsetChange[] =
      changes === null
        ? (await offsets.list()).map(({ partition }) => ({ partition, offset: null }))
        : (changes as readonly OffsetChange[]);
    const plugin = await this.plugins.load(config['connector.class'] ?? '', 'source');
    const hook = plugin.createConnector();
    const pairs = all.map(({ partition, offset }): readonly [SourcePartition, SourceOffset | null] => [
      partition,
      offset,
    ]);
    let complete: boolean;
    try {
      complete = (await hook.alterOffsets?.(config, pairs)) ?? false;
    } catch (error) {
      // Whatever a connector trips over in them came with the request.
      throw asConnectError(error, 'OFFSETS_INVALID');
    }
    await offsets.write(all);
    return complete;
  }

  /** Ends the thread that runs a task, as a crash would. False = the task runs in the main thread, or not at all. */
  async terminateThreadOf(id: TaskId): Promise<boolean> {
    const thread = this.#pool.threadOf(id);
    await thread?.terminate();
    return thread !== null;
  }

  async close(): Promise<void> {
    clearInterval(this.#metricsTimer);
    this.#removeTestHooks();
    const gracefulMs = this.#options.config['task.shutdown.graceful.timeout.ms'];
    await Promise.all([this.#pool.close(gracefulMs), this.#connectors.close()]);
    await this.#host.close(gracefulMs);
  }
}
