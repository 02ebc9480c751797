/**
 * The herder of a single worker process. Configs, target states and statuses live in topics, so that connectors made over REST run again after a
 * restart; everything wanted is written there first, then a supervisor for each connector brings it about.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { Config, Logger } from '../../api/index.ts';
import { ConfigResolver } from '../../config/configResolver.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { WorkerMetrics } from '../../metrics/workerMetrics.ts';
import { Worker } from '../../worker/worker.ts';
import type {
  ConnectorInfo,
  ConnectorStateInfo,
  ConnectorType,
  CreateRequest,
  Herder,
  OffsetEntry,
  PluginInfo,
  TaskInfo,
  TaskStatus,
  WorkerStage,
} from '../herder.ts';
import { ConnectorSupervisor, type SupervisorDeps } from '../lifecycle/connectorSupervisor.ts';
import { restartPlan } from '../lifecycle/restartPlan.ts';
import { restartSettings } from '../lifecycle/restartPolicy.ts';
import { StatusBoard } from '../lifecycle/statusBoard.ts';
import { ConnectorOffsetsApi } from '../offsets/connectorOffsetsApi.ts';
import { pluginList, requireVersion } from '../pluginList.ts';
import {
  type ConnectorEntry,
  connectorRecord,
  type TargetState,
  targetRecord,
  taskRecords,
} from '../stores/configState.ts';
import { ConfigStore } from '../stores/configStore.ts';
import { internalTopicOptions } from '../stores/internalTopicOptions.ts';
import { StatusStore } from '../stores/statusStore.ts';
import type { ConfigInfos, ConfigKeyInfo } from '../validation/configInfos.ts';
import { ConnectorValidator } from '../validation/connectorValidator.ts';

export interface StandaloneOptions {
  readonly config: WorkerConfig;
  readonly pluginModules: readonly string[];
  /** host:port under which this worker is reached. */
  readonly workerId: string;
  readonly metrics: WorkerMetrics;
  readonly logger: Logger;
  /** Another worker of the same group goes first: this one must stop. */
  readonly onGroupTaken: (error: unknown) => void;
}

interface Parts {
  readonly offsets: ConnectorOffsetsApi;
  readonly configs: ConfigStore;
  readonly statusStore: StatusStore;
  readonly statuses: StatusBoard;
  readonly worker: Worker;
  readonly resolver: ConfigResolver;
  readonly validator: ConnectorValidator;
  readonly clusterId: string;
}

export class StandaloneHerder implements Herder {
  readonly #options: StandaloneOptions;
  readonly #parts: Parts;
  readonly #supervisors: Map<string, ConnectorSupervisor>;
  #mutations: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | null = null;
  #stage: WorkerStage = { description: 'starting connectors', startedMs: Date.now(), completedMs: null };

  private constructor(options: StandaloneOptions, parts: Parts, supervisors: Map<string, ConnectorSupervisor>) {
    this.#options = options;
    this.#parts = parts;
    this.#supervisors = supervisors;
  }

  /** Resolves when the state is read; connectors start behind. */
  static async start(options: StandaloneOptions): Promise<StandaloneHerder> {
    const { config, logger, metrics, workerId } = options;
    const supervisors = new Map<string, ConnectorSupervisor>();
    const worker = await Worker.start({
      config,
      pluginModules: options.pluginModules,
      logger,
      metrics,
      listener: {
        connectorState: (name, state, failure) => supervisors.get(name)?.connectorState(state, failure),
        taskState: (id, state, failure) => supervisors.get(id.connector)?.taskState(id.task, state, failure),
        topicUsed: (id, topic) => {
          if (config['topic.tracking.enable']) supervisors.get(id.connector)?.topicUsed(id.task, topic);
        },
        reconfigure: name => supervisors.get(name)?.reconfigure(),
      },
    });
    try {
      const { broker } = worker;
      const groupId = config['group.id'];
      const { onGroupTaken: onTaken } = options;
      await broker.holdGroup({ groupId, clientId: `${groupId}-worker`, holder: workerId, onTaken });
      const configs = await ConfigStore.open(internalTopicOptions('config', broker, config, logger));
      const statusStore = await StatusStore.open(internalTopicOptions('status', broker, config, logger));
      const versionOf = (name: string): string | null => {
        const className = configs.state.connector(name)?.config['connector.class'];
        return (className && worker.plugins.find(className, 'source', 'sink')?.version) || null;
      };
      const statuses = new StatusBoard(statusStore, workerId, versionOf);
      const resolver = ConfigResolver.create(config, name => worker.plugins.find(name, 'config_provider'));
      const validator = new ConnectorValidator(config, worker.plugins, resolver);
      const clusterId = await broker.admin().clusterId();
      const offsets = new ConnectorOffsetsApi(worker, resolver);
      const parts = { offsets, configs, statusStore, statuses, worker, resolver, validator, clusterId };
      const herder = new StandaloneHerder(options, parts, supervisors);
      metrics.setStates(() => herder.#states());
      statuses.unassignAll();
      for (const name of configs.state.names()) void herder.#supervisor(name).sync();
      herder.#completeStage();
      return herder;
    } catch (error) {
      await worker.close();
      throw error;
    }
  }

  get workerId(): string {
    return this.#options.workerId;
  }

  get clusterId(): string {
    return this.#parts.clusterId;
  }

  stage(): WorkerStage {
    return this.#stage;
  }

  connectors(): readonly string[] {
    return this.#parts.configs.state.names();
  }

  connectorInfo(name: string): ConnectorInfo {
    const { config, taskConfigs } = this.#entry(name);
    return { name, config, tasks: taskConfigs.map((_, task) => ({ connector: name, task })), type: this.#type(config) };
  }

  connectorStatus(name: string): ConnectorStateInfo {
    const { statuses, configs } = this.#parts;
    const connector = statuses.connectorStatus(name);
    if (connector === null) throw unknown(`No status found for connector ${name}`);
    const config = configs.state.connector(name)?.config ?? {};
    return { name, connector, tasks: statuses.taskStatuses(name), type: this.#type(config) };
  }

  taskConfigs(name: string): readonly TaskInfo[] {
    return this.#entry(name).taskConfigs.map((config, task) => ({ id: { connector: name, task }, config }));
  }

  taskStatus(name: string, task: number): TaskStatus {
    const status = this.#parts.statuses.taskStatus(name, task);
    if (status === null) throw unknown(`No status found for task ${name}-${task}`);
    return status;
  }

  activeTopics(name: string): readonly string[] {
    this.#requireTopicTracking('topic.tracking.enable', 'Topic tracking is disabled.');
    return this.#parts.statuses.topics(name);
  }

  async resetActiveTopics(name: string): Promise<void> {
    this.#requireTopicTracking('topic.tracking.enable', 'Topic tracking is disabled.');
    this.#requireTopicTracking('topic.tracking.allow.reset', 'Topic tracking reset is disabled.');
    this.#parts.statuses.forgetTopics(name);
    await this.#parts.worker.forgetTopics(name);
  }

  async createConnector({ name, config, initialState }: CreateRequest): Promise<ConnectorInfo> {
    await this.#parts.validator.requireValid(config);
    return this.#mutate(`creating connector ${name}`, async () => {
      if (this.#parts.configs.state.connector(name) !== null) {
        throw new ConnectError('REQUEST_CONFLICT', `Connector ${name} already exists`);
      }
      const target: TargetState = initialState === 'RUNNING' ? 'STARTED' : initialState;
      const records = [connectorRecord(name, config)];
      // First, so that no task ever runs in another state.
      if (target !== 'STARTED') records.unshift(targetRecord(name, target));
      await this.#parts.configs.write(records);
      void this.#supervisor(name).sync();
      return { ...this.connectorInfo(name), tasks: [] };
    });
  }

  async putConfig(name: string, config: Config): Promise<{ created: boolean; info: ConnectorInfo }> {
    await this.#parts.validator.requireValid(config);
    return this.#mutate(`configuring connector ${name}`, async () => {
      const created = this.#parts.configs.state.connector(name) === null;
      await this.#parts.configs.write([connectorRecord(name, config)]);
      void this.#supervisor(name).sync();
      const info = this.connectorInfo(name);
      return { created, info: created ? { ...info, tasks: [] } : info };
    });
  }

  async patchConfig(name: string, patch: Readonly<Record<string, string | null>>): Promise<ConnectorInfo> {
    const merged: Record<string, string> = { ...this.#entry(name).config };
    for (const [key, value] of Object.entries(patch)) {
      if (value === null) delete merged[key];
      else merged[key] = value;
    }
    return (await this.putConfig(name, merged)).info;
  }

  deleteConnector(name: string): Promise<void> {
    return this.#mutate(`deleting connector ${name}`, async () => {
      this.#entry(name);
      await this.#parts.configs.write([connectorRecord(name, null), targetRecord(name, null)]);
      void this.#supervisor(name).sync();
    });
  }

  pauseConnector(name: string): Promise<void> {
    return this.#setTarget(name, 'PAUSED');
  }

  resumeConnector(name: string): Promise<void> {
    return this.#setTarget(name, 'STARTED');
  }

  stopConnector(name: string): Promise<void> {
    return this.#setTarget(name, 'STOPPED');
  }

  async restartConnector(name: string): Promise<void> {
    this.#require(name, `Unknown connector: ${name}`);
    await this.#supervisor(name).restart({ connector: true, tasks: [] });
  }

  async restartWithTasks(
    name: string,
    { includeTasks, onlyFailed }: { includeTasks: boolean; onlyFailed: boolean },
  ): Promise<ConnectorStateInfo> {
    this.#require(name, `Unknown connector: ${name}`);
    const { statuses } = this.#parts;
    const before = this.connectorStatus(name);
    const { plan, connector, tasks } = restartPlan(before, { includeTasks, onlyFailed });
    // A stopped connector has nothing to restart, and stays STOPPED.
    if (before.connector.state === 'STOPPED') return plan;
    if (connector) statuses.connector(name, 'RESTARTING', before.connector.trace ?? null);
    for (const { id, trace } of tasks) statuses.task(name, id, 'RESTARTING', trace ?? null);
    void this.#supervisor(name).restart({ connector, tasks: tasks.map(({ id }) => id) });
    return plan;
  }

  async restartTask(name: string, task: number): Promise<void> {
    const entry = this.#require(name, `Unknown connector: ${name}`);
    if (task >= entry.taskConfigs.length) throw unknown(`Unknown task: ${name}-${task}`);
    await this.#supervisor(name).restart({ connector: false, tasks: [task] });
  }

  async connectorOffsets(name: string): Promise<readonly OffsetEntry[]> {
    return this.#parts.offsets.list(name, this.#entry(name).config);
  }

  alterOffsets(name: string, offsets: readonly OffsetEntry[] | null): Promise<string> {
    if (offsets !== null && offsets.length === 0) {
      const message = 'Partitions / offsets need to be provided for an alter offsets request';
      return Promise.reject(new ConnectError('REQUEST_INVALID', message));
    }
    return this.#mutate(`changing offsets of connector ${name}`, async () => {
      const { config, target, taskConfigs } = this.#entry(name);
      if (target !== 'STOPPED' || taskConfigs.length > 0) {
        throw new ConnectError(
          'REQUEST_INVALID',
          `Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified connector by issuing a 'PUT' request to the '/connectors/${name}/stop' endpoint`,
        );
      }
      await this.#supervisor(name).idle();
      return this.#parts.offsets.alter(name, config, offsets);
    });
  }

  plugins(): readonly PluginInfo[] {
    return pluginList(this.#parts.worker.plugins);
  }

  pluginConfig(name: string, version: string | null): readonly ConfigKeyInfo[] {
    const keys = this.#parts.validator.pluginKeys(name);
    if (version !== null) requireVersion(this.#parts.worker.plugins, name, version);
    return keys;
  }

  async validateConfig(plugin: string, config: Config): Promise<ConfigInfos> {
    const included = config['connector.class'];
    const normal = (name: string): string => name.replace(/Connector$/, '');
    if (included && !normal(included).endsWith(normal(plugin))) {
      throw new ConnectError(
        'CONFIG_INVALID',
        `Included connector type ${included} does not match request type ${plugin}`,
      );
    }
    return this.#parts.validator.validate(config);
  }

  /** Stops everything within the worker's graceful time. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { worker, statuses, statusStore, configs, resolver } = this.#parts;
    await Promise.all([...this.#supervisors.values()].map(supervisor => supervisor.close()));
    statuses.unassignAll();
    await statusStore.close();
    await configs.close();
    await resolver.close();
    await worker.close();
  }

  #setTarget(name: string, target: TargetState): Promise<void> {
    return this.#mutate(`setting connector ${name} to ${target}`, async () => {
      const entry = this.#require(name, `Unknown connector ${name}`);
      const records = [targetRecord(name, target)];
      if (target === 'STOPPED' && entry.taskConfigs.length > 0) records.unshift(...taskRecords(name, []));
      await this.#parts.configs.write(records);
      void this.#supervisor(name).sync();
    });
  }

  /** Changes go one after the other, so that each sees what the one before wrote. */
  #mutate<T>(description: string, change: () => Promise<T>): Promise<T> {
    const result = this.#mutations.then(async () => {
      this.#stage = { description, startedMs: Date.now(), completedMs: null };
      try {
        return await change();
      } finally {
        this.#completeStage();
      }
    });
    this.#mutations = result.catch(() => undefined);
    return result;
  }

  #completeStage(): void {
    this.#stage = { ...this.#stage, completedMs: Date.now() };
  }

  #entry(name: string): ConnectorEntry {
    return this.#require(name, `Connector ${name} not found`);
  }

  #require(name: string, message: string): ConnectorEntry {
    const entry = this.#parts.configs.state.connector(name);
    if (entry === null) throw unknown(message);
    return entry;
  }

  #type(config: Config): ConnectorType {
    return this.#parts.worker.plugins.find(config['connector.class'] ?? '', 'source', 'sink')?.kind ?? 'unknown';
  }

  #supervisor(name: string): ConnectorSupervisor {
    let supervisor = this.#supervisors.get(name);
    if (supervisor === undefined) {
      const { metrics, logger, config } = this.#options;
      const deps: SupervisorDeps = {
        ...this.#parts,
        metrics,
        logger,
        restartSettings: connector => restartSettings(connector, config),
        unknownKeys: connector => this.#parts.validator.unknownKeys(connector),
      };
      supervisor = new ConnectorSupervisor(name, deps);
      this.#supervisors.set(name, supervisor);
    }
    return supervisor;
  }

  #requireTopicTracking(key: 'topic.tracking.enable' | 'topic.tracking.allow.reset', message: string): void {
    if (!this.#options.config[key]) throw new ConnectError('REQUEST_FORBIDDEN', message);
  }

  #states() {
    const { statuses, worker } = this.#parts;
    return this.connectors().map(name => {
      const { config, type } = this.connectorInfo(name);
      const className = config['connector.class'] ?? '';
      const plugin = worker.plugins.find(className, 'source', 'sink');
      return {
        name,
        className: plugin?.className ?? className,
        type,
        version: plugin?.version ?? null,
        state: statuses.connectorStatus(name)?.state ?? 'UNASSIGNED',
        tasks: statuses.taskStatuses(name).map(({ id, state }) => ({ task: id, state })),
      };
    });
  }
}

function unknown(message: string): ConnectError {
  return new ConnectError('RESOURCE_UNKNOWN', message);
}
