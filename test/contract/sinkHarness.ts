/** Drives a sink task as the worker does: start, put, commit, stop, with the records it reports kept for inspection. */
import type {
  Config,
  ConnectError,
  Logger,
  SinkBatch,
  SinkRecord,
  SinkTask,
  SinkTaskContext,
  TopicPartition,
} from '../../runtime/api/index.ts';

export interface SinkRun extends AsyncDisposable {
  readonly task: SinkTask;
  readonly counts: ReadonlyMap<string, number>;
  /** What was reported, with `tolerate`; else the first report throws, as with errors.tolerance=none. */
  readonly errants: readonly { record: SinkRecord; error: ConnectError }[];
  /** Where the task sought to, by topic and partition as `0:topic`. */
  readonly seeks: ReadonlyMap<string, number>;
  /** Puts and flushes. */
  deliver(...batches: SinkBatch[]): Promise<void>;
  /** As at a hard end: what is not flushed is lost. */
  abort(): Promise<void>;
}

export interface StartOptions {
  readonly tolerate?: boolean;
  readonly logger?: Logger;
}

const silent: Logger = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

export async function startSink(task: SinkTask, config: Config, options: StartOptions = {}): Promise<SinkRun> {
  const abort = new AbortController();
  const counts = new Map<string, number>();
  const seeks = new Map<string, number>();
  const errants: { record: SinkRecord; error: ConnectError }[] = [];
  const context: SinkTaskContext = {
    connectorName: 'sink-under-test',
    taskId: 0,
    config,
    logger: options.logger ?? silent,
    signal: abort.signal,
    metrics: {
      gauge: (name, value) => counts.set(name, value),
      count: (name, by = 1) => counts.set(name, (counts.get(name) ?? 0) + by),
    },
    assignment: () => [],
    seek: ({ topic, partition }, offset) => seeks.set(`${partition}:${topic}`, offset),
    pause: () => {},
    resume: () => {},
    requestCommit: () => {},
    reportErrantRecord: async (record, error) => {
      if (!options.tolerate) throw error;
      errants.push({ record, error: error as ConnectError });
    },
  };
  const stop = async (): Promise<void> => {
    if (abort.signal.aborted) return;
    abort.abort();
    await task.stop();
  };
  try {
    await task.start(config, context);
  } catch (error) {
    await stop();
    throw error;
  }
  const opened = openingPartitions(task);
  return {
    task: opened,
    counts,
    errants,
    seeks,
    deliver: async (...batches) => {
      await opened.put(batches);
      const tops = batches.map(b => [partitionOf(b), b.offset(b.count - 1) + 1] as const);
      await task.preCommit?.(new Map(tops));
    },
    abort: stop,
    [Symbol.asyncDispose]: stop,
  };
}

const SETTLE_TIMEOUT_MS = 20_000;

/** Waits until no row before `end` is held back: what one connection has made room for, another one tries again a while later. */
export async function settled({ task }: SinkRun, partition: TopicPartition, end: number): Promise<void> {
  const safe = async (): Promise<number> => {
    await task.put([]);
    return (await task.preCommit!(new Map([[partition, end]]))).get(partition)!;
  };
  for (const deadline = Date.now() + SETTLE_TIMEOUT_MS; ; ) {
    const position = await safe();
    if (position === end) return;
    if (Date.now() > deadline) throw new Error(`rows are held back from ${position} on`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

const partitionOf = ({ originalTopic: topic, partition }: SinkBatch): TopicPartition => ({ topic, partition });

/** Opens partitions when their first batches come. */
function openingPartitions(task: SinkTask): SinkTask {
  const open = new Set<string>();
  return {
    start: (config, context) => task.start(config, context),
    async put(batches) {
      for (const { topic, partition } of batches.map(partitionOf)) {
        const id = `${partition}:${topic}`;
        if (!open.has(id)) await task.open?.([{ topic, partition }]);
        open.add(id);
      }
      await task.put(batches);
    },
    preCommit: async current => (await task.preCommit?.(current)) ?? current,
    stop: () => task.stop(),
  };
}
