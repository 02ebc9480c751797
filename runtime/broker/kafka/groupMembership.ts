/**
 * Membership in a group by Kafka's classic protocol: join, sync, heartbeats, leave, at a coordinator that may move. What members tell each other and who gets
 * what is the caller's: protocol type, metadata and assignment are bytes here.
 */

import { ConnectError } from '../../../schemas/errors.ts';
import type { Logger } from '../../api/logger.ts';
import type { JoinedGroup, Membership, MembershipOptions } from '../port.ts';
import { backoffMs, pause } from './backoff.ts';
import type { Address } from './clientSettings.ts';
import { apis } from './kafkaApis.ts';
import type { KafkaCluster } from './kafkaCluster.ts';
import type { KafkaConnection } from './kafkaConnection.ts';
import {
  ConnectionLost,
  isRetriableCode,
  isTransient,
  kafkaCode,
  kafkaErrorName,
  requestFailed,
} from './kafkaErrors.ts';
import { NodeConnections } from './nodeConnections.ts';

const settlingIntervalMs = 200;
const watchIntervalMs = 250;

export class GroupMembership implements Membership {
  readonly #cluster: KafkaCluster;
  readonly #options: MembershipOptions;
  readonly #logger: Logger;
  readonly #connections: NodeConnections;
  readonly #closing = new AbortController();
  #coordinator: Address | null = null;
  #memberId = '';
  #generationId = -1;
  #beating: AbortController | null = null;
  /** When what the coordinator last answered was sent: from then on it counts the session. */
  #confirmedMs = 0;
  #watch: NodeJS.Timeout | null = null;

  constructor(cluster: KafkaCluster, options: MembershipOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#logger = cluster.logger;
    // Of its own: a join is answered only when the group is complete, and holds up what is sent behind it.
    this.#connections = new NodeConnections({ ...cluster.settings, clientId: options.clientId }, cluster.logger);
  }

  get memberId(): string {
    return this.#memberId;
  }

  get generationId(): number {
    return this.#generationId;
  }

  get isMember(): boolean {
    return this.#generationId >= 0;
  }

  /** Joins, or joins again, and waits for the assignment; repeated until it works, the signal aborts, or an error that does not pass. */
  async join(signal: AbortSignal): Promise<JoinedGroup> {
    this.#stopHeartbeat();
    const both = AbortSignal.any([signal, this.#closing.signal]);
    for (let attempt = 0; ; attempt++) {
      both.throwIfAborted();
      try {
        const joined = await this.#joinOnce();
        this.#startHeartbeat();
        return joined;
      } catch (error) {
        if (!isTransient(error) && !this.#passes(error)) throw error;
        this.#logger.debug({ group: this.#options.groupId, why: String(error) }, 'joining the group again');
        if (!isImmediate(error)) {
          const { retryBackoffMs, retryBackoffMaxMs } = this.#cluster.settings;
          await pause(backoffMs(attempt, retryBackoffMs, retryBackoffMaxMs), both);
        }
      }
    }
  }

  /** The connection on which the group's offsets are read and written. */
  async coordinator(): Promise<KafkaConnection> {
    this.#coordinator ??= await this.#cluster.coordinator(this.#options.groupId, 'group');
    try {
      return await this.#connections.to(this.#coordinator);
    } catch (error) {
      this.#coordinator = null;
      throw error;
    }
  }

  /** Runs a request at the coordinator, again where it moved or was away. */
  atCoordinator<T>(work: (connection: KafkaConnection) => Promise<T>, deadlineMs: number): Promise<T> {
    return this.#cluster.retrying(
      async () => {
        try {
          return await work(await this.coordinator());
        } catch (error) {
          // Whatever passes may have moved the coordinator.
          if (isTransient(error)) this.#coordinator = null;
          throw error;
        }
      },
      { deadlineMs, signal: this.#closing.signal },
    );
  }

  /** Gives up the membership at once, so that the others need not wait for the session to time out. Static members only stop. */
  async leave(): Promise<void> {
    this.#stopHeartbeat();
    const { groupId, groupInstanceId } = this.#options;
    const memberId = this.#memberId;
    this.#memberId = '';
    this.#generationId = -1;
    if (memberId === '' || groupInstanceId) return;
    try {
      // Not on the own connection, where a join may hold up what is behind it.
      const address = await this.#cluster.coordinator(groupId, 'group');
      const connection = await this.#cluster.connections.to(address);
      await connection.call(apis.leaveGroup, { groupId, memberId });
    } catch (error) {
      // The session timeout does the same, later.
      this.#logger.debug({ group: groupId, why: String(error) }, 'leaving the group failed');
    }
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    if (this.#watch !== null) clearInterval(this.#watch);
    await this.leave();
    this.#connections.close();
  }

  async #joinOnce(): Promise<JoinedGroup> {
    const {
      groupId,
      groupInstanceId = null,
      protocolType,
      sessionTimeoutMs,
      rebalanceTimeoutMs,
      protocols,
      assign,
    } = this.#options;
    const connection = await this.coordinator();
    const request = {
      groupId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      memberId: this.#memberId,
      groupInstanceId,
      protocolType,
      groupProtocols: protocols(),
    };
    const joined = await this.#whileHeardOf(async () => {
      const answer = await connection.call(apis.joinGroup, request, rebalanceTimeoutMs);
      if (answer.errorCode !== kafkaCode.memberIdRequired) return answer;
      this.#memberId = answer.memberId;
      return connection.call(apis.joinGroup, { ...request, memberId: answer.memberId }, rebalanceTimeoutMs);
    });
    this.#check('Joining', joined.errorCode);
    const { memberId, leaderId, generationId, groupProtocol: protocol } = joined;
    this.#memberId = memberId;
    const assignments =
      memberId === leaderId
        ? await assign(protocol, joined.members, leaderId, generationId)
        : new Map<string, Buffer>();
    const groupAssignment = [...assignments].map(([id, memberAssignment]) => ({ memberId: id, memberAssignment }));
    const synced = await this.#whileHeardOf(() =>
      connection.call(
        apis.syncGroup,
        { groupId, generationId, memberId, groupInstanceId, groupAssignment },
        rebalanceTimeoutMs,
      ),
    );
    this.#check('Synchronizing with', synced.errorCode);
    this.#generationId = generationId;
    this.#confirmed();
    return { memberId, leaderId, generationId, protocol, assignment: synced.memberAssignment ?? Buffer.alloc(0) };
  }

  #check(what: string, code: number): void {
    if (code === kafkaCode.none) return;
    if (code === kafkaCode.unknownMemberId || code === kafkaCode.illegalGeneration) this.#forget();
    if (isRetriableCode(code)) this.#coordinator = null;
    throw requestFailed(`${what} group ${this.#options.groupId}`, code);
  }

  #passes(error: unknown): boolean {
    return (
      error instanceof ConnectError &&
      error.code === 'BROKER_GROUP_MEMBER_LOST' &&
      !error.message.includes('FENCED_INSTANCE_ID')
    );
  }

  #forget(): void {
    this.#memberId = '';
    this.#generationId = -1;
  }

  #confirmed(sentMs = Date.now()): number {
    this.#confirmedMs = sentMs;
    const { onUnreachable } = this.#options;
    if (onUnreachable !== undefined && this.#watch === null) {
      this.#watch = setInterval(() => this.#look(onUnreachable), watchIntervalMs);
      this.#watch.unref();
    }
    return this.#confirmedMs;
  }

  #look(onUnreachable: () => void): void {
    if (Date.now() - this.#confirmedMs <= this.#options.sessionTimeoutMs) return;
    clearInterval(this.#watch!);
    this.#watch = null;
    this.#stopHeartbeat();
    this.#forget();
    onUnreachable();
  }

  /**
   * Joins and syncs are answered when the slowest member is done: that the coordinator is there at all, and this member is still one of its own, is asked
   * meanwhile, on another connection. Else a member that was cut off then would go on with what others have got by now.
   */
  async #whileHeardOf<T>(work: () => Promise<T>): Promise<T> {
    if (this.#watch === null) return work();
    const done = new AbortController();
    this.#confirmUntil(done.signal).catch(error => {
      this.#logger.warn({ group: this.#options.groupId, error: String(error) }, 'the coordinator cannot be asked');
    });
    try {
      const answer = await work();
      if (this.#watch !== null) this.#confirmed();
      return answer;
    } finally {
      done.abort();
    }
  }

  async #confirmUntil(signal: AbortSignal): Promise<void> {
    const { groupId, groupInstanceId = null, heartbeatIntervalMs } = this.#options;
    for (;;) {
      await pause(heartbeatIntervalMs, signal);
      if (signal.aborted || !this.isMember) return;
      const sentMs = Date.now();
      try {
        const connection = await this.#cluster.connections.to(await this.#cluster.coordinator(groupId, 'group'));
        const { errorCode } = await connection.call(apis.heartbeat, {
          groupId,
          groupGenerationId: this.#generationId,
          memberId: this.#memberId,
          groupInstanceId,
        });
        // Its generation may have ended by the join that is under way.
        const isKnown =
          errorCode === kafkaCode.none ||
          errorCode === kafkaCode.rebalanceInProgress ||
          errorCode === kafkaCode.illegalGeneration;
        if (isKnown && !signal.aborted) this.#confirmed(sentMs);
      } catch (error) {
        if (!isTransient(error)) throw error;
      }
    }
  }

  #startHeartbeat(): void {
    const stop = new AbortController();
    this.#beating = stop;
    this.#beat(stop.signal).catch(error => {
      this.#logger.error({ group: this.#options.groupId, error: String(error) }, 'heartbeats ended by an error');
      this.#options.onRejoinNeeded('lost');
    });
  }

  #stopHeartbeat(): void {
    this.#beating?.abort();
    this.#beating = null;
  }

  async #beat(signal: AbortSignal): Promise<void> {
    const {
      groupId,
      groupInstanceId = null,
      heartbeatIntervalMs,
      sessionTimeoutMs,
      settlingMs = 0,
      onRejoinNeeded,
    } = this.#options;
    const joinedMs = Date.now();
    let lastSuccess = joinedMs;
    let rebalancing = false;
    for (;;) {
      const isSettling = Date.now() - joinedMs < settlingMs;
      await pause(isSettling ? Math.min(settlingIntervalMs, heartbeatIntervalMs) : heartbeatIntervalMs, signal);
      if (signal.aborted) return;
      let code: number;
      const sentMs = Date.now();
      try {
        const connection = await this.coordinator();
        const answer = await connection.call(apis.heartbeat, {
          groupId,
          groupGenerationId: this.#generationId,
          memberId: this.#memberId,
          groupInstanceId,
        });
        code = answer.errorCode;
      } catch (error) {
        if (!(error instanceof ConnectionLost) && !isTransient(error)) throw error;
        this.#coordinator = null;
        code = kafkaCode.coordinatorNotAvailable;
      }
      if (signal.aborted) return;
      if (code === kafkaCode.none) {
        lastSuccess = this.#confirmed(sentMs);
      } else if (code === kafkaCode.rebalanceInProgress) {
        lastSuccess = this.#confirmed(sentMs);
        // Goes on: it holds the membership while the caller finishes what it does.
        if (!rebalancing) onRejoinNeeded('rebalance');
        rebalancing = true;
      } else if (isRetriableCode(code)) {
        this.#coordinator = null;
        if (Date.now() - lastSuccess > sessionTimeoutMs) {
          // The coordinator has long given the partitions to others.
          this.#forget();
          onRejoinNeeded('lost');
          return;
        }
      } else {
        this.#logger.warn({ group: groupId, code: kafkaErrorName(code) }, 'no longer a member of the group');
        this.#forget();
        onRejoinNeeded('lost');
        return;
      }
    }
  }
}

/** The next generation is already being made: no reason to wait. */
function isImmediate(error: unknown): boolean {
  return error instanceof ConnectError && error.code === 'BROKER_GROUP_MEMBER_LOST';
}
