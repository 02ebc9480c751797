/**
 * What a herder does whether it is alone or one of many: answers from what the config and status topics say, and changes them, one change after the
 * other. Everything wanted is written first; supervisors, one for each connector, then bring about what is this worker's.
 */
import { ConnectError } from '../../schemas/errors.ts';
import type { Config } from '../api/index.ts';
import type { ConnectorState } from '../metrics/workerMetrics.ts';
import type {
  ConnectorInfo,
  ConnectorStateInfo,
  ConnectorType,
  CreateRequest,
  OffsetEntry,
  PluginInfo,
  TaskInfo,
  TaskStatus,
  WorkerStage,
} from './herder.ts';
import type { HerderOptions, HerderParts } from './herderParts.ts';
import { ConnectorSupervisor } from './lifecycle/connectorSupervisor.ts';
import { type RestartPlan, restartPlan } from './lifecycle/restartPlan.ts';
import { restartSettings } from './lifecycle/restartPolicy.ts';
import type { Supervisors } from './lifecycle/supervisors.ts';
import { pluginList, requireVersion } from './pluginList.ts';
import {
  type ConnectorEntry,
  connectorRecord,
  type TargetState,
  targetRecord,
  taskRecords,
} from './stores/configState.ts';
import { taskPlugins } from './taskPlugins.ts';
import type { ConfigInfos, ConfigKeyInfo } from './validation/configInfos.ts';

export abstract class AbstractHerder {
  protected readonly options: HerderOptions;
  protected readonly parts: HerderParts;
  protected readonly supervisors: Supervisors;
  #mutations: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | null = null;
  #stage: WorkerStage = { description: 'starting connectors', startedMs: Date.now(), completedMs: null };

  protected constructor(options: HerderOptions, parts: HerderParts, supervisors: Supervisors) {
    this.options = options;
    this.parts = parts;
    this.supervisors = supervisors;
    options.metrics.setStates(() => this.states());
  }

  /** Whether a task, or the connector (null), is to run on this worker. */
  protected abstract owns(connector: string, task: number | null): boolean;
  /** Throws where another worker has to make changes. */
  protected abstract requireWriter(): void;
  /** Throws where another worker runs the task, or the connector (null). */
  protected abstract requireOwner(connector: string, task: number | null): void;
  /** New records of a connector are in the config topic. */
  protected abstract written(name: string): void;
  /** Resolves when nothing of a stopped connector runs any more. */
  protected abstract stopped(name: string): Promise<void>;
  /** Resolves when no task of a stopped source can write offsets any more, where that can be made sure of. */
  protected abstract fence(name: string): Promise<void>;
  /** Of the task configs of a source that delivers exactly once; undefined = at least once. */
  protected abstract generation(name: string): number | undefined;
  protected abstract commitTasks(name: string, configs: readonly Config[]): Promise<void>;
  /** Ends what the kind of herder has of its own, with the tasks. */
  protected abstract end(): Promise<void>;

  get workerId(): string {
    return this.options.workerId;
  }

  get clusterId(): string {
    return this.parts.clusterId;
  }

  stage(): WorkerStage {
    return this.#stage;
  }

  connectors(): readonly string[] {
    return this.parts.configs.state.names();
  }

  connectorInfo(name: string): ConnectorInfo {
    const { config, taskConfigs } = this.entry(name);
    return { name, config, tasks: taskConfigs.map((_, task) => ({ connector: name, task })), type: this.#type(config) };
  }

  connectorStatus(name: string): ConnectorStateInfo {
    const { statuses, configs } = this.parts;
    const connector = statuses.connectorStatus(name);
    if (connector === null) throw unknown(`No status found for connector ${name}`);
    const { config = {}, taskConfigs = [] } = configs.state.connector(name) ?? {};
    return { name, connector, tasks: statuses.taskStatuses(name, taskConfigs.length), type: this.#type(config) };
  }

  taskConfigs(name: string): readonly TaskInfo[] {
    return this.entry(name).taskConfigs.map((config, task) => ({ id: { connector: name, task }, config }));
  }

  taskStatus(name: string, task: number): TaskStatus {
    const status = this.parts.statuses.taskStatus(name, task);
    if (status === null) throw unknown(`No status found for task ${name}-${task}`);
    return status;
  }

  activeTopics(name: string): readonly string[] {
    this.#requireTopicTracking('topic.tracking.enable', 'Topic tracking is disabled.');
    return this.parts.statuses.topics(name);
  }

  async resetActiveTopics(name: string): Promise<void> {
    this.#requireTopicTracking('topic.tracking.enable', 'Topic tracking is disabled.');
    this.#requireTopicTracking('topic.tracking.allow.reset', 'Topic tracking reset is disabled.');
    const asOfMs = Date.now();
    this.parts.statuses.forgetTopics(name);
    this.parts.worker.forgetTopics(name, asOfMs);
  }

  async createConnector({ name, config, initialState }: CreateRequest): Promise<ConnectorInfo> {
    this.requireWriter();
    await this.parts.validator.requireValid(config);
    return this.mutate(`creating connector ${name}`, async () => {
      if (this.parts.configs.state.connector(name) !== null) {
        throw new ConnectError('REQUEST_CONFLICT', `Connector ${name} already exists`);
      }
      const target: TargetState = initialState === 'RUNNING' ? 'STARTED' : initialState;
      const records = [connectorRecord(name, config)];
      // First, so that no task ever runs in another state.
      if (target !== 'STARTED') records.unshift(targetRecord(name, target));
      await this.parts.configs.writeAsLeader(records);
      this.written(name);
      return { ...this.connectorInfo(name), tasks: [] };
    });
  }

  async putConfig(name: string, config: Config): Promise<{ created: boolean; info: ConnectorInfo }> {
    this.requireWriter();
    await this.parts.validator.requireValid(config);
    return this.mutate(`configuring connector ${name}`, async () => {
      const created = this.parts.configs.state.connector(name) === null;
      await this.parts.configs.writeAsLeader([connectorRecord(name, config)]);
      this.written(name);
      const info = this.connectorInfo(name);
      return { created, info: created ? { ...info, tasks: [] } : info };
    });
  }

  async patchConfig(name: string, patch: Readonly<Record<string, string | null>>): Promise<ConnectorInfo> {
    this.requireWriter();
    const merged: Record<string, string> = { ...this.entry(name).config };
    for (const [key, value] of Object.entries(patch)) {
      if (value === null) delete merged[key];
      else merged[key] = value;
    }
    return (await this.putConfig(name, merged)).info;
  }

  async deleteConnector(name: string): Promise<void> {
    this.requireWriter();
    return this.mutate(`deleting connector ${name}`, async () => {
      this.entry(name);
      await this.parts.configs.writeAsLeader([connectorRecord(name, null), targetRecord(name, null)]);
      this.written(name);
    });
  }

  pauseConnector(name: string): Promise<void> {
    return this.#setTarget(name, 'PAUSED');
  }

  resumeConnector(name: string): Promise<void> {
    return this.#setTarget(name, 'STARTED');
  }

  async stopConnector(name: string): Promise<void> {
    this.requireWriter();
    return this.#setTarget(name, 'STOPPED');
  }

  async restartConnector(name: string): Promise<void> {
    this.require(name, `Unknown connector: ${name}`);
    this.requireOwner(name, null);
    await this.supervisor(name).restart({ connector: true, tasks: [] });
  }

  async restartTask(name: string, task: number): Promise<void> {
    const entry = this.require(name, `Unknown connector: ${name}`);
    if (task >= entry.taskConfigs.length) throw unknown(`Unknown task: ${name}-${task}`);
    this.requireOwner(name, task);
    await this.supervisor(name).restart({ connector: false, tasks: [task] });
  }

  protected planRestart(
    name: string,
    options: { readonly includeTasks: boolean; readonly onlyFailed: boolean },
  ): RestartPlan {
    this.require(name, `Unknown connector: ${name}`);
    const before = this.connectorStatus(name);
    const planned = restartPlan(before, options);
    // A stopped connector has nothing to restart, and stays STOPPED.
    return before.connector.state === 'STOPPED' ? { ...planned, connector: false, tasks: [] } : planned;
  }

  /** Of what is planned, what this worker runs. */
  protected restartOwn({ plan, connector, tasks }: RestartPlan): void {
    const { name } = plan;
    const { statuses } = this.parts;
    const own = { connector: connector && this.owns(name, null), tasks: tasks.filter(({ id }) => this.owns(name, id)) };
    if (own.connector) statuses.connector(name, 'RESTARTING', plan.connector.trace ?? null);
    for (const { id, trace } of own.tasks) statuses.task(name, id, 'RESTARTING', trace ?? null);
    if (!own.connector && own.tasks.length === 0) return;
    void this.supervisor(name).restart({ connector: own.connector, tasks: own.tasks.map(({ id }) => id) });
  }

  async connectorOffsets(name: string): Promise<readonly OffsetEntry[]> {
    return this.parts.offsets.list(name, this.entry(name).config);
  }

  async alterOffsets(name: string, offsets: readonly OffsetEntry[] | null): Promise<string> {
    this.requireWriter();
    if (offsets !== null && offsets.length === 0) {
      const message = 'Partitions / offsets need to be provided for an alter offsets request';
      throw new ConnectError('REQUEST_INVALID', message);
    }
    return this.mutate(`changing offsets of connector ${name}`, async () => {
      const { config, target, taskConfigs } = this.entry(name);
      if (target !== 'STOPPED' || taskConfigs.length > 0) {
        throw new ConnectError(
          'REQUEST_INVALID',
          `Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified connector by issuing a 'PUT' request to the '/connectors/${name}/stop' endpoint`,
        );
      }
      await this.stopped(name);
      await this.fence(name);
      return this.parts.offsets.alter(name, config, offsets);
    });
  }

  plugins(): readonly PluginInfo[] {
    return pluginList(this.parts.worker.plugins);
  }

  async pluginConfig(name: string, version: string | null): Promise<readonly ConfigKeyInfo[]> {
    const keys = await this.parts.validator.pluginKeys(name);
    if (version !== null) requireVersion(this.parts.worker.plugins, name, version);
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
    return this.parts.validator.validate(config);
  }

  /** Stops everything within the worker's graceful time. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { worker, statusStore, configs, resolver } = this.parts;
    await this.end();
    await statusStore.close();
    await configs.close();
    await resolver.close();
    await worker.close();
  }

  protected supervisor(name: string): ConnectorSupervisor {
    const { metrics, logger, config, secrets } = this.options;
    return this.supervisors.get(
      name,
      () =>
        new ConnectorSupervisor(name, {
          ...this.parts,
          metrics,
          logger,
          secrets,
          owns: (connector, task) => this.owns(connector, task),
          commitTasks: (connector, configs) => this.commitTasks(connector, configs),
          generation: connector => this.generation(connector),
          restartSettings: connector => restartSettings(connector, config),
          unknownKeys: connector => this.parts.validator.unknownKeys(connector),
        }),
    );
  }

  #setTarget(name: string, target: TargetState): Promise<void> {
    return this.mutate(`setting connector ${name} to ${target}`, async () => {
      const entry = this.require(name, `Unknown connector ${name}`);
      const records = [targetRecord(name, target)];
      if (target === 'STOPPED') {
        if (entry.taskConfigs.length > 0) records.unshift(...taskRecords(name, []));
        await this.parts.configs.writeAsLeader(records);
      } else await this.parts.configs.write(records);
      this.written(name);
    });
  }

  /** Changes go one after the other, so that each sees what the one before wrote. */
  protected mutate<T>(description: string, change: () => Promise<T>): Promise<T> {
    const result = this.#mutations.then(async () => {
      this.#stage = { description, startedMs: Date.now(), completedMs: null };
      try {
        return await change();
      } finally {
        this.completeStage();
      }
    });
    this.#mutations = result.catch(() => undefined);
    return result;
  }

  protected completeStage(): void {
    this.#stage = { ...this.#stage, completedMs: Date.now() };
  }

  protected entry(name: string): ConnectorEntry {
    return this.require(name, `Connector ${name} not found`);
  }

  protected require(name: string, message: string): ConnectorEntry {
    const entry = this.parts.configs.state.connector(name);
    if (entry === null) throw unknown(message);
    return entry;
  }

  #type(config: Config): ConnectorType {
    return this.parts.worker.plugins.find(config['connector.class'] ?? '', 'source', 'sink')?.kind ?? 'unknown';
  }

  #requireTopicTracking(key: 'topic.tracking.enable' | 'topic.tracking.allow.reset', message: string): void {
    if (!this.options.config[key]) throw new ConnectError('REQUEST_FORBIDDEN', message);
  }

  /** For the metrics: what this worker runs. */
  protected states(): ConnectorState[] {
    const { statuses, worker } = this.parts;
    const states = this.connectors().map(name => {
      const { config, type, tasks } = this.connectorInfo(name);
      const own = statuses.taskStatuses(name, tasks.length).filter(({ id }) => this.owns(name, id));
      return {
        name,
        type,
        plugins: taskPlugins(config, this.options.config, worker.plugins),
        state: statuses.connectorStatus(name)?.state ?? 'UNASSIGNED',
        runsHere: this.owns(name, null),
        tasks: own.map(({ id, state }) => ({ task: id, state })),
      };
    });
    return states.filter(({ runsHere, tasks }) => runsHere || tasks.length > 0);
  }
}

function unknown(message: string): ConnectError {
  return new ConnectError('RESOURCE_UNKNOWN', message);
}
