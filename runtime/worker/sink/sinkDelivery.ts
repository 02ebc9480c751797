/**
 * Between consumer and sink task: what was fetched and is to be put, which offsets are put, safe and committed, and what happens when partitions
 * come and go. Calls into the task never overlap.
 */
import {
  ConnectError,
  type Logger,
  type SinkBatch,
  type SinkRecord,
  type SinkTask,
  type TopicPartition,
} from '../../api/index.ts';
import type { Consumer, PartitionOffset } from '../../broker/port.ts';
import type { RecordColumns } from '../../broker/records/index.ts';
import type { TaskMeter } from '../../metrics/taskMeter.ts';
import { type ErrorPolicy, isRetriable } from '../errors/errorPolicy.ts';
import type { TaskControl } from '../taskRunner.ts';
import type { DeadLetterQueue } from './deadLetterQueue.ts';
import { locatePoison } from './locatePoison.ts';
import { AssignedPartitions, keyOf, type PartitionState } from './partitionState.ts';
import { columnsOf, type TracedRecord } from './sinkRecords.ts';

export interface SinkDeliveryOptions {
  readonly task: SinkTask;
  readonly policy: ErrorPolicy;
  readonly deadLetters: DeadLetterQueue | null;
  readonly meter: TaskMeter;
  readonly logger: Logger;
  readonly control: TaskControl;
}

/** Batches of one fetched partition and the position behind them. */
interface Pending {
  readonly partition: TopicPartition;
  readonly batches: readonly SinkBatch[];
  readonly nextOffset: number;
}

export class SinkDelivery {
  consumer!: Consumer;
  commitRequested = false;
  readonly #options: SinkDeliveryOptions;
  readonly #assigned = new AssignedPartitions();
  readonly #seeks = new Map<string, PartitionOffset>();
  #pending: Pending[] = [];
  #paused = false;
  /** Partitions are held back because a put is to be repeated. */
  #retrying = false;
  #busy: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;
  #uncommitted = 0;

  constructor(options: SinkDeliveryOptions) {
    this.#options = options;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  queue(columns: RecordColumns, batches: readonly SinkBatch[]): void {
    const state = this.#assigned.get(columns);
    if (state === undefined) return;
    const first = columns.count > 0 ? columns.offsets[0]! : columns.nextOffset;
    // What comes from before it is of a topic that was made anew: what is committed is none of its offsets.
    if (state.committed === null || first < state.committed) state.committed = first;
    this.#checkSought(state, first);
    const { partition } = state;
    this.#pending.push({ partition, batches, nextOffset: columns.nextOffset });
  }

  /** Past its end a topic is read from where auto.offset.reset says: those records are not the ones that the task asked for. */
  #checkSought(state: PartitionState, first: number): void {
    const { sought, partition } = state;
    state.sought = null;
    if (sought === null || first >= sought) return;
    throw new ConnectError(
      'SINK_SEEK_LOST',
      `the target has the records of ${partition.topic}-${partition.partition} up to offset ${sought}, but the topic now begins again at ${first}; was it deleted and made again? Stop the connector and reset its offsets to read it from there`,
      { place: { ...partition, offset: first } },
    );
  }

  /** Puts what is pending, or nothing as a tick. False = it has to be repeated later. */
  async put(): Promise<boolean> {
    return this.#exclusive(async () => {
      const { task, meter, logger } = this.#options;
      const pending = this.#pending;
      const batches = pending.flatMap(part => part.batches);
      const started = performance.now();
      try {
        await task.put(batches);
      } catch (error) {
        const failure = locatePoison(error, batches);
        if (!isRetriable(failure)) throw failure;
        logger.warn({ err: failure }, 'the task could not take its records; it gets them again');
        meter.add('total_retries');
        this.#retrying = true;
        this.#applyPauses();
        return false;
      }
      const records = batches.reduce((sum, batch) => sum + batch.count, 0);
      if (records > 0) {
        meter.add('sink_record_send_total', records);
        meter.observe('put_batch_time_ms', performance.now() - started);
        meter.observe('batch_size', records);
        this.#uncommitted += records;
        meter.set('sink_record_active_count', this.#uncommitted);
      }
      await this.#options.deadLetters?.flush();
      for (const { partition, nextOffset } of pending) {
        const state = this.#assigned.get(partition);
        if (state !== undefined) state.position = nextOffset;
      }
      this.#pending = [];
      if (this.#retrying) {
        this.#retrying = false;
        this.#applyPauses();
      }
      return true;
    });
  }

  async commit(): Promise<void> {
    this.commitRequested = false;
    await this.#exclusive(() => this.#commit(this.#assigned.all()));
  }

  /** Commits and closes all partitions, at the end of the task. */
  async finish(): Promise<void> {
    await this.#exclusive(async () => {
      const states = this.#assigned.all();
      await this.#release(states);
    });
  }

  async assigned(partitions: readonly TopicPartition[]): Promise<void> {
    await this.#exclusive(async () => {
      if (partitions.length === 0) return;
      const states = partitions.map(partition => this.#assigned.add(partition));
      this.#options.meter.set('partition_count', this.#assigned.size);
      this.#applyPauses();
      await this.#guarded(async () => this.#options.task.open?.(states.map(state => state.partition)));
    });
  }

  async revoked(partitions: readonly TopicPartition[]): Promise<void> {
    if (this.#options.control.cancelled.aborted) return;
    await this.#exclusive(async () => {
      const states = partitions.flatMap(partition => this.#assigned.get(partition) ?? []);
      if (states.length > 0) await this.#guarded(() => this.#release(states));
    });
  }

  seek(partition: TopicPartition, offset: number): void {
    const { topic, partition: number } = partition;
    this.#seeks.set(keyOf(partition), { topic, partition: number, offset });
  }

  /** Returns the partitions, by `keyOf`, whose position is another now: what was fetched of them before is not to be put. */
  applySeeks(): ReadonlySet<string> {
    const moved = new Set<string>();
    if (this.#seeks.size === 0) return moved;
    const consumed = new Set(this.consumer.assignment().map(keyOf));
    for (const [key, seek] of this.#seeks) {
      const state = this.#assigned.get(seek);
      if (state === undefined || !consumed.has(key)) continue;
      this.#pending = this.#pending.filter(({ partition }) => keyOf(partition) !== key);
      state.position = seek.offset;
      state.sought = seek.offset;
      this.consumer.seek(state.partition, seek.offset);
      moved.add(key);
    }
    this.#seeks.clear();
    return moved;
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.#setPausedByTask(partitions, true);
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#setPausedByTask(partitions, false);
  }

  /** Paused by the user: nothing more is fetched, and what was put is committed. */
  async setPaused(paused: boolean): Promise<void> {
    if (paused === this.#paused) return;
    this.#paused = paused;
    this.#applyPauses();
    if (paused) await this.commit();
  }

  requestCommit(): void {
    this.commitRequested = true;
  }

  async reportErrant(record: SinkRecord, error: unknown): Promise<void> {
    const { originalTopic: topic, originalPartition: partition, originalOffset: offset } = record;
    const failure = {
      stage: 'TASK_PUT' as const,
      className: this.#options.task.constructor.name,
      error,
      place: { topic, partition, offset },
      contents: () => ({ key: record.key, value: record.value }),
      reportedByTask: true,
    };
    this.#options.policy.failed(failure);
    const columns = (record as Partial<TracedRecord>)[columnsOf];
    if (this.#options.deadLetters === null) return;
    const index = columns?.offsets.indexOf(offset) ?? -1;
    if (columns === undefined || index < 0) {
      throw new ConnectError(
        'SINK_DLQ_FAILED',
        'The task reported a record that is not one of those it was given; it cannot be written to the dead letter queue. A defect of the connector or a transform: report it.',
        { cause: error, place: { topic, partition, offset } },
      );
    }
    await this.#options.deadLetters.add(columns, index, failure);
  }

  /** Commits for these partitions, and lets them go. What cannot be committed comes again, to whoever gets the partition. */
  async #release(states: readonly PartitionState[]): Promise<void> {
    const partitions = states.map(state => state.partition);
    const keys = new Set(partitions.map(keyOf));
    this.#pending = this.#pending.filter(({ partition }) => !keys.has(keyOf(partition)));
    try {
      await this.#commit(states, true);
    } finally {
      for (const partition of partitions) this.#assigned.remove(partition);
      this.#options.meter.set('partition_count', this.#assigned.size);
      if (partitions.length > 0) await this.#options.task.close?.(partitions);
    }
  }

  async #commit(states: readonly PartitionState[], leaving = false): Promise<void> {
    const { task, meter, logger } = this.#options;
    const current = new Map<TopicPartition, number>();
    for (const { partition, position } of states) if (position !== null) current.set(partition, position);
    if (current.size === 0) return;
    const started = performance.now();
    let safe: ReadonlyMap<TopicPartition, number>;
    try {
      safe = task.preCommit ? await task.preCommit(current) : current;
    } catch (error) {
      meter.add('offset_commit_failure_total');
      if (!isRetriable(error)) throw error;
      logger.warn({ err: error }, 'the task could not flush; it gets the records since the last commit again');
      if (!leaving) this.#rewind(states);
      return;
    }
    // While it wrote what it held, the task may have reported records.
    await this.#options.deadLetters?.flush();
    const offsets: PartitionOffset[] = [];
    for (const [{ topic, partition }, offset] of safe) {
      const state = this.#assigned.get({ topic, partition });
      if (state === undefined || state.position === null || offset > state.position || offset === state.committed)
        continue;
      offsets.push({ topic, partition, offset });
    }
    if (offsets.length === 0) {
      meter.add('offset_commit_skip_total');
      return;
    }
    try {
      await this.consumer.commit(offsets);
    } catch (error) {
      meter.add('offset_commit_failure_total');
      // A member that was put out of its group gets its partitions revoked next, and the records come again.
      const passing =
        isRetriable(error) || (error instanceof ConnectError && error.code === 'BROKER_GROUP_MEMBER_LOST');
      if (!passing && !leaving) throw error;
      logger.warn({ err: error }, 'offsets could not be committed');
      return;
    }
    for (const offset of offsets) this.#assigned.get(offset)!.committed = offset.offset;
    this.#uncommitted = 0;
    meter.set('sink_record_active_count', 0);
    meter.add('offset_commit_success_total');
    meter.add('offset_commit_completion_total');
    meter.observe('offset_commit_time_ms', performance.now() - started);
  }

  #rewind(states: readonly PartitionState[]): void {
    const keys = new Set(states.map(state => keyOf(state.partition)));
    this.#pending = this.#pending.filter(({ partition }) => !keys.has(keyOf(partition)));
    for (const { partition, committed } of states) if (committed !== null) this.seek(partition, committed);
  }

  #setPausedByTask(partitions: readonly TopicPartition[], paused: boolean): void {
    for (const partition of partitions) {
      const state = this.#assigned.get(partition);
      if (state !== undefined) state.pausedByTask = paused;
    }
    this.#applyPauses();
  }

  #applyPauses(): void {
    const all = this.#paused || this.#retrying;
    const states = this.#assigned.all();
    this.consumer.pause(states.filter(s => all || s.pausedByTask).map(s => s.partition));
    this.consumer.resume(states.filter(s => !all && !s.pausedByTask).map(s => s.partition));
  }

  /** Errors inside the consumer's callbacks end the task, not the consumer. */
  async #guarded(call: () => Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #exclusive<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#busy.then(call);
    this.#busy = result.catch(() => undefined);
    return result;
  }
}
