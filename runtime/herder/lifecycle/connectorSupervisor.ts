/**
 * Makes one connector and its tasks run as the config topic says, as far as they are this worker's: one change after the other, whatever comes in
 * meanwhile. Keeps their statuses, and restarts what failed.
 */
import { type Config, ConnectError, type Logger } from '../../api/index.ts';
import { type ConfigResolver, withPlaceholders } from '../../config/configResolver.ts';
import type { SecretMask } from '../../config/secretMask.ts';
import type { WorkerMetrics } from '../../metrics/workerMetrics.ts';
import { failureReport } from '../../worker/errors/failureReport.ts';
import type { ConnectorState, FailureReport, TaskState } from '../../worker/types.ts';
import type { Worker } from '../../worker/worker.ts';
import type { ConfigState, ConnectorEntry, TargetState } from '../stores/configState.ts';
import { ConfigReload } from './configReload.ts';
import { mayHeal, RestartBudget, type RestartSettings } from './restartPolicy.ts';
import type { StatusBoard } from './statusBoard.ts';
import { taskClassOf } from './taskClass.ts';

export interface SupervisorDeps {
  readonly worker: Worker;
  readonly configs: { readonly state: ConfigState };
  /** Whether a task, or the connector (null), is to run on this worker. */
  readonly owns: (connector: string, task: number | null) => boolean;
  /** Makes new task configs count, now or later; `configs.state` then shows them. */
  readonly commitTasks: (connector: string, configs: readonly Config[]) => Promise<void>;
  /** Of the task configs, where tasks start with it: all of a new one fence those before. */
  readonly generation: (connector: string) => number | undefined;
  readonly statuses: StatusBoard;
  readonly resolver: ConfigResolver;
  readonly secrets: SecretMask;
  readonly metrics: WorkerMetrics;
  readonly logger: Logger;
  readonly restartSettings: (config: Config) => RestartSettings;
  readonly unknownKeys: (config: Config) => Promise<readonly string[]>;
}

interface Part {
  readonly budget: RestartBudget;
  failed: boolean;
  timer: NodeJS.Timeout | null;
}

interface RunningConnector extends Part {
  raw: Config;
  resolved: Config;
}

interface RunningTask extends Part {
  connectorConfig: Config;
  taskConfig: Config;
  generation: number | undefined;
  /** Whether it has not yet said how its start went. */
  starting: boolean;
}

export class ConnectorSupervisor {
  readonly #name: string;
  readonly #deps: SupervisorDeps;
  #connector: RunningConnector | null = null;
  readonly #tasks = new Map<number, RunningTask>();
  readonly #reload: ConfigReload;
  /** Of what runs. */
  #target: TargetState | null = null;
  #queue: Promise<void> = Promise.resolve();
  #syncQueued = false;
  #closed = false;

  constructor(name: string, deps: SupervisorDeps) {
    this.#name = name;
    this.#deps = deps;
    const { plugins } = deps.worker;
    this.#reload = new ConfigReload({ ...deps, connector: name, plugins, enqueue: job => this.#enqueue(job) });
  }

  /** Takes up what the config topic says now. Never rejects: what goes wrong is in the statuses. */
  sync(): Promise<void> {
    if (this.#syncQueued) return this.#queue;
    this.#syncQueued = true;
    return this.#enqueue(() => {
      this.#syncQueued = false;
      return this.#sync();
    });
  }

  /** Stops and starts parts of it, as far as they are there and wanted. */
  restart(parts: { readonly connector: boolean; readonly tasks: readonly number[] }): Promise<void> {
    return this.#enqueue(async () => {
      const entry = this.#entry();
      if (entry === null || entry.target === 'STOPPED') return;
      if (parts.connector && this.#owns(null)) {
        this.#connector?.budget.reset();
        await this.#startConnector(entry);
        await this.#generateTasks(entry);
      }
      for (const task of parts.tasks) {
        const running = this.#tasks.get(task);
        if (running === undefined) continue;
        running.budget.reset();
        await this.#restartTask(task, running);
      }
      await this.#runTasks();
    });
  }

  /** The connector asked for new task configs. */
  reconfigure(): void {
    void this.#enqueue(async () => {
      const entry = this.#entry();
      if (entry === null || this.#connector === null) return;
      await this.#generateTasks(entry);
      await this.#runTasks();
    });
  }

  /** Told by the worker. */
  connectorState(state: ConnectorState, failure: FailureReport | null): void {
    const connector = this.#connector;
    if (connector === null) return;
    if (state === 'FAILED') {
      if (!connector.failed) this.#connectorFailed(connector, failure);
    } else if (state === 'RUNNING' || state === 'PAUSED') {
      // Pause and resume make a fresh start, of a failed connector too.
      connector.failed = false;
      cancelTimer(connector);
      connector.budget.running(Date.now());
      this.#deps.statuses.connector(this.#name, state, null);
    }
  }

  /** Told by the worker. */
  taskState(task: number, state: TaskState, failure: FailureReport | null): void {
    const running = this.#tasks.get(task);
    if (running === undefined || running.failed) return;
    if (state === 'FAILED') this.#taskFailed(task, running, failure);
    else if (state === 'RUNNING' || state === 'PAUSED') {
      running.budget.running(Date.now());
      if (running.starting) this.#deps.metrics.countStartup('task', true);
      running.starting = false;
      this.#deps.statuses.task(this.#name, task, state, null);
    }
  }

  /** Told by the worker. */
  topicUsed(task: number, topic: string): void {
    if (this.#tasks.has(task)) this.#deps.statuses.topicUsed(this.#name, task, topic);
  }

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    return this.#queue;
  }

  /** Stops what runs, whatever the config topic says, and starts nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#reload.close();
    for (const part of [this.#connector, ...this.#tasks.values()]) if (part !== null) cancelTimer(part);
    const ids = [...this.#tasks.keys()].map(task => ({ connector: this.#name, task }));
    this.#tasks.clear();
    await Promise.all([this.#deps.worker.stopTasks(ids), this.#deps.worker.stopConnector(this.#name)]);
  }

  #enqueue(job: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      if (this.#closed) return;
      try {
        await job();
      } catch (error) {
        // A job that cannot even note its failure: the config topic could not be written, for one.
        const report = failureReport(error, { connector: this.#name });
        this.#deps.statuses.connector(this.#name, 'FAILED', this.#shown(report));
        this.#deps.logger.error({ err: error, connector: this.#name }, 'connector could not be brought into its state');
      }
    });
    return this.#queue;
  }

  #entry(): ConnectorEntry | null {
    return this.#deps.configs.state.connector(this.#name);
  }

  #owns(task: number | null): boolean {
    return this.#deps.owns(this.#name, task);
  }

  async #sync(): Promise<void> {
    const entry = this.#entry();
    if (entry === null) {
      const ran = this.#connector !== null || this.#tasks.size > 0;
      await this.#stopTasks([...this.#tasks.keys()]);
      await this.#stopConnector();
      this.#deps.secrets.set(this.#name, []);
      if (ran || this.#owns(null)) this.#deps.statuses.forget(this.#name);
      return;
    }
    if (!this.#owns(null)) await this.#releaseConnector();
    if (this.#target !== entry.target) await this.#setTarget(entry.target);
    if (entry.target === 'STOPPED') {
      await this.#stopConnector();
      await this.#runTasks();
      if (this.#owns(null)) this.#deps.statuses.connector(this.#name, 'STOPPED', null);
      return;
    }
    if (this.#owns(null)) {
      // Tasks of an earlier life need not wait for their connector.
      if (this.#connector === null) await Promise.all([this.#startConnector(entry), this.#runTasks()]);
      else if (!sameConfig(this.#connector.raw, entry.config)) await this.#startConnector(entry);
      else this.#deps.statuses.confirm(this.#name, null);
      await this.#generateTasks(entry);
    }
    await this.#runTasks();
  }

  async #setTarget(target: TargetState): Promise<void> {
    const before = this.#target;
    this.#target = target;
    if (before !== null && target !== 'STOPPED') await this.#deps.worker.setTarget(this.#name, target);
  }

  async #releaseConnector(): Promise<void> {
    if (this.#connector === null) return;
    await this.#stopConnector();
    this.#deps.statuses.released(this.#name, null);
  }

  async #startConnector(entry: ConnectorEntry): Promise<void> {
    const { worker, metrics } = this.#deps;
    const before = this.#connector;
    if (before !== null) {
      cancelTimer(before);
      await worker.stopConnector(this.#name);
    }
    const connector: RunningConnector = {
      raw: entry.config,
      resolved: entry.config,
      budget: before?.budget ?? new RestartBudget(),
      failed: false,
      timer: null,
    };
    this.#connector = connector;
    metrics.setNextRestart(this.#name, null, null);
    try {
      const restart = () => this.#startAgain(connector);
      [connector.resolved] = (await this.#reload.resolve(connectorPart, [entry.config], restart)) as [Config];
      await worker.startConnector(this.#name, connector.resolved, entry.target);
      metrics.countStartup('connector', true);
      await this.#warnUnknownKeys(entry.config);
    } catch (error) {
      metrics.countStartup('connector', false);
      if (!connector.failed) this.#connectorFailed(connector, failureReport(error, { connector: this.#name }));
      return;
    }
    if (!connector.failed) this.connectorState(entry.target === 'PAUSED' ? 'PAUSED' : 'RUNNING', null);
  }

  async #warnUnknownKeys(config: Config): Promise<void> {
    const keys = await this.#deps.unknownKeys(config);
    if (keys.length === 0) return;
    const message = `keys of connector ${this.#name} that nothing reads, check their spelling: ${keys.join(', ')}`;
    this.#deps.logger.warn({ connector: this.#name, keys }, message);
  }

  /** Asks the connector for its task configs, and commits them where they are new. */
  async #generateTasks(entry: ConnectorEntry): Promise<void> {
    const connector = this.#connector;
    if (connector === null || connector.failed || entry.target !== 'STARTED') return;
    let generated: readonly Config[];
    try {
      generated = await this.#deps.worker.taskConfigs(this.#name);
      checkTaskCount(generated.length, connector.resolved);
    } catch (error) {
      this.#connectorFailed(connector, failureReport(error, { connector: this.#name }));
      return;
    }
    const plugin = this.#deps.worker.plugins.connector(connector.resolved['connector.class']!);
    const configs = generated.map(config => ({
      ...withPlaceholders(config, connector.raw, connector.resolved),
      name: this.#name,
      'task.class': taskClassOf(plugin.className),
    }));
    const committed = entry.taskConfigs;
    const same = committed.length === configs.length && configs.every((config, i) => sameConfig(config, committed[i]!));
    if (!same) await this.#deps.commitTasks(this.#name, configs);
  }

  /** Runs exactly the tasks that are committed and this worker's, each with its newest config. */
  async #runTasks(): Promise<void> {
    const entry = this.#entry();
    if (entry === null) return;
    const { statuses } = this.#deps;
    const count = entry.taskConfigs.length;
    const isWanted = (task: number): boolean => entry.target !== 'STOPPED' && task < count && this.#owns(task);
    const ended = [...this.#tasks.keys()].filter(task => !isWanted(task));
    await this.#stopTasks(ended);
    for (const task of ended) if (task < count) statuses.released(this.#name, task);
    for (const [task] of statuses.tasks(this.#name)) {
      if (task >= count && (ended.includes(task) || this.#owns(task))) statuses.forgetTask(this.#name, task);
    }
    if (entry.target === 'STOPPED') return;
    const starts: Promise<void>[] = [];
    const generation = this.#deps.generation(this.#name);
    for (const [task, taskConfig] of entry.taskConfigs.entries()) {
      if (!this.#owns(task)) continue;
      const running = this.#tasks.get(task);
      const next = { connectorConfig: entry.config, taskConfig, generation };
      if (running === undefined) {
        const added: RunningTask = { ...next, budget: new RestartBudget(), failed: false, timer: null, starting: true };
        this.#tasks.set(task, added);
        statuses.task(this.#name, task, 'UNASSIGNED', null);
        starts.push(this.#startTask(task, added));
      } else if (
        running.generation !== generation ||
        !sameConfig(running.taskConfig, taskConfig) ||
        !sameConfig(running.connectorConfig, entry.config)
      ) {
        Object.assign(running, next);
        running.budget.reset();
        starts.push(this.#restartTask(task, running));
      } else statuses.confirm(this.#name, task);
    }
    await Promise.all(starts);
  }

  async #restartTask(task: number, running: RunningTask): Promise<void> {
    cancelTimer(running);
    running.failed = true;
    await this.#deps.worker.stopTasks([{ connector: this.#name, task }]);
    await this.#startTask(task, running);
  }

  async #startTask(task: number, running: RunningTask): Promise<void> {
    const { worker } = this.#deps;
    running.failed = false;
    running.starting = true;
    this.#deps.metrics.setNextRestart(this.#name, task, null);
    const entry = this.#entry();
    if (entry === null) return;
    try {
      const raw = [running.connectorConfig, running.taskConfig];
      const [connectorConfig, taskConfig] = (await this.#reload.resolve(taskPart(task), raw, async () => {
        if (this.#tasks.get(task) === running) await this.#restartTask(task, running);
      })) as [Config, Config];
      await worker.startTask({
        id: { connector: this.#name, task },
        connectorConfig,
        taskConfig,
        target: entry.target,
        generation: running.generation,
      });
    } catch (error) {
      if (!running.failed) this.#taskFailed(task, running, failureReport(error, { connector: this.#name, task }));
    }
  }

  #connectorFailed(connector: RunningConnector, failure: FailureReport | null): void {
    connector.failed = true;
    const restart = this.#scheduleRestart(connector, null, failure, () => this.#startAgain(connector));
    this.#deps.statuses.connector(this.#name, restart ? 'RESTARTING' : 'FAILED', this.#shown(failure));
  }

  #taskFailed(task: number, running: RunningTask, failure: FailureReport | null): void {
    running.failed = true;
    if (running.starting) this.#deps.metrics.countStartup('task', false);
    running.starting = false;
    const restart = this.#scheduleRestart(running, task, failure, async () => {
      if (this.#tasks.get(task) !== running) return;
      this.#deps.metrics.countRestart();
      await this.#restartTask(task, running);
    });
    this.#deps.statuses.task(this.#name, task, restart ? 'RESTARTING' : 'FAILED', this.#shown(failure));
  }

  async #startAgain(connector: RunningConnector): Promise<void> {
    if (this.#connector !== connector) return;
    const entry = this.#entry();
    if (entry === null || entry.target === 'STOPPED') return;
    await this.#startConnector(entry);
    await this.#sync();
  }

  #shown(failure: FailureReport | null): string | null {
    return failure === null ? null : this.#deps.secrets.mask(failure.trace);
  }

  /** False = it stays failed. */
  #scheduleRestart(part: Part, task: number | null, failure: FailureReport | null, job: () => Promise<void>): boolean {
    const what = task === null ? connectorPart : taskPart(task);
    const { logger, metrics, restartSettings } = this.#deps;
    const entry = this.#entry();
    const mayRestart = !this.#closed && entry !== null && (failure === null || mayHeal(failure));
    const delayMs = mayRestart ? part.budget.afterFailure(restartSettings(entry.config), Date.now()) : null;
    const fields = { connector: this.#name, trace: failure?.trace };
    if (delayMs === null) {
      logger.error(fields, `${what} of connector ${this.#name} failed`);
      return false;
    }
    logger.warn(
      { ...fields, delayMs, nextAttempt: new Date(Date.now() + delayMs).toISOString() },
      `${what} of connector ${this.#name} failed and will be restarted in ${delayMs} ms`,
    );
    cancelTimer(part);
    metrics.setNextRestart(this.#name, task, Date.now() + delayMs);
    part.timer = setTimeout(() => {
      part.timer = null;
      void this.#enqueue(job);
    }, delayMs);
    part.timer.unref();
    return true;
  }

  async #stopConnector(): Promise<void> {
    if (this.#connector === null) return;
    this.#reload.cancel(connectorPart);
    cancelTimer(this.#connector);
    this.#connector = null;
    this.#deps.metrics.setNextRestart(this.#name, null, null);
    await this.#deps.worker.stopConnector(this.#name);
  }

  async #stopTasks(tasks: readonly number[]): Promise<void> {
    for (const task of tasks) {
      this.#reload.cancel(taskPart(task));
      cancelTimer(this.#tasks.get(task)!);
      this.#tasks.delete(task);
      this.#deps.metrics.removeTask({ connector: this.#name, task });
      this.#deps.metrics.setNextRestart(this.#name, task, null);
    }
    if (tasks.length > 0) await this.#deps.worker.stopTasks(tasks.map(task => ({ connector: this.#name, task })));
  }
}

const connectorPart = 'connector';
const taskPart = (task: number): string => `task ${task}`;

function cancelTimer(part: Part): void {
  if (part.timer !== null) clearTimeout(part.timer);
  part.timer = null;
}

function checkTaskCount(count: number, config: Config): void {
  const max = Number(config['tasks.max'] ?? 1);
  if (count <= max || config['tasks.max.enforce'] === 'false') return;
  throw new ConnectError(
    'CONFIG_INVALID',
    `The connector has generated ${count} tasks, which is more than tasks.max=${max}. Raise tasks.max, or set tasks.max.enforce=false.`,
  );
}

function sameConfig(a: Config, b: Config): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every(key => a[key] === b[key]);
}
