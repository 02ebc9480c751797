/**
 * Counts for one task, in the thread that runs it. Meant for calls per batch, not per record. `snapshot` is plain data, to be posted to the main
 * thread and given to WorkerMetrics.
 */
import type { TaskMetrics } from '../api/taskMetrics.ts';
import type { TaskCounter, TaskGauge, TaskTiming, TimingPart } from './taskMetricNames.ts';

export type TimingSnapshot = Readonly<Record<TimingPart, number>>;

export interface TaskSnapshot {
  readonly counters: Readonly<Partial<Record<TaskCounter, number>>>;
  readonly gauges: Readonly<Partial<Record<TaskGauge, number>>>;
  readonly timings: Readonly<Partial<Record<TaskTiming, TimingSnapshot>>>;
  /** What the connector itself reports, under its names. */
  readonly ownGauges: Readonly<Record<string, number>>;
  /** Names, some with a topic behind a space. */
  readonly ownCounters: Readonly<Record<string, number>>;
}

const windowMs = 30_000;

export class TaskMeter implements TaskMetrics {
  readonly #counters: Partial<Record<TaskCounter, number>> = {};
  readonly #gauges: Partial<Record<TaskGauge, number>> = {};
  readonly #timings = new Map<TaskTiming, TimingWindows>();
  readonly #ownGauges: Record<string, number> = {};
  readonly #ownCounters: Record<string, number> = {};

  add(name: TaskCounter, by = 1): void {
    this.#counters[name] = (this.#counters[name] ?? 0) + by;
  }

  set(name: TaskGauge, value: number): void {
    this.#gauges[name] = value;
  }

  observe(name: TaskTiming, value: number): void {
    let timing = this.#timings.get(name);
    if (timing === undefined) this.#timings.set(name, (timing = new TimingWindows()));
    timing.add(value, Date.now());
  }

  gauge(name: string, value: number): void {
    this.#ownGauges[name] = value;
  }

  count(name: string, by = 1, topic = ''): void {
    const key = topic === '' ? name : `${name} ${topic}`;
    this.#ownCounters[key] = (this.#ownCounters[key] ?? 0) + by;
  }

  snapshot(): TaskSnapshot {
    const now = Date.now();
    const timings: Partial<Record<TaskTiming, TimingSnapshot>> = {};
    for (const [name, timing] of this.#timings) timings[name] = timing.read(now);
    return {
      counters: { ...this.#counters },
      gauges: { ...this.#gauges },
      timings,
      ownGauges: { ...this.#ownGauges },
      ownCounters: { ...this.#ownCounters },
    };
  }
}

/** Two windows of 30 s: the one before and the current one, so that a value is seen for 30 to 60 s. */
class TimingWindows {
  #start = 0;
  #sum = 0;
  #count = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;
  #beforeSum = 0;
  #beforeCount = 0;
  #beforeMin = Number.POSITIVE_INFINITY;
  #beforeMax = 0;

  add(value: number, now: number): void {
    this.#turn(now);
    this.#sum += value;
    this.#count++;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  read(now: number): TimingSnapshot {
    this.#turn(now);
    const count = this.#count + this.#beforeCount;
    return {
      min: count === 0 ? 0 : Math.min(this.#min, this.#beforeMin),
      avg: count === 0 ? 0 : (this.#sum + this.#beforeSum) / count,
      max: Math.max(this.#max, this.#beforeMax),
    };
  }

  #turn(now: number): void {
    const age = now - this.#start;
    if (age < windowMs) return;
    const recent = age < 2 * windowMs;
    this.#beforeSum = recent ? this.#sum : 0;
    this.#beforeCount = recent ? this.#count : 0;
    this.#beforeMin = recent ? this.#min : Number.POSITIVE_INFINITY;
    this.#beforeMax = recent ? this.#max : 0;
    this.#sum = 0;
    this.#count = 0;
    this.#min = Number.POSITIVE_INFINITY;
    this.#max = 0;
    this.#start = now;
  }
}
