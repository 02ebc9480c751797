/**
 * A worker's part in the group of its cluster: joins, takes what the leader assigns, gives up what is revoked, and assigns where it leads itself.
 * What it holds is what may run here: it is emptied before anybody else can get it, also where the coordinator is lost.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../../api/index.ts';
import type { Broker, GroupMember, JoinedGroup, Membership } from '../../broker/port.ts';
import type { WorkerConfig } from '../../config/workerConfig.ts';
import type { RebalanceState } from '../../metrics/workerMetrics.ts';
import type { ConfigStore } from '../stores/configStore.ts';
import {
  type Assignment,
  type ConnectProtocol,
  configMismatch,
  decodeAssignment,
  decodeMetadata,
  encodeAssignment,
  encodeMetadata,
  offeredVersions,
  type ProtocolVersion,
  protocolName,
  protocolVersion,
} from './connectProtocol.ts';
import { eagerAssign } from './eagerAssignor.ts';
import { IncrementalAssignor } from './incrementalAssignor.ts';
import { isConnectorKey } from './workIds.ts';

export interface ClusterMemberOptions {
  readonly broker: Broker;
  readonly config: WorkerConfig;
  /** Of this worker's REST API, with a slash at its end. */
  readonly url: string;
  readonly configs: ConfigStore;
  /** All that is to run somewhere. */
  readonly configured: () => ReadonlySet<string>;
  /** Of what is to run: what its worker stopped in order. `urls` are those of the members. */
  readonly handedOver: (urls: readonly string[]) => Promise<ReadonlySet<string>>;
  /** `held` has changed: resolves when what is not in it any more has stopped. */
  readonly onHeld: () => Promise<void>;
  /** A generation begins that this member leads; `owners` are the URLs of the workers, by what they run. */
  readonly onLeading: (owners: ReadonlyMap<string, string>) => void;
  /** The group cannot be joined, for a reason that does not pass. */
  readonly onFailed: (error: unknown) => void;
  readonly logger: Logger;
}

const protocolType = 'connect';
/** Work that one worker gives up is given to the next in a second round, which the others should not be late for. */
const settlingMs = 3_000;
const firstBackoffMs = 250;
/** How often a member may fail to read the config topic before it gives up what it runs. */
const maxUnsynced = 5;
const nothing: ReadonlySet<string> = new Set();

export class ClusterMember {
  readonly #options: ClusterMemberOptions;
  readonly #membership: Membership;
  readonly #assignor: IncrementalAssignor;
  readonly #versions: readonly ProtocolVersion[];
  readonly #closing = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #held = nothing;
  #assignment: Assignment | null = null;
  #version: ProtocolVersion;
  #generation = 0;
  #owners: ReadonlyMap<string, string> | null = null;
  /** Of the workers in the last generation that this one led. */
  #workers: ReadonlySet<string> | null = null;
  readonly #there = new Map<string, AbortController>();
  #unsynced = 0;
  #lost = false;
  #rejoinWanted = false;
  #joiningSinceMs: number | null = null;
  readonly #rebalances = { completed: 0, totalMs: 0, maxMs: 0, lastMs: Date.now() };
  #wake = (): void => {};

  constructor(options: ClusterMemberOptions) {
    const { broker, config } = options;
    this.#options = options;
    this.#versions = offeredVersions(config['connect.protocol'] as ConnectProtocol);
    this.#version = this.#versions[0]!;
    this.#assignor = new IncrementalAssignor(config['scheduled.rebalance.max.delay.ms']);
    this.#membership = broker.membership({
      groupId: config['group.id'],
      protocolType,
      clientId: `${config['group.id']}-worker`,
      sessionTimeoutMs: config['session.timeout.ms'],
      rebalanceTimeoutMs: config['rebalance.timeout.ms'],
      heartbeatIntervalMs: config['heartbeat.interval.ms'],
      settlingMs,
      protocols: () => this.#protocols(),
      assign: (protocol, members, leaderId, generationId) => this.#assign(protocol, members, leaderId, generationId),
      onRejoinNeeded: reason => {
        if (reason === 'lost') this.#lost = true;
        this.rejoin();
      },
      onUnreachable: () => this.#giveUp(),
    });
  }

  /** Keys of `workIds.ts`. */
  get held(): ReadonlySet<string> {
    return this.#held;
  }

  /** The last one this worker was in. */
  get generation(): number {
    return this.#generation;
  }

  get isLeader(): boolean {
    return this.#assignment !== null && this.#assignment.leader === this.#membership.memberId;
  }

  /** null = not known, or this worker. */
  get leaderUrl(): string | null {
    const url = this.#assignment?.leaderUrl;
    return url === undefined || url === '' || url === this.#options.url ? null : url;
  }

  /** Aborted once the worker at `url`, which leads or is led by this one, is known to do so no more: it will not answer. */
  whileThere(url: string): AbortSignal {
    let there = this.#there.get(url);
    if (there === undefined) {
      this.#there.set(url, (there = new AbortController()));
      // One for each request that waits.
      setMaxListeners(0, there.signal);
    }
    return there.signal;
  }

  /** Known to the leader only. */
  ownerUrl(key: string): string | null {
    return (this.isLeader && this.#owners?.get(key)) || null;
  }

  /** Whether requests between workers are signed. */
  get isSessioned(): boolean {
    return this.#version === 2;
  }

  rebalances(): RebalanceState {
    const { completed, totalMs, maxMs, lastMs } = this.#rebalances;
    const assignedConnectors = [...this.#held].filter(isConnectorKey).length;
    return {
      leaderUrl: this.#assignment?.leaderUrl ?? '',
      protocol: protocolName(this.#version),
      generation: this.#generation,
      isRebalancing: this.#joiningSinceMs !== null,
      completed,
      avgMs: completed === 0 ? 0 : totalMs / completed,
      maxMs,
      lastMs,
      assignedConnectors,
      assignedTasks: this.#held.size - assignedConnectors,
    };
  }

  /** Resolves with the first assignment; goes on behind. */
  async start(): Promise<void> {
    await this.#joinAndTake();
    this.#running = this.#run().catch(error => {
      if (!this.#closing.signal.aborted) this.#options.onFailed(error);
    });
  }

  /** Joins again, so that the leader looks at what there is to run. */
  rejoin(): void {
    this.#rejoinWanted = true;
    this.#wake();
  }

  /** Gives up all it holds, then leaves the group. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await this.#running;
    await this.#hold(nothing);
  }

  /** Once what was held has been told to be free. */
  async leave(): Promise<void> {
    await this.#membership.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let nextMs: number | null = this.#assignment === null ? 0 : this.#assignment.delayMs || null;
    while (!signal.aborted) {
      if (nextMs !== 0) await this.#untilWanted(nextMs);
      if (signal.aborted) return;
      nextMs = await this.#joinAndTake();
    }
  }

  /** Until it shall join again; `timeoutMs` null = without end. */
  async #untilWanted(timeoutMs: number | null): Promise<void> {
    if (this.#rejoinWanted) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>(resolve => {
      this.#wake = resolve;
      if (timeoutMs !== null) timer = setTimeout(resolve, timeoutMs);
    });
    clearTimeout(timer);
  }

  /** Returns after how long it shall join again; null = when it is told. */
  async #joinAndTake(): Promise<number | null> {
    if (this.#lost || this.#version === 0) await this.#hold(nothing);
    this.#lost = false;
    this.#joiningSinceMs ??= Date.now();
    const joined = await this.#join();
    // Given up meanwhile: the others take it for what it said when it joined.
    if (this.#lost) return 0;
    const assignment = decodeAssignment(joined.assignment);
    if (!(await this.#isSynced(assignment))) return 0;
    return this.#take(joined, assignment);
  }

  /** The answer to a join may take as long as the slowest member: closing does not wait for it. */
  async #join(): Promise<JoinedGroup> {
    const { signal } = this.#closing;
    signal.throwIfAborted();
    let onAbort = (): void => {};
    const closed = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([this.#membership.join(signal), closed]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #isSynced({ error, configOffset }: Assignment): Promise<boolean> {
    const { configs, config, logger } = this.#options;
    try {
      const timeoutMs = config['worker.sync.timeout.ms'];
      await (error === configMismatch ? configs.readToEnd(timeoutMs) : configs.readTo(configOffset, timeoutMs));
      if (error === 0) {
        this.#unsynced = 0;
        return true;
      }
    } catch (reason) {
      logger.warn({ err: reason }, 'the config topic cannot be read as far as the cluster has; joining again');
    }
    if (++this.#unsynced >= maxUnsynced) await this.#hold(nothing);
    const backoffMs = Math.min(firstBackoffMs * 2 ** this.#unsynced, config['worker.unsync.backoff.ms']);
    await wait(backoffMs, undefined, { signal: this.#closing.signal });
    return false;
  }

  async #take(joined: JoinedGroup, assignment: Assignment): Promise<number | null> {
    const { logger, onLeading } = this.#options;
    this.#version = protocolVersion(joined.protocol);
    this.#generation = joined.generationId;
    this.#assignment = assignment;
    const { assigned, revoked, delayMs } = assignment;
    const kept = this.#version === 0 ? [] : [...this.#held].filter(key => !revoked.has(key));
    const leads = this.isLeader;
    logger.info(
      {
        generation: joined.generationId,
        leader: assignment.leaderUrl,
        assigned: [...assigned],
        revoked: [...revoked],
        delayMs,
      },
      leads ? 'joined the cluster and leads it' : 'joined the cluster',
    );
    if (!leads) {
      this.#owners = null;
      this.#workers = null;
    }
    this.#tellGone(assignment.leaderUrl);
    await this.#hold(new Set([...kept, ...assigned]));
    if (leads && this.#owners !== null) onLeading(this.#owners);
    this.#countRebalance();
    if (revoked.size > 0) return 0;
    return delayMs > 0 ? delayMs : null;
  }

  #tellGone(leaderUrl: string): void {
    for (const [url, there] of this.#there) {
      if (url === leaderUrl || this.#workers?.has(url)) continue;
      this.#there.delete(url);
      there.abort(new Error('it left the cluster, or leads no more'));
    }
  }

  #countRebalance(): void {
    const nowMs = Date.now();
    const tookMs = nowMs - (this.#joiningSinceMs ?? nowMs);
    this.#joiningSinceMs = null;
    this.#rebalances.completed++;
    this.#rebalances.totalMs += tookMs;
    this.#rebalances.maxMs = Math.max(this.#rebalances.maxMs, tookMs);
    this.#rebalances.lastMs = nowMs;
  }

  /** Others may get the work at any moment: it stops at once, also while a join is under way. */
  #giveUp(): void {
    const { logger } = this.#options;
    logger.error(
      { held: [...this.#held] },
      'the coordinator of the cluster does not answer: what this worker runs stops',
    );
    this.#lost = true;
    this.rejoin();
    this.#hold(nothing).catch(error => logger.error({ err: error }, 'what this worker ran could not be stopped'));
  }

  async #hold(held: ReadonlySet<string>): Promise<void> {
    this.#held = held;
    await this.#options.onHeld();
  }

  /** As the leader: which workers are gone, with what they ran, and which are new. */
  #tellChanges(workers: ReadonlySet<string>, delayMs: number): void {
    const { logger } = this.#options;
    const before = this.#workers;
    this.#workers = workers;
    if (before === null) return;
    for (const url of before) {
      if (workers.has(url)) continue;
      const ran = [...(this.#owners ?? [])].filter(([, owner]) => owner === url).map(([key]) => key);
      logger.warn(
        { worker: url, ran, delayMs },
        `worker ${url} is not in the cluster any more; ${
          delayMs > 0 ? `what it ran goes to others in ${delayMs} ms, unless it comes back` : 'others run what it ran'
        }`,
      );
    }
    for (const url of workers) if (!before.has(url)) logger.info({ worker: url }, `worker ${url} joined the cluster`);
  }

  #protocols(): { name: string; metadata: Buffer }[] {
    const { url, configs } = this.#options;
    this.#rejoinWanted = false;
    const metadata = { url, configOffset: configs.offset, held: this.#held };
    return this.#versions.map(version => ({
      name: protocolName(version),
      metadata: encodeMetadata(metadata, version, this.#assignment),
    }));
  }

  /** As the leader. */
  async #assign(
    protocol: string,
    groupMembers: readonly GroupMember[],
    leader: string,
    generationId: number,
  ): Promise<ReadonlyMap<string, Buffer>> {
    const { configs, config, url: leaderUrl, configured, handedOver, logger } = this.#options;
    const version = protocolVersion(protocol);
    const members = groupMembers.map(({ memberId, memberMetadata }) => ({
      memberId,
      ...decodeMetadata(memberMetadata),
    }));
    const lastGenerationId = this.#membership.generationId;
    let error = 0;
    const furthest = Math.max(...members.map(({ configOffset }) => configOffset));
    await configs.readTo(furthest, config['worker.sync.timeout.ms']).catch(reason => {
      logger.warn({ err: reason }, 'this worker leads but cannot read the config topic as far as others have');
    });
    if (configs.offset < furthest) error = configMismatch;
    const common = { error, leader, leaderUrl, configOffset: configs.offset };
    const urls = new Map(members.map(({ memberId, url }) => [memberId, url]));
    const owners = new Map<string, string>();
    let delayMs = 0;
    const answers = new Map<string, Buffer>();
    const answer = (memberId: string, assigned: ReadonlySet<string>, revoked: ReadonlySet<string>, delayMs: number) =>
      answers.set(memberId, encodeAssignment({ ...common, assigned, revoked, delayMs }, version));
    if (error !== 0) {
      for (const { memberId } of members) answer(memberId, nothing, nothing, 0);
      return answers;
    }
    if (version === 0) {
      for (const [memberId, work] of eagerAssign([...urls.keys()], configured())) {
        for (const key of work) owners.set(key, urls.get(memberId)!);
        answer(memberId, work, nothing, 0);
      }
    } else {
      const assigned = this.#assignor.assign({
        nowMs: Date.now(),
        generationId,
        lastGenerationId,
        configured: configured(),
        members,
        handedOver: config['rebalance.graceful.handover'] ? await handedOver([...urls.values()]) : nothing,
      });
      delayMs = assigned.delayMs;
      for (const { memberId, held } of members) {
        const share = assigned.shares.get(memberId)!;
        for (const key of held) if (!share.revoked.has(key)) owners.set(key, urls.get(memberId)!);
        for (const key of share.assigned) owners.set(key, urls.get(memberId)!);
        answer(memberId, share.assigned, share.revoked, delayMs);
      }
    }
    this.#tellChanges(new Set(urls.values()), delayMs);
    this.#owners = owners;
    return answers;
  }
}
