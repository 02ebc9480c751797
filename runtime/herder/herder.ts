/**
 * What decides which connectors and tasks run, and answers for them: the side of the REST API that does not depend on one process or many.
 * Names in snake case are the fields of Kafka Connect's JSON.
 */
import type { Config } from '../api/connector.ts';
import type { SourceOffset, SourcePartition } from '../api/record.ts';
import type { SignatureAlgorithm } from '../config/signatureAlgorithms.ts';
import type { SessionKey } from './stores/configState.ts';
import type { State } from './stores/statusState.ts';
import type { ConfigInfos, ConfigKeyInfo } from './validation/configInfos.ts';

export type ConnectorType = 'source' | 'sink' | 'unknown';

export interface ConnectorInfo {
  readonly name: string;
  readonly config: Config;
  readonly tasks: readonly { readonly connector: string; readonly task: number }[];
  readonly type: ConnectorType;
}

export interface TaskInfo {
  readonly id: { readonly connector: string; readonly task: number };
  readonly config: Config;
}

export interface ConnectorStatus {
  readonly state: State;
  readonly worker_id: string;
  readonly version: string | null;
  /** Absent when there is nothing to say. */
  readonly trace?: string;
}

export interface TaskStatus extends ConnectorStatus {
  readonly id: number;
}

export interface ConnectorStateInfo {
  readonly name: string;
  readonly connector: ConnectorStatus;
  readonly tasks: readonly TaskStatus[];
  readonly type: ConnectorType;
}

export interface PluginInfo {
  readonly class: string;
  readonly type: string;
  readonly version: string;
}

/** For sources, maps of the connector's own; for sinks `kafka_topic`, `kafka_partition` and `kafka_offset`. */
export interface OffsetEntry {
  readonly partition: SourcePartition | null;
  readonly offset: SourceOffset | null;
}

export type InitialState = 'RUNNING' | 'PAUSED' | 'STOPPED';

export interface CreateRequest {
  readonly name: string;
  readonly config: Config;
  readonly initialState: InitialState;
}

export interface WorkerStage {
  readonly description: string;
  /** ms since the epoch. */
  readonly startedMs: number;
  /** null = under way. */
  readonly completedMs: number | null;
}

/** What workers of a cluster send each other. */
export interface InternalRequests {
  /** How requests are signed; null = no key is known yet, 'unsigned' = the cluster's protocol does without. */
  sessionKey(): SessionKey | null | 'unsigned';
  readonly algorithms: readonly SignatureAlgorithm[];
  /** From the owner of a connector, to the leader. */
  putTaskConfigs(name: string, configs: readonly Config[]): Promise<void>;
  /** From a worker whose task is about to start, to the leader: earlier tasks of the source can write no more. */
  fenceSourceTasks(name: string): Promise<void>;
}

/** Every method that names a connector rejects with RESOURCE_UNKNOWN for one that is not there, unless it says otherwise; every
 * method that changes something with ForwardRequest where another worker of the cluster has to do it. */
export interface Herder {
  readonly workerId: string;
  readonly clusterId: string;
  stage(): WorkerStage;

  connectors(): readonly string[];
  connectorInfo(name: string): ConnectorInfo;
  connectorStatus(name: string): ConnectorStateInfo;
  taskConfigs(name: string): readonly TaskInfo[];
  taskStatus(name: string, task: number): TaskStatus;
  /** Of a connector that is not there: none. Rejects with REQUEST_FORBIDDEN where tracking is off. */
  activeTopics(name: string): readonly string[];
  resetActiveTopics(name: string): Promise<void>;

  /** Rejects with CONFIG_INVALID, or REQUEST_CONFLICT where the name is taken. */
  createConnector(request: CreateRequest): Promise<ConnectorInfo>;
  putConfig(name: string, config: Config): Promise<{ readonly created: boolean; readonly info: ConnectorInfo }>;
  /** null removes a key. */
  patchConfig(name: string, patch: Readonly<Record<string, string | null>>): Promise<ConnectorInfo>;
  deleteConnector(name: string): Promise<void>;
  pauseConnector(name: string): Promise<void>;
  resumeConnector(name: string): Promise<void>;
  stopConnector(name: string): Promise<void>;
  /** The connector alone, not its tasks. */
  restartConnector(name: string): Promise<void>;
  /** Returns the plan: what will restart is RESTARTING in it. */
  restartWithTasks(
    name: string,
    options: { readonly includeTasks: boolean; readonly onlyFailed: boolean },
  ): Promise<ConnectorStateInfo>;
  restartTask(name: string, task: number): Promise<void>;

  connectorOffsets(name: string): Promise<readonly OffsetEntry[]>;
  /** null = all partitions are reset. Returns what to tell the user. Rejects with REQUEST_INVALID unless the connector is stopped. */
  alterOffsets(name: string, offsets: readonly OffsetEntry[] | null): Promise<string>;

  /** Another worker is about to be asked: resolves when it can know what this one shows, or after a moment. */
  tellOthers(): Promise<void>;
  /** Another worker has made a change: resolves when this one knows of it, or after a moment. */
  catchUp(): Promise<void>;
  /** A level was set for all workers: tells the others. */
  announceLogLevel(logger: string, level: string): Promise<void>;
  /** null = a worker alone. */
  readonly internal: InternalRequests | null;

  plugins(): readonly PluginInfo[];
  pluginConfig(name: string, version: string | null): Promise<readonly ConfigKeyInfo[]>;
  validateConfig(plugin: string, config: Config): Promise<ConfigInfos>;

  close(): Promise<void>;
}
