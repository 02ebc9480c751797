/**
 * The herder of one worker of a cluster. All workers follow the config and status topics and answer from them; the leader writes configs; each runs what
 * the group gives it. What has to be done elsewhere is answered with where: the REST API sends it on.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { ConnectError } from '../../../schemas/errors.ts';
import type { Config } from '../../api/index.ts';
import type { SignatureAlgorithm } from '../../config/signatureAlgorithms.ts';
import { LogLevels } from '../../metrics/logLevels.ts';
import type { TaskGuard } from '../../worker/types.ts';
import { AbstractHerder } from '../abstractHerder.ts';
import { ForwardRequest } from '../forwardRequest.ts';
import type { ConnectorStateInfo, Herder, InternalRequests } from '../herder.ts';
import { type HerderOptions, type HerderParts, herderParts, startWorker } from '../herderParts.ts';
import { Supervisors } from '../lifecycle/supervisors.ts';
import { type ConfigChange, loggerRecord, restartRecord, taskRecords } from '../stores/configState.ts';
import { ConfigStore } from '../stores/configStore.ts';
import type { InternalRecord } from '../stores/internalTopic.ts';
import { internalTopicOptions } from '../stores/internalTopicOptions.ts';
import { StatusStore } from '../stores/statusStore.ts';
import { WorkerClient } from '../workerClient.ts';
import { ClusterMember } from './clusterMember.ts';
import { LeaderDuties } from './leaderDuties.ts';
import { askLeader } from './leaderRequest.ts';
import { SourceTaskGuard } from './sourceTaskGuard.ts';
import { TaskConfigPublisher } from './taskConfigPublisher.ts';
import { waitFor } from './waitFor.ts';
import { connectorKey, connectorTask, parseWorkKey, workerIdOf, workKey } from './workIds.ts';
import { ZombieFencing } from './zombieFencing.ts';

export interface DistributedOptions extends HerderOptions {
  readonly levels: LogLevels;
  /** Of the listener that other workers use. */
  readonly scheme: 'http' | 'https';
  /** The cluster cannot be joined: this worker must stop. */
  readonly onFailed: (error: unknown) => void;
}

/** How long a change of offsets waits for tasks on other workers to end. */
const stoppingTimeoutMs = 10_000;

export class DistributedHerder extends AbstractHerder implements Herder {
  readonly internal: InternalRequests;
  readonly #levels: LogLevels;
  readonly #member: ClusterMember;
  readonly #publisher: TaskConfigPublisher;
  readonly #fencing: ZombieFencing;
  readonly #guard: SourceTaskGuard;
  readonly #support: string;
  readonly #client: WorkerClient;
  readonly #duties: LeaderDuties;
  #held: ReadonlySet<string> = new Set();

  private constructor(options: DistributedOptions, parts: HerderParts, supervisors: Supervisors, link: Link) {
    super(options, parts, supervisors);
    const { config, logger, workerId } = options;
    this.#levels = options.levels;
    this.#client = new WorkerClient(config);
    this.#member = new ClusterMember({
      broker: parts.worker.broker,
      config,
      url: `${options.scheme}://${workerId}/`,
      configs: parts.configs,
      configured: () => this.#configured(),
      handedOver: urls => this.#handedOver(urls),
      onHeld: () => this.#takeUp(),
      onLeading: owners => this.#duties.begin(owners),
      onFailed: options.onFailed,
      logger,
    });
    this.#duties = new LeaderDuties({
      ...parts,
      config,
      configured: () => this.#configured(),
      keepsKey: () => this.#member.isLeader && this.#member.isSessioned,
      logger,
    });
    this.#publisher = new TaskConfigPublisher({
      writeAsLeader: async (name, configs) => {
        if (this.#member.isLeader) await this.#writeTasks(name, configs);
        return this.#member.isLeader;
      },
      sendToLeader: (name, body, signal) => this.#askLeader('POST', `${encodeURIComponent(name)}/tasks`, body, signal),
      isOwner: name => this.owns(name, null),
      logger,
    });
    this.#support = config['exactly.once.source.support'];
    this.#fencing = new ZombieFencing({
      broker: parts.worker.broker,
      groupId: config['group.id'],
      configs: parts.configs,
      requireLeader: () => this.requireWriter(),
      syncTimeoutMs: config['worker.sync.timeout.ms'],
      logger,
    });
    this.#guard = new SourceTaskGuard({
      configs: parts.configs,
      owns: (connector, task) => this.owns(connector, task),
      fence: async (name, signal) => {
        if (!this.#member.isLeader) {
          return this.#askLeader('PUT', `${encodeURIComponent(name)}/fence`, undefined, signal);
        }
        await this.#fencing.fence(name);
        return true;
      },
      syncTimeoutMs: config['worker.sync.timeout.ms'],
      logger,
    });
    if (this.#support !== 'disabled') {
      const topic = internalTopicOptions('config', parts.worker.broker, config, logger);
      parts.configs.needRightToWrite(topic, config['group.id'], () => this.#fenced());
    }
    this.internal = {
      sessionKey: () => (this.#member.isSessioned ? parts.configs.state.sessionKey : 'unsigned'),
      algorithms: config['inter.worker.verification.algorithms'] as readonly SignatureAlgorithm[],
      putTaskConfigs: (name, configs) => {
        this.requireWriter();
        return this.mutate(`writing task configs of connector ${name}`, () => this.#writeTasks(name, configs));
      },
      fenceSourceTasks: async name => {
        this.requireWriter();
        this.entry(name);
        if (this.#support === 'disabled') {
          throw new ConnectError(
            'REQUEST_INVALID',
            'The worker that leads has exactly.once.source.support=disabled. Set preparing, then enabled, on all workers of the cluster.',
          );
        }
        await this.#fencing.fence(name);
      },
    };
    options.metrics.setRebalances(() => this.#member.rebalances());
    link.onConfig = change => this.#changed(change);
    link.onStatus = (record, timestampMs) => this.#statusRead(record, timestampMs);
    link.generation = () => this.#member.generation;
    link.ask = (question, id, generation) => this.#guard.ask(question, id, generation);
  }

  /** Resolves when the worker is a member of its cluster. */
  static async start(options: DistributedOptions): Promise<DistributedHerder> {
    const { config, logger, workerId } = options;
    const supervisors = new Supervisors(config['topic.tracking.enable']);
    const link: Link = {
      onConfig: () => {},
      onStatus: () => {},
      generation: () => 0,
      // No task runs before the herder is there.
      ask: async () => {},
    };
    const worker = await startWorker(options, supervisors, {
      ask: (question, id, generation) => link.ask(question, id, generation),
    });
    let herder: DistributedHerder | null = null;
    try {
      const { broker } = worker;
      const configs = await ConfigStore.follow(internalTopicOptions('config', broker, config, logger), change =>
        link.onConfig(change),
      );
      const statusStore = await StatusStore.follow(
        internalTopicOptions('status', broker, config, logger),
        workerId,
        (record, timestampMs) => link.onStatus(record, timestampMs),
      );
      const parts = await herderParts(options, worker, configs, statusStore, () => link.generation());
      herder = new DistributedHerder(options, parts, supervisors, link);
      // A worker of this address that was killed runs nothing any more.
      parts.statuses.unassign(status => status.workerId === workerId);
      await herder.#member.start();
      herder.completeStage();
      return herder;
    } catch (error) {
      await (herder ?? worker).close();
      throw error;
    }
  }

  async restartWithTasks(
    name: string,
    options: { readonly includeTasks: boolean; readonly onlyFailed: boolean },
  ): Promise<ConnectorStateInfo> {
    this.requireWriter();
    // What runs elsewhere is as its worker says.
    await this.#readStatuses();
    this.requireWriter();
    const { plan, connector, tasks } = this.planRestart(name, options);
    if (connector || tasks.length > 0) {
      await this.parts.configs.writeAsLeader([restartRecord(name, options.includeTasks, options.onlyFailed)]);
    }
    return plan;
  }

  async tellOthers(): Promise<void> {
    const bound = wait(this.options.config['worker.sync.timeout.ms'], undefined, { ref: false });
    await Promise.race([this.parts.statusStore.flush(), bound]);
  }

  async catchUp(): Promise<void> {
    const { configs } = this.parts;
    const timeoutMs = this.options.config['worker.sync.timeout.ms'];
    await configs.readToEnd(timeoutMs).catch(error => {
      this.options.logger.warn({ err: error }, 'a change that was sent on is not known here yet');
    });
  }

  async announceLogLevel(logger: string, level: string): Promise<void> {
    await this.parts.configs.write([loggerRecord(logger, level)]);
  }

  protected owns(connector: string, task: number | null): boolean {
    return this.#member.held.has(workKey({ connector, task: task ?? connectorTask }));
  }

  protected requireWriter(): void {
    if (!this.#member.isLeader) throw this.#toLeader();
  }

  protected requireOwner(connector: string, task: number | null): void {
    if (this.owns(connector, task)) return;
    if (!this.#member.isLeader) throw this.#toLeader();
    const url = this.#member.ownerUrl(workKey({ connector, task: task ?? connectorTask }));
    if (url !== null) throw new ForwardRequest(url, this.#member.whileThere(url));
    throw new ConnectError(
      'REQUEST_CONFLICT',
      'Cannot complete request because of a conflicting operation (e.g. worker rebalance): no worker runs it at the moment',
    );
  }

  /** All workers read what was written, this one too. */
  protected written(): void {}

  protected async stopped(name: string): Promise<void> {
    const { statuses } = this.parts;
    if (await waitFor(() => statuses.tasks(name).length === 0, stoppingTimeoutMs)) return;
    throw new ConnectError(
      'REQUEST_CONFLICT',
      `Offsets of connector ${name} cannot be changed: its tasks haven't stopped completely yet. Send the request again.`,
    );
  }

  protected async fence(name: string): Promise<void> {
    if (this.#support === 'enabled' && this.#isSource(name)) await this.#fencing.fence(name);
  }

  protected generation(name: string): number | undefined {
    if (this.#support !== 'enabled' || !this.#isSource(name)) return undefined;
    return this.parts.configs.state.taskGeneration(name);
  }

  #isSource(name: string): boolean {
    const className = this.parts.configs.state.connector(name)?.config['connector.class'];
    return className !== undefined && this.parts.worker.plugins.find(className, 'source') !== undefined;
  }

  protected async commitTasks(name: string, configs: readonly Config[]): Promise<void> {
    this.#publisher.publish(name, configs);
  }

  /** In order, so that others can take over at once: what runs is stopped and said to be free before the worker leaves. */
  protected async end(): Promise<void> {
    this.#duties.close();
    this.#publisher.close();
    this.#guard.close();
    await this.#member.close();
    await this.supervisors.close();
    await this.parts.statuses.flush();
    await this.#member.leave();
  }

  #toLeader(): Error {
    const url = this.#member.leaderUrl;
    if (url !== null) return new ForwardRequest(url, this.#member.whileThere(url));
    return new ConnectError(
      'REQUEST_CONFLICT',
      'Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway.',
    );
  }

  #configured(): ReadonlySet<string> {
    const { state } = this.parts.configs;
    const keys = new Set<string>();
    for (const name of state.names()) {
      keys.add(connectorKey(name));
      const count = state.connector(name)!.taskConfigs.length;
      for (let task = 0; task < count; task++) keys.add(workKey({ connector: name, task }));
    }
    return keys;
  }

  /** All that other workers have said by now. False = it could not be read. */
  async #readStatuses(): Promise<boolean> {
    try {
      await this.parts.statusStore.readToEnd(this.options.config['worker.sync.timeout.ms']);
      return true;
    } catch (error) {
      this.options.logger.warn({ err: error }, 'what other workers say of their connectors and tasks may be late');
      return false;
    }
  }

  /** What a worker that is gone has itself said to be free. */
  async #handedOver(urls: readonly string[]): Promise<ReadonlySet<string>> {
    const { statuses } = this.parts;
    if (!(await this.#readStatuses())) return new Set();
    const present = new Set(urls.map(workerIdOf));
    const free = new Set<string>();
    for (const key of this.#configured()) {
      const { connector, task } = parseWorkKey(key);
      const status =
        task === connectorTask ? statuses.connectorStatus(connector) : statuses.taskStatus(connector, task);
      if (status?.state === 'STOPPED') free.add(key);
      else if (status?.state === 'UNASSIGNED' && !present.has(status.worker_id)) free.add(key);
    }
    return free;
  }

  /** Starts what has come, and waits until what has gone is stopped; for a bounded time, since others wait for this worker. */
  async #takeUp(): Promise<void> {
    const before = this.#held;
    const { held } = this.#member;
    this.#held = held;
    if (!this.#member.isLeader) await this.parts.configs.lead(false);
    const names = (keys: Iterable<string>): Set<string> => new Set([...keys].map(key => parseWorkKey(key).connector));
    const losing = names([...before].filter(key => !held.has(key)));
    const gained = new Set([...held].filter(key => !before.has(key)));
    const gaining = names(gained);
    // Until it runs here it runs nowhere, whatever a worker that was killed has said last.
    this.parts.statuses.unassign(({ workerId }, connector, task) => {
      return workerId !== this.workerId && gained.has(workKey({ connector, task: task ?? connectorTask }));
    });
    const stopping = [...losing].map(name => this.supervisor(name).sync());
    for (const name of gaining) if (!losing.has(name)) void this.supervisor(name).sync();
    let done = false;
    const all = Promise.all(stopping).then(() => {
      done = true;
    });
    if (stopping.length === 0) return;
    await Promise.race([all, waitFor(() => done, this.options.config['rebalance.timeout.ms'])]);
    if (!done) this.options.logger.error({ connectors: [...losing] }, 'what was given up did not stop in time');
  }

  async #writeTasks(name: string, configs: readonly Config[]): Promise<void> {
    this.entry(name);
    await this.parts.configs.writeAsLeader(taskRecords(name, configs));
  }

  /** False = there is no other leader to ask. */
  async #askLeader(method: 'POST' | 'PUT', path: string, body: unknown, signal: AbortSignal): Promise<boolean> {
    const url = this.#member.leaderUrl;
    if (url === null) return false;
    const sessionKey = this.#member.isSessioned ? this.parts.configs.state.sessionKey : null;
    const algorithm = this.options.config['inter.worker.signature.algorithm'] as SignatureAlgorithm;
    const request = { client: this.#client, url, method, path: `connectors/${path}`, body, sessionKey, algorithm };
    await askLeader({ ...request, signal: AbortSignal.any([signal, this.#member.whileThere(url)]) });
    return true;
  }

  /** Another worker took the right to write: whether this one leads is for the group to say. */
  #fenced(): void {
    this.options.logger.warn({}, 'another worker writes the configs of the cluster by now; joining again');
    this.#member.rejoin();
  }

  #changed(change: ConfigChange): void {
    switch (change.kind) {
      case 'connector':
        if (change.isNew) this.#member.rejoin();
        this.#syncIfRunning(change.name);
        return;
      case 'removed':
        this.#member.rejoin();
        this.#syncIfRunning(change.name);
        return;
      case 'target':
        this.#syncIfRunning(change.name);
        return;
      case 'tasks':
        if (change.countChanged) this.#member.rejoin();
        this.#syncIfRunning(change.name);
        return;
      case 'restart':
        if (this.parts.statuses.connectorStatus(change.name) === null) return;
        if (this.parts.configs.state.connector(change.name) === null) return;
        this.restartOwn(this.planRestart(change.name, change));
        return;
      case 'logger': {
        const level = LogLevels.parse(change.level);
        if (level !== null) this.#levels.set(change.namespace, level);
        return;
      }
      case 'fenced':
      case 'sessionKey':
        return;
    }
  }

  #syncIfRunning(name: string): void {
    if ([...this.#held].some(key => parseWorkKey(key).connector === name)) void this.supervisor(name).sync();
  }

  /** Topics that another worker was told to forget are to be found anew. */
  #statusRead({ key, value }: InternalRecord, timestampMs: number): void {
    const name = value === null ? /^status-topic-[^:]*:connector-(.*)$/s.exec(key)?.[1] : undefined;
    if (name !== undefined) this.parts.worker.forgetTopics(name, timestampMs);
  }
}

/** Between the stores, which are read first, and the herder that stands on them. */
interface Link {
  onConfig: (change: ConfigChange) => void;
  onStatus: (record: InternalRecord, timestampMs: number) => void;
  generation: () => number;
  ask: TaskGuard['ask'];
}
