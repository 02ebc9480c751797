/**
 * All metrics of a worker process, in the main thread: the tasks' snapshots, the connectors' and tasks' states, and start-up counts; rendered for
 * Prometheus. Names and meanings are Kafka Connect's, as its JMX exporter rules spell them; sources' own are `debezium_metrics_<name>`, sinks'
 * `millrace_sink_task_<name>`.
 */
import type { Counter, Gauge, Registry } from 'prom-client';
import type { SetValue } from './setValue.ts';
import type { TaskSnapshot, TimingSnapshot } from './taskMeter.ts';
import {
  type TaskCounter,
  type TaskGauge,
  type TaskTiming,
  taskCounters,
  taskGauges,
  taskTimings,
  timingName,
  timingParts,
} from './taskMetricNames.ts';
import { fillTaskPlugins, type TaskPlugins } from './taskPlugins.ts';

export interface TaskId {
  readonly connector: string;
  readonly task: number;
}

/** Who runs what now; asked for at each scrape. */
export interface ConnectorState {
  readonly name: string;
  readonly type: string;
  readonly plugins: TaskPlugins;
  readonly state: string;
  /** Whether the connector itself is this worker's; its tasks may be without it. */
  readonly runsHere: boolean;
  /** Of this worker. */
  readonly tasks: readonly { readonly task: number; readonly state: string }[];
}

/** A worker's part in its cluster. */
export interface RebalanceState {
  readonly leaderUrl: string;
  readonly protocol: string;
  readonly generation: number;
  readonly isRebalancing: boolean;
  readonly completed: number;
  readonly avgMs: number;
  readonly maxMs: number;
  /** ms since the epoch. */
  readonly lastMs: number;
  readonly assignedConnectors: number;
  readonly assignedTasks: number;
}

/** Records per second over the last seconds. */
export interface TaskRates {
  readonly recordsIn: number;
  readonly recordsOut: number;
}

interface TaskEntry extends TaskId {
  snapshot: TaskSnapshot;
  /** Counts of earlier runs of the task: counters go on over a restart. */
  readonly before: Partial<Record<TaskCounter, number>>;
  rateAt: number;
  rateCounts: readonly [number, number];
  rates: TaskRates;
}

const ratePeriodMs = 2_000;
const connectorStates = ['total', 'running', 'paused', 'failed', 'unassigned', 'destroyed', 'restarting'] as const;

export class WorkerMetrics {
  readonly #tasks = new Map<string, TaskEntry>();
  readonly #startups = {
    connector_success: 0,
    connector_failure: 0,
    task_success: 0,
    task_failure: 0,
  };
  #restarts = 0;
  readonly #restartsAhead = new Map<string, { connector: string; task: number | null; atMs: number }>();
  #states: () => readonly ConnectorState[] = () => [];
  #rebalances: (() => RebalanceState) | null = null;
  #registry: Promise<Registry> | null = null;
  readonly #metrics = new Map<string, Gauge | Counter>();

  /** Set by the herder. */
  setStates(states: () => readonly ConnectorState[]): void {
    this.#states = states;
  }

  /** Set by the herder of a cluster. */
  setRebalances(rebalances: () => RebalanceState): void {
    this.#rebalances = rebalances;
  }

  /** The newest counts of a task; called about once a second for each. */
  updateTask(id: TaskId, snapshot: TaskSnapshot): void {
    const key = `${id.task}:${id.connector}`;
    const now = Date.now();
    let entry = this.#tasks.get(key);
    if (entry === undefined) {
      const rates = { recordsIn: 0, recordsOut: 0 };
      entry = { ...id, snapshot, before: {}, rateAt: now, rateCounts: inAndOut(snapshot), rates };
      this.#tasks.set(key, entry);
      return;
    }
    if (wasRestarted(entry.snapshot, snapshot)) {
      for (const [name, value] of Object.entries(entry.snapshot.counters) as [TaskCounter, number][]) {
        entry.before[name] = (entry.before[name] ?? 0) + value;
      }
      entry.rateCounts = [0, 0];
    }
    entry.snapshot = snapshot;
    if (now - entry.rateAt < ratePeriodMs) return;
    const counts = inAndOut(snapshot);
    const seconds = (now - entry.rateAt) / 1000;
    entry.rates = {
      recordsIn: Math.max(0, counts[0] - entry.rateCounts[0]) / seconds,
      recordsOut: Math.max(0, counts[1] - entry.rateCounts[1]) / seconds,
    };
    entry.rateAt = now;
    entry.rateCounts = counts;
  }

  removeTask(id: TaskId): void {
    this.#tasks.delete(`${id.task}:${id.connector}`);
  }

  countStartup(what: 'connector' | 'task', success: boolean): void {
    this.#startups[`${what}_${success ? 'success' : 'failure'}`]++;
  }

  /** Of a task, or the connector itself (null). `atMs` null = none is waited for. */
  setNextRestart(connector: string, task: number | null, atMs: number | null): void {
    const key = `${task ?? ''}:${connector}`;
    if (atMs === null) this.#restartsAhead.delete(key);
    else this.#restartsAhead.set(key, { connector, task, atMs });
  }

  countRestart(): void {
    this.#restarts++;
  }

  task(id: TaskId): { readonly snapshot: TaskSnapshot; readonly rates: TaskRates } | null {
    return this.#tasks.get(`${id.task}:${id.connector}`) ?? null;
  }

  /** Prometheus' text format. */
  async render(): Promise<string> {
    this.#registry ??= this.#createRegistry();
    const registry = await this.#registry;
    for (const metric of this.#metrics.values()) metric.reset();
    this.#fill(await import('prom-client'), registry);
    return withoutNaN(await registry.metrics());
  }

  async #createRegistry(): Promise<Registry> {
    const { Registry: PromRegistry, collectDefaultMetrics } = await import('prom-client');
    const registry = new PromRegistry();
    collectDefaultMetrics({ register: registry });
    return registry;
  }

  #fill(client: typeof import('prom-client'), registry: Registry): void {
    const set: SetValue = (name, help, labels, value) => {
      let metric = this.#metrics.get(name);
      if (metric === undefined) {
        const options = { name, help, labelNames: Object.keys(labels), registers: [registry] };
        metric = isCounter(name) ? new client.Counter(options) : new client.Gauge(options);
        this.#metrics.set(name, metric);
      }
      metric.inc(labels, value);
    };
    this.#fillWorker(set);
    if (this.#rebalances !== null) fillRebalances(set, this.#rebalances());
    const sinks = new Set(
      this.#states()
        .filter(({ type }) => type === 'sink')
        .map(({ name }) => name),
    );
    for (const entry of this.#tasks.values()) fillTask(set, entry, sinks.has(entry.connector));
    for (const { connector, task, atMs } of this.#restartsAhead.values()) {
      const labels = { connector, task: task === null ? '' : String(task) };
      set(
        'millrace_worker_next_restart_timestamp_ms',
        'When what failed is restarted, ms since the epoch.',
        labels,
        atMs,
      );
    }
  }

  #fillWorker(set: SetValue): void {
    const states = this.#states();
    const prefix = 'kafka_connect_worker';
    const tasks = states.flatMap(connector => connector.tasks);
    set(`${prefix}_connector_count`, 'Connectors of this worker.', {}, states.filter(c => c.runsHere).length);
    set(`${prefix}_task_count`, 'Tasks of this worker.', {}, tasks.length);
    for (const what of ['connector', 'task'] as const) {
      const success = this.#startups[`${what}_success`];
      const failure = this.#startups[`${what}_failure`];
      const attempts = success + failure;
      const name = `${prefix}_${what}_startup`;
      set(`${name}_attempts_total`, `Starts of a ${what}.`, {}, attempts);
      set(`${name}_success_total`, `Starts of a ${what} that succeeded.`, {}, success);
      set(`${name}_failure_total`, `Starts of a ${what} that failed.`, {}, failure);
      set(`${name}_success_percentage`, 'Share of starts that succeeded.', {}, attempts === 0 ? 0 : success / attempts);
      set(`${name}_failure_percentage`, 'Share of starts that failed.', {}, attempts === 0 ? 0 : failure / attempts);
    }
    set('millrace_worker_task_restarts_total', 'Restarts of failed tasks by the worker itself.', {}, this.#restarts);
    for (const connector of states) {
      const labels = { connector: connector.name };
      for (const state of connectorStates) {
        const count =
          state === 'total'
            ? connector.tasks.length
            : connector.tasks.filter(t => t.state.toLowerCase() === state).length;
        set(`${prefix}_connector_${state}_task_count`, `Tasks by state: ${state}.`, labels, count);
      }
      const { type, plugins, state, runsHere } = connector;
      const info = {
        ...labels,
        connector_class: plugins.connector.className,
        connector_type: type,
        connector_version: plugins.connector.version ?? '',
        status: state.toLowerCase(),
      };
      const help = 'Class, type, version and state of a connector; always 1.';
      if (runsHere) set('kafka_connect_connector_info', help, info, 1);
      for (const task of connector.tasks) {
        set(
          'kafka_connect_connector_task_status',
          'State of a task, as a label; always 1.',
          { ...labels, task: String(task.task), status: task.state.toLowerCase() },
          1,
        );
        fillTaskPlugins(set, { ...labels, task: String(task.task) }, type, plugins);
      }
    }
  }
}

/** Of what has no value yet, such as the lag of an event loop that was not measured before. */
const withoutNaN = (text: string): string => text.replace(/^\S.* Nan\n/gim, '');

function isCounter(name: string): boolean {
  return name.endsWith('_total') || /_task_error_(total_|deadletterqueue_)/.test(name);
}

function fillRebalances(set: SetValue, state: RebalanceState): void {
  const prefix = 'kafka_connect_worker_rebalance';
  const labels = { leader_name: state.leaderUrl, connect_protocol: state.protocol };
  set(`${prefix}_info`, 'Leader and protocol of the cluster, as labels; always 1.', labels, 1);
  set(`${prefix}_epoch`, 'Generation of the cluster.', {}, state.generation);
  set(`${prefix}_completed_rebalances_total`, 'Rebalances that this worker took part in.', {}, state.completed);
  set(`${prefix}_rebalancing`, 'Whether a rebalance is under way.', {}, state.isRebalancing ? 1 : 0);
  set(`${prefix}_rebalance_avg_time_ms`, 'Time of a rebalance, ms: average.', {}, state.avgMs);
  set(`${prefix}_rebalance_max_time_ms`, 'Time of a rebalance, ms: maximum.', {}, state.maxMs);
  set(`${prefix}_time_since_last_rebalance_ms`, 'Time since the last rebalance, ms.', {}, Date.now() - state.lastMs);
  const { assignedConnectors, assignedTasks } = state;
  const assigned = 'kafka_connect_coordinator_assigned';
  set(`${assigned}_connectors`, 'Connectors that the cluster has given to this worker.', {}, assignedConnectors);
  set(`${assigned}_tasks`, 'Tasks that the cluster has given to this worker.', {}, assignedTasks);
}

const timingWords = { min: 'minimum', avg: 'average', max: 'maximum' } as const;

function fillTask(set: SetValue, entry: TaskEntry, isSink: boolean): void {
  const own = isSink ? 'millrace_sink_task' : 'debezium_metrics';
  const labels = { connector: entry.connector, task: String(entry.task) };
  const { counters, gauges, timings, ownGauges, ownCounters } = entry.snapshot;
  for (const [name, value] of Object.entries(counters) as [TaskCounter, number][]) {
    const { type, help } = taskCounters[name];
    set(`kafka_connect_${type}_${name}`, help, labels, value + (entry.before[name] ?? 0));
  }
  for (const [name, value] of Object.entries(gauges) as [TaskGauge, number][]) {
    const { type, help } = taskGauges[name];
    set(`kafka_connect_${type}_${name}`, help, labels, value);
  }
  for (const [name, timing] of Object.entries(timings) as [TaskTiming, TimingSnapshot][]) {
    const { type, help } = taskTimings[name];
    for (const part of timingParts(name)) {
      set(`kafka_connect_${type}_${timingName(name, part)}`, `${help}: ${timingWords[part]}.`, labels, timing[part]);
    }
  }
  for (const [key, value] of [...Object.entries(ownGauges), ...Object.entries(ownCounters)]) {
    const [name, topic] = key.split(' ') as [string, string?];
    const labelled = topic === undefined ? labels : { ...labels, topic };
    set(`${own}_${name.replace(/[^a-zA-Z0-9_]/g, '_')}`, 'Reported by the connector.', labelled, value);
  }
}

function inAndOut(snapshot: TaskSnapshot): readonly [number, number] {
  const { counters } = snapshot;
  return [
    (counters.source_record_poll_total ?? 0) + (counters.sink_record_read_total ?? 0),
    (counters.source_record_write_total ?? 0) + (counters.sink_record_send_total ?? 0),
  ];
}

/** A new meter counts from zero. */
function wasRestarted(before: TaskSnapshot, now: TaskSnapshot): boolean {
  return (Object.entries(before.counters) as [TaskCounter, number][]).some(
    ([name, value]) => (now.counters[name] ?? 0) < value,
  );
}
