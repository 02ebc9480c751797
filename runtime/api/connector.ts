/** What a connector is to the worker. Connectors are made per instance; tasks run in a task thread. */

import type { ConfigDef, ConfigError } from './configDef.ts';
import type { Logger } from './logger.ts';
import type { SinkRecord, SourceOffset, SourcePartition } from './record.ts';
import type { SinkBatch } from './sinkBatch.ts';
import type { SourceBatch } from './sourceBatch.ts';
import type { TaskMetrics } from './taskMetrics.ts';

/** A connector or task config: all values are strings, placeholders of config providers resolved. */
export type Config = Readonly<Record<string, string>>;

export interface ConnectorContext {
  readonly connectorName: string;
  readonly logger: Logger;
  /** Aborted when the connector is to stop. */
  readonly signal: AbortSignal;
  /** Asks for new task configs: `taskConfigs` will be called again. */
  requestTaskReconfiguration(): void;
  /** Fails the connector. */
  raiseError(error: unknown): void;
  /** Source connectors: offsets committed so far. */
  readonly offsets: OffsetReader;
}

/** Offsets of this connector, read to the end of the offsets topic. Partitions compare by content, whatever the order of keys. */
export interface OffsetReader {
  offset(partition: SourcePartition): Promise<SourceOffset | null>;
}

export interface Connector {
  start(config: Config, context: ConnectorContext): Promise<void> | void;
  /** One config per task, at most `maxTasks`; without `name` and `task.class`, which the worker adds. */
  taskConfigs(maxTasks: number): Config[] | Promise<Config[]>;
  stop(): Promise<void> | void;
}

export interface SourceConnector extends Connector {
  /** Whether exactly-once delivery is supported for this config. */
  exactlyOnceSupport?(config: Config): 'SUPPORTED' | 'UNSUPPORTED';
  /** Whether its tasks say what is one transaction (`transaction.boundary=connector`) with this config. Default: they do not. */
  canDefineTransactionBoundaries?(config: Config): 'SUPPORTED' | 'UNSUPPORTED';
  /** Called before offsets are altered or reset over REST. true = no more to do elsewhere. Throws ConnectError for offsets that make no sense. */
  alterOffsets?(
    config: Config,
    offsets: readonly (readonly [SourcePartition, SourceOffset | null])[],
  ): Promise<boolean> | boolean;
}

export interface SinkConnector extends Connector {
  alterOffsets?(
    config: Config,
    offsets: readonly { topic: string; partition: number; offset: number | null }[],
  ): Promise<boolean> | boolean;
}

interface TaskContextBase {
  readonly connectorName: string;
  readonly taskId: number;
  readonly config: Config;
  readonly logger: Logger;
  /** Aborted when the task is to stop. Every wait of the task must end soon after. */
  readonly signal: AbortSignal;
  readonly metrics: TaskMetrics;
}

/** How a task says what is one transaction. It may do so before it returns the batches from `poll`. */
export interface TransactionBoundaries {
  /** The transaction ends behind this batch; without one, behind the last batch of the poll. */
  commit(batch?: SourceBatch): void;
  /** Everything since the last end, up to there, is dropped. Its offsets are committed, so that it does not come again. */
  abort(batch?: SourceBatch): void;
}

export interface SourceTaskContext extends TaskContextBase {
  readonly offsets: OffsetReader;
  /** Absent unless delivery is exactly once with `transaction.boundary=connector`. */
  readonly transactions?: TransactionBoundaries;
  /** Opens a topic that the task reads beside its work, such as one of signals, from an offset on, or from its end on. Absent where there is no broker. */
  followTopic?(topic: string, from: number | 'end'): Promise<TopicFollower>;
  /**
   * Makes a topic of one partition with these configs that the task keeps data of its own in; one that is there is left as it is. Topics that a task
   * only sends to need no such call. Absent where there is no broker.
   */
  createTopic?(topic: string, configs: Readonly<Record<string, string>>): Promise<void>;
}

/** Partition 0 of a topic of the worker's cluster, as text; the topic need not exist yet. */
export interface TopicFollower {
  /** Offset of the next record that `poll` gives. */
  readonly position: number;
  /** What has come since the last call; does not wait. Rejects where the topic cannot be read. */
  poll(): Promise<readonly TopicText[]>;
  close(): Promise<void>;
}

export interface TopicText {
  readonly offset: number;
  readonly key: string | null;
  readonly value: string | null;
}

export interface SourceTask {
  start(config: Config, context: SourceTaskContext): Promise<void>;
  /**
   * The next batches; an empty list when there is nothing for now. May wait a while (bounded, and ended by the signal). Called again only after it
   * returned; the worker calls it while earlier batches are still being sent, up to its byte bound. A retriable ConnectError = it may be called again:
   * tried for `errors.retry.timeout` (default: not at all); what remains, and any other error, fails the task, which the herder restarts.
   */
  poll(): Promise<readonly SourceBatch[]>;
  /** `offset` is durable in the offsets topic: the source may be told (slot confirmed, files removed). Calls come in order, one at a time. */
  commit?(partition: SourcePartition, offset: SourceOffset): Promise<void>;
  /** Releases everything; called once, also after a failure. */
  stop(): Promise<void>;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface SinkTaskContext extends TaskContextBase {
  assignment(): readonly TopicPartition[];
  /** Rewinds (or forwards) consumption; takes effect before the next `put`. */
  seek(partition: TopicPartition, offset: number): void;
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  /** Asks for a commit soon: `preCommit` is called before the next `put`. */
  requestCommit(): void;
  /** Reports a record that cannot be delivered: to the dead letter queue if the config tolerates errors, else it throws and the task fails. */
  reportErrantRecord(record: SinkRecord, error: unknown): Promise<void>;
}

export interface SinkTask {
  start(config: Config, context: SinkTaskContext): Promise<void>;
  open?(partitions: readonly TopicPartition[]): Promise<void>;
  /** Partitions leave. Everything put must be flushed, or given up without effect. */
  close?(partitions: readonly TopicPartition[]): Promise<void>;
  /** Takes the batches of one fetch. A retriable ConnectError = the same batches come again after a while; any other error fails the task. May be called with none, as a tick. */
  put(batches: readonly SinkBatch[]): Promise<void>;
  /** Flushes and returns the offsets (next to read) that are safe in the target, among `current`. Default: all of `current`. */
  preCommit?(current: ReadonlyMap<TopicPartition, number>): Promise<ReadonlyMap<TopicPartition, number>>;
  stop(): Promise<void>;
}

interface ConnectorPluginBase {
  /** Java's class name where there is one to answer to, else `millrace.<Name>`. */
  readonly className: string;
  /** Further full class names; simple names and names without `Connector` are derived from all of them. */
  readonly aliases: readonly string[];
  readonly version: string;
  readonly configDef: ConfigDef;
  /** Whether it reads, or speaks of, a key beyond its configDef, such as one with a prefix. Others that nobody knows are warned of. */
  readsKey?(key: string): boolean;
  /** Checks of names alone, such as outdated and misspelt keys: also where values are missing or invalid, which those may be the reason of. */
  validateKeys?(config: Config): readonly ConfigError[];
  /** Checks beyond single values; may connect. Errors name keys. Called by validate and before a connector is created. */
  validate?(config: Config): Promise<readonly ConfigError[]> | readonly ConfigError[];
}
export interface SourcePlugin extends ConnectorPluginBase {
  readonly kind: 'source';
  createConnector(): SourceConnector;
  createTask(): SourceTask;
}
export interface SinkPlugin extends ConnectorPluginBase {
  readonly kind: 'sink';
  createConnector(): SinkConnector;
  createTask(): SinkTask;
}
