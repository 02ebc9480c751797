/**
 * The sink task of targets that take documents: records in, documents encoded into the lanes, which write them while the next are encoded. Records are folded,
 * retried and reported as the rows of a SQL sink are; offsets are safe only when the lanes are empty.
 */
import {
  asConnectError,
  type Config,
  type ConfigError,
  ConnectError,
  partitionOf,
  type SinkBatch,
  type SinkTask,
  type SinkTaskContext,
  type TopicPartition,
} from '../../runtime/api/index.ts';
import { type ChangeRun, type RunNeeds, readRuns } from './changeRun.ts';
import { failingFinally } from './failingFinally.ts';
import { type FlushBounds, FlushLane, type FlushTarget } from './flushLane.ts';
import { FlushLanes } from './flushLanes.ts';
import { type FailureClass, retryTransient } from './retryTransient.ts';
import type { RowLog } from './rowLog.ts';

/** How the records of one run become documents of one collection or index. */
export interface DocumentPlan {
  /** Appends record `i` of the run to the log, or leaves it out. Throws ConnectError for one that cannot be a document. */
  encode(i: number, log: RowLog, originId: number): void;
}

/** A target that is being written to. */
export interface DocumentTarget {
  /** What is read of the records. */
  readonly needs: RunNeeds;
  /** Of all lanes together. */
  readonly bounds: FlushBounds;
  /** One for each request that may be under way at the same time; documents of one key take the same. */
  readonly writers: readonly FlushTarget[];
  /** null = without end. */
  readonly maxRetries: number | null;
  readonly retryBackoffMs: number;
  /** Connects, so that a wrong address or login is known at the start. */
  open(): Promise<void>;
  /** Drops the connections; what they are doing may come about or not. */
  close(): Promise<void>;
  /** The collection or index of the run is there afterwards, if the target makes it. */
  plan(run: ChangeRun): Promise<DocumentPlan>;
  classify(error: unknown): FailureClass;
  /** An error as the task fails with it. */
  asFailure(error: unknown): ConnectError;
}

/** One kind of target: its configuration, and how to write to it. */
export interface DocumentSinkKind {
  /** Everything that can be said without a connection. */
  checkConfig(config: Config): readonly ConfigError[];
  target(config: Config, context: SinkTaskContext): DocumentTarget;
}

export class DocumentSinkTask implements SinkTask {
  readonly #kind: DocumentSinkKind;
  #context!: SinkTaskContext;
  #target: DocumentTarget | null = null;
  #lanes!: FlushLanes;

  constructor(kind: DocumentSinkKind) {
    this.#kind = kind;
  }

  async start(config: Config, context: SinkTaskContext): Promise<void> {
    const [problem] = this.#kind.checkConfig(config);
    if (problem) throw new ConnectError('CONFIG_INVALID', problem.message);
    this.#context = context;
    const target = this.#kind.target(config, context);
    this.#target = target;
    const { logger, metrics, signal } = context;
    const { maxRetries, retryBackoffMs } = target;
    const classify = (error: unknown): FailureClass => target.classify(error);
    const retry = retryTransient({ classify, maxRetries, retryBackoffMs, signal, logger, metrics });
    const bounds = { ...target.bounds, maxBytes: Math.ceil(target.bounds.maxBytes / target.writers.length) };
    this.#lanes = new FlushLanes(
      target.writers.map(writer => new FlushLane({ target: writer, bounds, metrics, retry })),
      () => null,
    );
    await this.#failing(() => retry(() => target.open()));
  }

  put(batches: readonly SinkBatch[]): Promise<void> {
    return this.#failing(async () => {
      await this.#lanes.adapt();
      for (const batch of batches) for (const run of readRuns(batch, this.#target!.needs)) await this.#putRun(run);
      this.#lanes.nudge();
    });
  }

  async #putRun(run: ChangeRun): Promise<void> {
    const plan = await this.#target!.plan(run);
    for (let at = 0; at < run.count; ) {
      const { log, room, maxBytes } = await this.#lanes.open();
      const { next, error } = encodeRange(run, plan, at, Math.min(run.count, at + room), log, maxBytes);
      await this.#lanes.take(log);
      at = next;
      if (error === null) continue;
      this.#context.metrics.count('rejected_records');
      await this.#context.reportErrantRecord(run.batch.record(run.from + at - 1), error);
    }
  }

  async preCommit(current: ReadonlyMap<TopicPartition, number>): Promise<ReadonlyMap<TopicPartition, number>> {
    await this.#failing(() => this.#lanes.drain());
    return current;
  }

  async close(): Promise<void> {
    if (!this.#context.signal.aborted) await this.#failing(() => this.#lanes.drain());
  }

  async stop(): Promise<void> {
    const target = this.#target;
    this.#target = null;
    await target?.close();
    await this.#lanes?.abandon();
  }

  #failing<T>(work: () => Promise<T>): Promise<T> {
    return failingFinally(
      work,
      this.#context.signal,
      error => this.#target?.asFailure(error) ?? asConnectError(error, 'SINK_WRITE_FAILED'),
    );
  }
}

/** Encodes records [from, to) of the run until one fails, which is the one before `next`, or the log is as full as `maxBytes`. */
function encodeRange(
  run: ChangeRun,
  plan: DocumentPlan,
  from: number,
  to: number,
  log: RowLog,
  maxBytes: number,
): { next: number; error: ConnectError | null } {
  const originId = log.origin(run.batch);
  for (let i = from; i < to; i++) {
    const { count } = log;
    const start = log.out.position;
    try {
      plan.encode(i, log, originId);
    } catch (error) {
      log.truncate(count, start);
      if (!(error instanceof ConnectError)) throw error;
      return { next: i + 1, error: error.at({ ...partitionOf(run.batch), offset: run.batch.offset(run.from + i) }) };
    }
    if (log.out.position >= maxBytes) return { next: i + 1, error: null };
  }
  return { next: to, error: null };
}
