/**
 * Makes one connector and its tasks run as the config topic says, as far as they are this worker's: one change after the other, whatever comes in
 * meanwhile. Keeps their statuses, and restarts what failed.
 */
import { type Config, ConnectError } from '../../api/index.ts';
import { withPlaceholders } from '../../config/configResolver.ts';
import { failureReport } from '../../worker/errors/failureReport.ts';
import type { ConnectorState, FailureReport, TaskState } from '../../worker/types.ts';
import type { ConnectorEntry, TargetState } from '../stores/configState.ts';
import { ConfigReload } from './configReload.ts';
import { connectorPart, newPart, type Part, PartRestarts } from './partRestarts.ts';
import { sameConfig } from './sameConfig.ts';
import { SupervisedTasks } from './supervisedTasks.ts';
import type { SupervisorDeps } from './supervisorDeps.ts';
import { taskClassOf } from './taskClass.ts';

interface RunningConnector extends Part {
  raw: Config;
  resolved: Config;
}

export class ConnectorSupervisor {
  readonly #name: string;
  readonly #deps: SupervisorDeps;
  #connector: RunningConnector | null = null;
  readonly #tasks: SupervisedTasks;
  readonly #reload: ConfigReload;
  readonly #restarts: PartRestarts;
  /** Of what runs. */
  #target: TargetState | null = null;
  #queue: Promise<void> = Promise.resolve();
  #syncQueued = false;
  #closed = false;

  constructor(name: string, deps: SupervisorDeps) {
    this.#name = name;
    this.#deps = deps;
    const { plugins } = deps.worker;
    const common = { ...deps, connector: name, enqueue: (job: () => Promise<void>) => this.#enqueue(job) };
    this.#reload = new ConfigReload({ ...common, plugins });
    const config = () => this.#entry()?.config ?? null;
    this.#restarts = new PartRestarts({ ...common, config, settings: deps.restartSettings });
    this.#tasks = new SupervisedTasks(name, deps, this.#reload, this.#restarts);
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
      for (const task of parts.tasks) await this.#tasks.restart(task);
      await this.#tasks.run();
    });
  }

  /** The connector asked for new task configs. */
  reconfigure(): void {
    void this.#enqueue(async () => {
      const entry = this.#entry();
      if (entry === null || this.#connector === null) return;
      await this.#generateTasks(entry);
      await this.#tasks.run();
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
      this.#restarts.cancel(connector, null);
      connector.budget.running(Date.now());
      this.#deps.statuses.connector(this.#name, state, null);
    }
  }

  /** Told by the worker. */
  taskState(task: number, state: TaskState, failure: FailureReport | null): void {
    this.#tasks.state(task, state, failure);
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
    this.#restarts.close([...(this.#connector === null ? [] : [this.#connector]), ...this.#tasks.parts]);
    await Promise.all([this.#tasks.close(), this.#deps.worker.stopConnector(this.#name)]);
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
      await this.#tasks.stopAll();
      await this.#stopConnector();
      this.#deps.secrets.set(this.#name, []);
      if (ran || this.#owns(null)) this.#deps.statuses.forget(this.#name);
      return;
    }
    if (!this.#owns(null)) await this.#releaseConnector();
    if (this.#target !== entry.target) await this.#setTarget(entry.target);
    if (entry.target === 'STOPPED') {
      await this.#stopConnector();
      await this.#tasks.run();
      if (this.#owns(null)) this.#deps.statuses.connector(this.#name, 'STOPPED', null);
      return;
    }
    if (this.#owns(null)) {
      // Tasks of an earlier life need not wait for their connector.
      if (this.#connector === null) await Promise.all([this.#startConnector(entry), this.#tasks.run()]);
      else if (!sameConfig(this.#connector.raw, entry.config)) await this.#startConnector(entry);
      else this.#deps.statuses.confirm(this.#name, null);
      await this.#generateTasks(entry);
    }
    await this.#tasks.run();
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
      this.#restarts.cancel(before, null);
      await worker.stopConnector(this.#name);
    }
    const connector = { ...newPart(before?.budget), raw: entry.config, resolved: entry.config };
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

  #connectorFailed(connector: RunningConnector, failure: FailureReport | null): void {
    connector.failed = true;
    const restarts = this.#restarts.schedule(connector, null, failure, () => this.#startAgain(connector));
    this.#deps.statuses.connector(this.#name, restarts ? 'RESTARTING' : 'FAILED', this.#shown(failure));
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

  async #stopConnector(): Promise<void> {
    if (this.#connector === null) return;
    this.#reload.cancel(connectorPart);
    this.#restarts.cancel(this.#connector, null);
    this.#connector = null;
    await this.#deps.worker.stopConnector(this.#name);
  }
}

function checkTaskCount(count: number, config: Config): void {
  const max = Number(config['tasks.max'] ?? 1);
  if (count <= max || config['tasks.max.enforce'] === 'false') return;
  throw new ConnectError(
    'CONFIG_INVALID',
    `The connector has generated ${count} tasks, which is more than tasks.max=${max}. Raise tasks.max, or set tasks.max.enforce=false.`,
  );
}
