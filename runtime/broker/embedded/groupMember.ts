/**
 * One consumer's part in its group: joins, gives its partitions up when the group rebalances (eagerly, as Kafka's range assignor does), and leaves when it is
 * not polled for `max.poll.interval.ms`.
 */
import { randomUUID } from 'node:crypto';
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { ConsumerOptions } from '../port.ts';
import type { Call } from './embeddedAdmin.ts';
import type { GroupAssignment, Subscription } from './protocol.ts';
import type { Wakeups } from './wakeups.ts';

export interface MemberLink {
  readonly call: Call;
  readonly wakeups: Wakeups;
  addMember(memberId: string, rebalance: () => void): void;
  removeMember(memberId: string): void;
}

const defaultSessionTimeoutMs = 10_000;
const defaultMaxPollIntervalMs = 300_000;

export class GroupMember {
  #link: MemberLink;
  #groupId: string;
  #options: ConsumerOptions;
  #subscription: Subscription;
  #setAssignment: (partitions: readonly TopicPartition[]) => void;
  #memberId: string;
  #generation = -1;
  #assigned: readonly TopicPartition[] = [];
  #mustJoin = true;
  #joining: Promise<void> | null = null;
  /** The join was asked for and is not answered: other members have to join first. */
  #awaitsAnswer = false;
  #failure: unknown = null;
  #closed = false;
  #maxPollIntervalMs: number;
  #pollTimer: NodeJS.Timeout | null = null;

  constructor(
    link: MemberLink,
    groupId: string,
    options: ConsumerOptions,
    subscription: Subscription,
    setAssignment: (partitions: readonly TopicPartition[]) => void,
  ) {
    this.#link = link;
    this.#groupId = groupId;
    this.#options = options;
    this.#subscription = subscription;
    this.#setAssignment = setAssignment;
    this.#memberId = `${options.clientId}-${randomUUID()}`;
    this.#maxPollIntervalMs = Number(options.settings?.['max.poll.interval.ms'] ?? defaultMaxPollIntervalMs);
    link.addMember(this.#memberId, () => {
      this.#mustJoin = true;
      link.wakeups.wake();
    });
  }

  subscribe(subscription: Subscription): void {
    this.#subscription = subscription;
    this.#mustJoin = true;
    this.#link.wakeups.wake();
  }

  identity(): { readonly memberId: string; readonly generation: number } {
    return { memberId: this.#memberId, generation: this.#generation };
  }

  /** Joins if need be. False: not a member with an assignment, as yet (the join goes on) or again. */
  async ensureJoined(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    this.#watchPolls();
    if (this.#mustJoin) this.#joining ??= this.#join();
    if (this.#joining !== null) await raceTimeout(this.#joining, timeoutMs, signal);
    if (this.#failure !== null) {
      const failure = this.#failure;
      this.#failure = null;
      throw failure;
    }
    return this.#joining === null && !this.#mustJoin;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#pollTimer !== null) clearTimeout(this.#pollTimer);
    await this.#leave();
    this.#link.removeMember(this.#memberId);
  }

  /** Never rejects: the next poll does. */
  async #join(): Promise<void> {
    try {
      while (this.#mustJoin && !this.#closed) {
        await this.#revoke();
        this.#mustJoin = false;
        const { generation, partitions } = await this.#requestJoin();
        this.#generation = generation;
        this.#assigned = partitions;
        this.#setAssignment(partitions);
        await this.#options.onAssigned?.(partitions);
      }
    } catch (error) {
      this.#mustJoin = true;
      const retried = error instanceof ConnectError && error.code === 'BROKER_GROUP_MEMBER_LOST';
      if (!retried) this.#failure = error;
    } finally {
      this.#joining = null;
    }
  }

  async #requestJoin(): Promise<GroupAssignment> {
    this.#awaitsAnswer = true;
    try {
      return await this.#link.call('joinGroup', {
        groupId: this.#groupId,
        memberId: this.#memberId,
        subscription: this.#subscription,
        rebalanceTimeoutMs: this.#maxPollIntervalMs,
        sessionTimeoutMs: Number(this.#options.settings?.['session.timeout.ms'] ?? defaultSessionTimeoutMs),
      });
    } finally {
      this.#awaitsAnswer = false;
    }
  }

  async #revoke(): Promise<void> {
    const revoked = this.#assigned;
    if (revoked.length === 0) return;
    await this.#options.onRevoked?.(revoked);
    this.#assigned = [];
    this.#setAssignment([]);
  }

  async #leave(): Promise<void> {
    const leave = () => this.#link.call('leaveGroup', { groupId: this.#groupId, memberId: this.#memberId });
    if (this.#awaitsAnswer) await leave();
    try {
      await this.#joining;
      await this.#revoke();
    } finally {
      await leave();
    }
  }

  #watchPolls(): void {
    if (this.#pollTimer === null)
      this.#pollTimer = setTimeout(() => this.#missedPolls(), this.#maxPollIntervalMs).unref();
    else this.#pollTimer.refresh();
  }

  /** Others take over; the partitions are given up at the next poll. */
  #missedPolls(): void {
    this.#mustJoin = true;
    this.#link.call('leaveGroup', { groupId: this.#groupId, memberId: this.#memberId }).catch(error => {
      this.#failure = error;
    });
  }
}

function raceTimeout(promise: Promise<void>, timeoutMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, Math.min(timeoutMs, 0x7fff_ffff)));
    signal?.addEventListener('abort', done, { once: true });
    promise.then(done, reject);
  });
}
