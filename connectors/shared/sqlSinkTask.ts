/** The sink task: batches in, rows encoded into the lane, which writes them while the next are encoded. Offsets are safe only when the lane is empty. */
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
import { UnavailableValue } from './changeEnvelope.ts';
import { Change, type ChangeRun, type RunNeeds, readRuns } from './changeRun.ts';
import { failingFinally } from './failingFinally.ts';
import { FlushLane } from './flushLane.ts';
import { FlushLanes } from './flushLanes.ts';
import { HeldRecord } from './heldRecord.ts';
import type { OffsetLedger } from './offsetLedger.ts';
import { type Retry, retryTransient } from './retryTransient.ts';
import { RowEncoder } from './rowEncoder.ts';
import type { RowPlan } from './rowPlan.ts';
import { ShapeList } from './rowShape.ts';
import type { SqlTarget } from './sqlDialect.ts';
import type { SqlSinkSettings } from './sqlSinkConfig.ts';
import type { SqlTypes } from './sqlTypes.ts';
import { sourceFieldsOf, type TableName, tableNameOf } from './tableName.ts';
import { TablePlanner } from './tablePlanner.ts';

export interface TargetOptions<S extends SqlTypes> {
  readonly config: Config;
  readonly settings: SqlSinkSettings;
  readonly shapes: ShapeList<S>;
  readonly context: SinkTaskContext;
}

/** One kind of target: its configuration, and how to write to it. */
export interface SqlSinkKind<S extends SqlTypes> {
  /** Everything that can be said without a connection. */
  checkConfig(config: Config): readonly ConfigError[];
  settings(config: Config): SqlSinkSettings;
  target(options: TargetOptions<S>): SqlTarget<S>;
}

export class SqlSinkTask<S extends SqlTypes> implements SinkTask {
  readonly #kind: SqlSinkKind<S>;
  #context!: SinkTaskContext;
  #settings!: SqlSinkSettings;
  /** By topic and partition: where its last event went, where that depends on the event's source block. */
  readonly #lastNames = new Map<string, TableName>();
  #needs!: RunNeeds;
  #target: SqlTarget<S> | null = null;
  #planner!: TablePlanner<S>;
  #encoder!: RowEncoder;
  #lanes: FlushLanes | null = null;
  #ledger: OffsetLedger | null = null;
  #retry!: Retry;

  constructor(kind: SqlSinkKind<S>) {
    this.#kind = kind;
  }

  async start(config: Config, context: SinkTaskContext): Promise<void> {
    const [problem] = this.#kind.checkConfig(config);
    if (problem) throw new ConnectError('CONFIG_INVALID', problem.message);
    const settings = this.#kind.settings(config);
    this.#context = context;
    this.#settings = settings;
    this.#needs = {
      key: settings.keyMode === 'record_key',
      before: settings.keyMode === 'record_value' && settings.deleteEnabled,
      sourceFields: sourceFieldsOf(settings.tableName.format),
    };
    const { logger, metrics, signal } = context;
    const shapes = new ShapeList<S>();
    const target = this.#kind.target({ config, settings, shapes, context });
    this.#target = target;
    const retry = retryTransient({
      classify: error => target.classify(error),
      isContention: error => target.isContention(error),
      maxRetries: settings.maxRetries,
      retryBackoffMs: settings.retryBackoffMs,
      signal,
      logger,
      metrics,
    });
    this.#ledger = target.ledger;
    this.#retry = retry;
    const bounds = { ...settings, maxBytes: Math.ceil(settings.maxBytes / target.writers.length) };
    // Rows that meet others in a unique index can be held back until those have gone.
    const mayWait = (settings.holdMs ?? 0) > 0 && settings.insertMode !== 'insert';
    const uniquesOf = (shape: number) => (mayWait ? shapes.get(shape).uniques : null);
    const lanes = new FlushLanes(
      target.writers.map(
        writer => new FlushLane({ target: writer, bounds, metrics, retry, keepOrigin: HeldRecord.of }),
      ),
      shape => (uniquesOf(shape) === null ? shapes.get(shape).order : null),
      uniquesOf,
    );
    this.#lanes = lanes;
    this.#encoder = new RowEncoder(settings, new UnavailableValue(settings.unavailablePlaceholder));
    const { dialect } = target;
    this.#planner = new TablePlanner({ dialect, settings, shapes, retry, drain: () => lanes.drain(), logger });
    await this.#failing(() => retry(() => target.open()));
  }

  /** Exactly once: what the target has is where to go on, whatever the consumer group says. */
  async open(partitions: readonly TopicPartition[]): Promise<void> {
    for (const { topic, partition } of partitions) this.#lastNames.delete(`${topic}-${partition}`);
    const ledger = this.#ledger;
    if (ledger === null) return;
    const rows = await this.#failing(() => this.#retry(() => this.#target!.claimOffsets(partitions)));
    for (const [partition, offset] of ledger.adopt(rows)) this.#context.seek(partition, offset);
  }

  put(batches: readonly SinkBatch[]): Promise<void> {
    return this.#failing(async () => {
      await this.#lanes!.adapt();
      for (const batch of batches) {
        const first = this.#ledger?.take(batch) ?? 0;
        if (first === batch.count) continue;
        for (const run of readRuns(batch, this.#needs)) await this.#putRun(run, Math.max(0, first - run.from));
      }
      this.#countIgnored();
      this.#lanes!.nudge();
    });
  }

  async #putRun(run: ChangeRun, first: number): Promise<void> {
    for (let from = first; from < run.count; ) {
      const to = endOfSameSource(run, from);
      const name = this.#tableName(run, from);
      if (name !== null) await this.#putRange(run, from, to, name);
      from = to;
    }
  }

  /**
   * A tombstone has no source block: it is of the table of the event before it. Null where that was not read since the partition was opened: it was the event
   * of the deletion, and has been applied.
   */
  #tableName(run: ChangeRun, i: number): TableName | null {
    const fields = this.#needs.sourceFields;
    const { topic, originalTopic, partition } = run.batch;
    const place = `${originalTopic}-${partition}`;
    if (fields.length > 0 && run.changes[i] === Change.tombstone) return this.#lastNames.get(place) ?? null;
    const name = tableNameOf(topic, field => run.sources[fields.indexOf(field)]?.[i], this.#settings.tableName);
    if (fields.length > 0) this.#lastNames.set(place, name);
    return name;
  }

  async #putRange(run: ChangeRun, from: number, to: number, name: TableName): Promise<void> {
    if (needsKey(this.#settings) && run.keyFields.length === 0 && run.changes.some(isRowChange)) {
      await this.#putKeyless(run, from, to, name);
      return;
    }
    await this.#encodeRange(run, from, to, name);
  }

  async #encodeRange(run: ChangeRun, from: number, to: number, name: TableName): Promise<void> {
    let plan: RowPlan<S> | null;
    try {
      plan = await this.#planner.plan(run, name);
    } catch (error) {
      if (!(error instanceof ConnectError) || error.code !== 'SINK_FIELDS_COLLIDE') throw error;
      const { code, message, place } = error;
      for (let i = from; i < to; i++)
        await this.#rejectRecord(run, i, new ConnectError(code, message, { place: { ...place } }));
      return;
    }
    if (plan === null) return;
    const lanes = this.#lanes!;
    for (let at = from; at < to; ) {
      const { log, room, maxBytes } = await lanes.open();
      const { next, error, tooNarrow } = this.#encoder.encode(run, plan, at, Math.min(to, at + room), log, maxBytes);
      await lanes.take(log);
      at = next;
      if (tooNarrow) plan = await this.#planner.widen(run, name, plan, tooNarrow);
      if (error) {
        const anew = await this.#planner.changed(run, name, plan);
        if (anew !== null) {
          plan = anew;
          at = next - 1;
          continue;
        }
        await this.#rejectRecord(run, next - 1, error);
      }
    }
  }

  /** Before a table is made for them, which would have no key either. */
  async #putKeyless(run: ChangeRun, from: number, to: number, name: TableName): Promise<void> {
    for (let i = from; i < to; i++) {
      if (!isRowChange(run.changes[i]!)) {
        await this.#encodeRange(run, i, i + 1, name);
        continue;
      }
      const error = new ConnectError(
        'SINK_KEY_MISSING',
        `the record has no key, which pk.mode=record_key and insert.mode=${this.#settings.insertMode} need; give its source a key, or set pk.mode=none and insert.mode=insert to take it as a new row`,
        { place: { table: name.table } },
      );
      await this.#rejectRecord(run, i, error);
    }
  }

  /** Record `i` of the run, which cannot be written. */
  async #rejectRecord(run: ChangeRun, i: number, error: ConnectError): Promise<void> {
    const index = run.from + i;
    this.#context.metrics.count('rejected_records');
    const at = error.at({ ...partitionOf(run.batch), offset: run.batch.offset(index) });
    await this.#context.reportErrantRecord(run.batch.record(index), at);
  }

  #countIgnored(): void {
    const { counts } = this.#encoder;
    const { metrics } = this.#context;
    if (counts.ignoredDeletes > 0) metrics.count('ignored_deletes', counts.ignoredDeletes);
    if (counts.ignoredTruncates > 0) metrics.count('ignored_truncates', counts.ignoredTruncates);
    if (counts.otherEvents > 0) metrics.count('ignored_events', counts.otherEvents);
    counts.ignoredDeletes = counts.ignoredTruncates = counts.otherEvents = 0;
  }

  async preCommit(current: ReadonlyMap<TopicPartition, number>): Promise<ReadonlyMap<TopicPartition, number>> {
    await this.#failing(async () => {
      await this.#lanes!.drain();
      await this.#storePositions(current);
    });
    return this.#beforeHeld(current);
  }

  #beforeHeld(current: ReadonlyMap<TopicPartition, number>): ReadonlyMap<TopicPartition, number> {
    const safe = new Map(current);
    for (const [origin, index] of this.#lanes!.heldOrigins()) {
      const batch = origin as SinkBatch;
      const offset = batch.offset(index);
      for (const [partition, position] of safe)
        if (isSamePartition(partition, partitionOf(batch)) && offset < position) safe.set(partition, offset);
    }
    return safe;
  }

  /** Records that gave no rows are behind the task as well. */
  async #storePositions(current: ReadonlyMap<TopicPartition, number>): Promise<void> {
    const ledger = this.#ledger;
    const advances = ledger?.advanceTo(current) ?? [];
    if (ledger === null || advances.length === 0) return;
    await this.#retry(() => this.#target!.moveOffsets(advances));
    ledger.committed(advances);
  }

  async close(partitions: readonly TopicPartition[] = []): Promise<void> {
    if (!this.#context.signal.aborted) await this.#failing(() => this.#lanes!.drain());
    // They come again, to whoever has the partition then.
    this.#lanes!.forgetHeld(origin =>
      partitions.some(partition => isSamePartition(partition, partitionOf(origin as SinkBatch))),
    );
    this.#ledger?.release(partitions);
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

const isSamePartition = (a: TopicPartition, b: TopicPartition): boolean =>
  a.partition === b.partition && a.topic === b.topic;

const needsKey = ({ keyMode, insertMode }: SqlSinkSettings): boolean =>
  keyMode === 'record_key' && insertMode !== 'insert';

const isRowChange = (change: number): boolean =>
  change === Change.create || change === Change.update || change === Change.write || change === Change.delete;

/** Records whose table name comes from the same `source` fields; tombstones, which have none, go with those before them. */
function endOfSameSource(run: ChangeRun, from: number): number {
  if (run.sources.length === 0) return run.count;
  let end = from + 1;
  while (end < run.count && (run.changes[end] === Change.tombstone || run.sources.every(c => c[end] === c[from])))
    end++;
  return end;
}
