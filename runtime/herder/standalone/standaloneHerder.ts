/**
 * The herder of a single worker process. Configs, target states and statuses live in topics, so that connectors made over REST run again after a
 * restart; everything wanted is written there first, then a supervisor for each connector brings it about.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { Config, Logger } from '../../api/index.ts';
import type { Broker } from '../../broker/port.ts';
import { ConfigResolver } from '../../config/configResolver.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { WorkerMetrics } from '../../metrics/workerMetrics.ts';
import { sinkGroupId } from '../../worker/clientSettings.ts';
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
import { pluginList, requireVersion } from '../pluginList.ts';
import {
  type ConnectorEntry,
  connectorRecord,
  type TargetState,
  targetRecord,
  taskRecords,
} from '../stores/configState.ts';
import { ConfigStore } from '../stores/configStore.ts';
import { StatusStore } from '../stores/statusStore.ts';
import type { ConfigInfos, ConfigKeyInfo } from '../validation/configInfos.ts';
import { ConnectorValidator } from '../validation/connectorValidator.ts';
import { ConnectorSupervisor, type SupervisorDeps } from './connectorSupervisor.ts';
import type { RestartSettings } from './restartPolicy.ts';
import { alterSinkOffsets, parseSinkOffsets, sinkOffsets } from './sinkOffsets.ts';
import { StatusBoard } from './statusBoard.ts';

export interface StandaloneOptions {
  readonly config: WorkerConfig;
  readonly pluginModules: readonly string[];
  /** host:port under which this worker is reached. */
  readonly workerId: string;
  readonly metrics: WorkerMetrics;
  readonly logger: Logger;
}

interface Parts {
  readonly broker: Broker;
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
    const { broker } = worker;
    const configs = await ConfigStore.open(topicOptions('config', broker, config, logger));
    const statusStore = await StatusStore.open(topicOptions('status', broker, config, logger));
    const versionOf = (name: string): string | null => {
      const className = configs.state.connector(name)?.config['connector.class'];
      return (className && worker.plugins.find(className, 'source', 'sink')?.version) || null;
    };
    const statuses = new StatusBoard(statusStore, workerId, versionOf);
    const resolver = ConfigResolver.create(config, name => worker.plugins.find(name, 'config_provider'));
    const validator = new ConnectorValidator(config, worker.plugins, resolver);
    const clusterId = await broker.admin().clusterId();
    const parts = { broker, configs, statusStore, statuses, worker, resolver, validator, clusterId };
    const herder = new StandaloneHerder(options, parts, supervisors);
    metrics.setStates(() => herder.#states());
    statuses.unassignAll();
    for (const name of configs.state.names()) void herder.#supervisor(name).sync();
    herder.#completeStage();
    return herder;
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
    const tasks = taskConfigs.map((_, task) => ({ connector: name, task }));
    return { name, config, tasks, type: this.#type(config) };
  }

  connectorStatus(name: string): ConnectorStateInfo {
    const { statuses, configs } = this.#parts;
    const connector = statuses.connectorStatus(name);
    if (connector === null) throw unknown(`No status found for connector ${name}`);
    const type = this.#type(configs.state.connector(name)?.config ?? {});
    return { name, connector, tasks: statuses.taskStatuses(name), type };
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
    const wanted = ({ state }: { state: string }): boolean =>
      !onlyFailed || state === 'FAILED' || state === 'RESTARTING';
    const connector = wanted(before.connector);
    const tasks = includeTasks ? before.tasks.filter(wanted) : [];
    const plan = {
      ...before,
      connector: connector ? { ...before.connector, state: 'RESTARTING' as const } : before.connector,
      tasks: before.tasks.map(task => (tasks.includes(task) ? { ...task, state: 'RESTARTING' as const } : task)),
    };
    // A stopped connector has nothing to restart, and stays STOPPED.
    if (before.connector.state === 'STOPPED') return plan;
    if (connector) statuses.connector(name, 'RESTARTING', before.connector.trace ?? null);
    for (const { id, trace } of tasks) statuses.task(name, id, 'RESTARTING', trace ?? null);
    void this.#supervisor(name).restart({ connector, tasks: tasks.map(task => task.id) });
    return plan;
  }

  async restartTask(name: string, task: number): Promise<void> {
    const entry = this.#require(name, `Unknown connector: ${name}`);
    if (task >= entry.taskConfigs.length) throw unknown(`Unknown task: ${name}-${task}`);
    await this.#supervisor(name).restart({ connector: false, tasks: [task] });
  }

  async connectorOffsets(name: string): Promise<readonly OffsetEntry[]> {
    const { config } = this.#entry(name);
    const { broker, worker, resolver } = this.#parts;
    const resolved = await resolver.resolve(config);
    if (this.#type(config) === 'sink') return sinkOffsets(broker.admin(), sinkGroupId(name, resolved));
    return worker.sourceOffsets(name, resolved);
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
      const complete = await this.#alterOffsets(name, config, offsets);
      return offsetsAnswer(offsets === null ? 'reset' : 'altered', complete);
    });
  }

  /** True = nothing is left to be altered elsewhere. */
  async #alterOffsets(name: string, raw: Config, offsets: readonly OffsetEntry[] | null): Promise<boolean> {
    const { broker, worker, resolver, validator } = this.#parts;
    const config = await resolver.resolve(raw);
    const plugin = validator.plugin(config);
    if (plugin.kind === 'source') return worker.alterSourceOffsets(name, config, offsets);
    const admin = broker.admin();
    const changes = offsets === null ? null : parseSinkOffsets(offsets);
    const hook = plugin.createConnector();
    const groupId = sinkGroupId(name, config);
    const all = changes ?? (await admin.groupOffsets(groupId)).map(position => ({ ...position, offset: null }));
    const complete = (await hook.alterOffsets?.(config, all)) ?? true;
    await alterSinkOffsets(admin, groupId, changes);
    return complete;
  }

  plugins(): readonly PluginInfo[] {
    return pluginList(this.#parts.worker.plugins);
  }

  pluginConfig(name: string, version: string | null): readonly ConfigKeyInfo[] {
    const { validator, worker } = this.#parts;
    const keys = validator.pluginKeys(name);
    if (version !== null) {
      const { plugins } = worker;
      const plugin =
        plugins.find(name, 'source', 'sink') ??
        plugins.find(name, 'converter', 'header_converter', 'transformation', 'predicate');
      if (plugin !== undefined) requireVersion(plugin, version);
    }
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
      const { worker, configs, statuses, resolver } = this.#parts;
      const { metrics, logger, config } = this.#options;
      const deps: SupervisorDeps = {
        worker,
        configs,
        statuses,
        resolver,
        metrics,
        logger,
        restartSettings: connector => restartSettings(connector, config),
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

function restartSettings(connector: Config, worker: WorkerConfig): RestartSettings {
  const own = connector['errors.restart.max'];
  return {
    max: own === undefined ? worker['errors.restart.max'] : Number(own),
    initialDelayMs: worker['errors.restart.delay.initial.ms'],
    maxDelayMs: worker['errors.restart.delay.max.ms'],
  };
}

function topicOptions(kind: 'config' | 'status', broker: Broker, config: WorkerConfig, logger: Logger) {
  const extra = Object.entries(config.raw)
    .filter(([key]) => key.startsWith(`${kind}.storage.`))
    .map(([key, value]) => [key.slice(`${kind}.storage.`.length), value] as const)
    .filter(([key]) => !['topic', 'partitions', 'replication.factor'].includes(key));
  return {
    broker,
    spec: {
      name: config[`${kind}.storage.topic`],
      partitions: kind === 'config' ? 1 : config['status.storage.partitions'],
      replicationFactor: config[`${kind}.storage.replication.factor`],
      configs: Object.fromEntries(extra),
    },
    create: config['internal.topics.automatic.creation.enable'],
    clientId: `${config['group.id']}-herder`,
    logger,
  };
}

function offsetsAnswer(done: 'altered' | 'reset', complete: boolean): string {
  if (complete) return `The offsets for this connector have been ${done} successfully`;
  return `The Connect framework-managed offsets for this connector have been ${done} successfully. However, if this connector manages offsets externally, they will need to be manually ${done} in the system that the connector uses.`;
}
