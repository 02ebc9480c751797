/** Makes the tasks of one connector run as the config topic says, as far as they are this worker's, and keeps their statuses. */
import type { Config } from '../../api/index.ts';
import { failureReport } from '../../worker/errors/failureReport.ts';
import type { FailureReport, TaskState } from '../../worker/types.ts';
import type { ConfigReload } from './configReload.ts';
import { newPart, type Part, type PartRestarts, taskPart } from './partRestarts.ts';
import { sameConfig } from './sameConfig.ts';
import type { SupervisorDeps } from './supervisorDeps.ts';

interface RunningTask extends Part {
  connectorConfig: Config;
  taskConfig: Config;
  generation: number | undefined;
  /** Whether it has not yet said how its start went. */
  starting: boolean;
}

export class SupervisedTasks {
  readonly #name: string;
  readonly #deps: SupervisorDeps;
  readonly #reload: ConfigReload;
  readonly #restarts: PartRestarts;
  readonly #tasks = new Map<number, RunningTask>();

  constructor(name: string, deps: SupervisorDeps, reload: ConfigReload, restarts: PartRestarts) {
    this.#name = name;
    this.#deps = deps;
    this.#reload = reload;
    this.#restarts = restarts;
  }

  get parts(): Iterable<Part> {
    return this.#tasks.values();
  }

  get size(): number {
    return this.#tasks.size;
  }

  has(task: number): boolean {
    return this.#tasks.has(task);
  }

  /** Runs exactly the tasks that are committed and this worker's, each with its newest config. */
  async run(): Promise<void> {
    const entry = this.#deps.configs.state.connector(this.#name);
    if (entry === null) return;
    const { statuses } = this.#deps;
    const count = entry.taskConfigs.length;
    const isWanted = (task: number): boolean => entry.target !== 'STOPPED' && task < count && this.#owns(task);
    const ended = [...this.#tasks.keys()].filter(task => !isWanted(task));
    await this.#stop(ended);
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
        const added: RunningTask = { ...newPart(), ...next, starting: true };
        this.#tasks.set(task, added);
        statuses.task(this.#name, task, 'UNASSIGNED', null);
        starts.push(this.#start(task, added));
      } else if (
        running.generation !== generation ||
        !sameConfig(running.taskConfig, taskConfig) ||
        !sameConfig(running.connectorConfig, entry.config)
      ) {
        Object.assign(running, next);
        running.budget.reset();
        starts.push(this.#restart(task, running));
      } else statuses.confirm(this.#name, task);
    }
    await Promise.all(starts);
  }

  /** Starts a task anew, where it is here. */
  async restart(task: number): Promise<void> {
    const running = this.#tasks.get(task);
    if (running === undefined) return;
    running.budget.reset();
    await this.#restart(task, running);
  }

  /** Told by the worker. */
  state(task: number, state: TaskState, failure: FailureReport | null): void {
    const running = this.#tasks.get(task);
    if (running === undefined || running.failed) return;
    if (state === 'FAILED') this.#failed(task, running, failure);
    else if (state === 'RUNNING' || state === 'PAUSED') {
      running.budget.running(Date.now());
      if (running.starting) this.#deps.metrics.countStartup('task', true);
      running.starting = false;
      this.#deps.statuses.task(this.#name, task, state, null);
    }
  }

  stopAll(): Promise<void> {
    return this.#stop([...this.#tasks.keys()]);
  }

  /** With the worker: what is said of them stays. */
  async close(): Promise<void> {
    const ids = [...this.#tasks.keys()].map(task => ({ connector: this.#name, task }));
    this.#tasks.clear();
    await this.#deps.worker.stopTasks(ids);
  }

  #owns(task: number): boolean {
    return this.#deps.owns(this.#name, task);
  }

  async #restart(task: number, running: RunningTask): Promise<void> {
    this.#restarts.cancel(running, task);
    running.failed = true;
    await this.#deps.worker.stopTasks([{ connector: this.#name, task }]);
    await this.#start(task, running);
  }

  async #start(task: number, running: RunningTask): Promise<void> {
    const { worker, metrics, configs } = this.#deps;
    running.failed = false;
    running.starting = true;
    metrics.setNextRestart(this.#name, task, null);
    const entry = configs.state.connector(this.#name);
    if (entry === null) return;
    try {
      const raw = [running.connectorConfig, running.taskConfig];
      const [connectorConfig, taskConfig] = (await this.#reload.resolve(taskPart(task), raw, async () => {
        if (this.#tasks.get(task) === running) await this.#restart(task, running);
      })) as [Config, Config];
      await worker.startTask({
        id: { connector: this.#name, task },
        connectorConfig,
        taskConfig,
        target: entry.target,
        generation: running.generation,
      });
    } catch (error) {
      if (!running.failed) this.#failed(task, running, failureReport(error, { connector: this.#name, task }));
    }
  }

  #failed(task: number, running: RunningTask, failure: FailureReport | null): void {
    const { metrics, statuses, secrets } = this.#deps;
    running.failed = true;
    if (running.starting) metrics.countStartup('task', false);
    running.starting = false;
    const restarts = this.#restarts.schedule(running, task, failure, async () => {
      if (this.#tasks.get(task) !== running) return;
      metrics.countRestart();
      await this.#restart(task, running);
    });
    const trace = failure === null ? null : secrets.mask(failure.trace);
    statuses.task(this.#name, task, restarts ? 'RESTARTING' : 'FAILED', trace);
  }

  async #stop(tasks: readonly number[]): Promise<void> {
    const { metrics, worker } = this.#deps;
    for (const task of tasks) {
      this.#reload.cancel(taskPart(task));
      this.#restarts.cancel(this.#tasks.get(task)!, task);
      this.#tasks.delete(task);
      metrics.removeTask({ connector: this.#name, task });
    }
    if (tasks.length > 0) await worker.stopTasks(tasks.map(task => ({ connector: this.#name, task })));
  }
}
