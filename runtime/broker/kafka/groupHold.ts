/**
 * Makes one process the only one of a group, by being a member of it for life. Who finds another member does not start; of those that join at the
 * same moment one goes on and the others are told. Another protocol in the group (a Kafka Connect cluster, consumers) counts as another holder.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { GroupHold, GroupMember } from '../port.ts';
import { pause } from './backoff.ts';
import { GroupMembership } from './groupMembership.ts';
import { apis } from './kafkaApis.ts';
import type { KafkaCluster } from './kafkaCluster.ts';
import { kafkaCode, requestFailed } from './kafkaErrors.ts';

const protocolType = 'connect';
const protocolName = 'millrace-standalone';
/** How long a process that was killed keeps others from starting. */
const sessionTimeoutMs = 10_000;
const heartbeatIntervalMs = 3_000;
const rebalanceTimeoutMs = 10_000;
/** Members whose session ran out are removed a moment later. */
const settledWaitMs = sessionTimeoutMs + 3_000;
/** One that was killed in a rebalance is first waited for by the others, then by the broker for its answer, and only then for its session. */
const rebalanceWaitMs = 2 * rebalanceTimeoutMs + settledWaitMs;
const lookIntervalMs = 500;

/** What members tell each other. */
interface Claim {
  readonly holder: string;
  /** Was the only one up to now. */
  readonly holds: boolean;
  readonly startedMs: number;
}

interface OtherMember {
  /** How it calls itself, or where it is. */
  readonly name: string;
  /** The group is in no rebalance. */
  readonly isSettled: boolean;
}

export class KafkaGroupHold {
  readonly #cluster: KafkaCluster;
  readonly #hold: GroupHold;
  readonly #membership: GroupMembership;
  readonly #closing = new AbortController();
  readonly #startedMs = Date.now();
  #holds = false;

  constructor(cluster: KafkaCluster, hold: GroupHold) {
    this.#cluster = cluster;
    this.#hold = hold;
    this.#membership = new GroupMembership(cluster, {
      groupId: hold.groupId,
      protocolType,
      clientId: hold.clientId,
      sessionTimeoutMs,
      rebalanceTimeoutMs,
      heartbeatIntervalMs,
      protocols: () => [{ name: protocolName, metadata: this.#claim() }],
      assign: async (_, members) => assignments(members),
      onRejoinNeeded: reason => {
        if (reason === 'lost') this.#holds = false;
        this.#join();
      },
    });
  }

  /** Resolves when the group has no other member; joining it, which brokers delay by seconds, goes on behind. */
  async take(): Promise<void> {
    const { groupId } = this.#hold;
    const startedMs = Date.now();
    let saidMs = 0;
    for (;;) {
      const other = await this.#otherMember();
      if (other === null) break;
      const waitMs = other.isSettled ? settledWaitMs : rebalanceWaitMs;
      if (Date.now() >= startedMs + waitMs) throw inUse(groupId, other.name);
      if (waitMs > saidMs) {
        saidMs = waitMs;
        this.#cluster.logger.warn(
          { group: groupId, other: other.name, waitMs },
          `group ${groupId} has another worker, ${other.name}: waiting up to ${waitMs / 1000} s, in case it ended without leaving`,
        );
      }
      await pause(lookIntervalMs, this.#closing.signal);
      this.#closing.signal.throwIfAborted();
    }
    this.#join();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#membership.close();
  }

  /** null = the group is empty. */
  #otherMember(): Promise<OtherMember | null> {
    const { groupId } = this.#hold;
    return this.#cluster.retrying(
      async () => {
        const connection = await this.#cluster.connections.to(await this.#cluster.coordinator(groupId, 'group'));
        const [group] = (await connection.call(apis.describeGroups, { groupIds: [groupId] })).groups;
        const code = group?.errorCode ?? kafkaCode.none;
        if (code !== kafkaCode.none && code !== kafkaCode.groupIdNotFound)
          throw requestFailed(`Looking at group ${groupId}`, code);
        const member = group?.members[0];
        if (member === undefined) return null;
        const where = `${member.clientId} at ${member.clientHost.replace(/^\//, '')}`;
        const isSettled = group?.state === 'Stable';
        if (group?.protocol !== protocolName) return { name: where, isSettled };
        const name = claimOf(member.memberMetadata)?.holder ?? where;
        // Whoever has the same address was killed and is this worker of before. If it lives after all, on another host, joining tells.
        return name === this.#hold.holder ? null : { name, isSettled };
      },
      { signal: this.#closing.signal },
    );
  }

  #join(): void {
    this.#settle().catch(error => {
      if (!this.#closing.signal.aborted) this.#hold.onTaken(error);
    });
  }

  async #settle(): Promise<void> {
    const { groupId } = this.#hold;
    try {
      const { memberId, assignment } = await this.#membership.join(this.#closing.signal);
      const { holder, holderId } = JSON.parse(assignment.toString()) as { holder: string; holderId: string };
      this.#holds = holderId === memberId;
      if (!this.#holds) throw inUse(groupId, holder);
    } catch (error) {
      if (!(error instanceof ConnectError) || error.code !== 'BROKER_GROUP_INCONSISTENT') throw error;
      throw inUse(groupId, (await this.#otherMember())?.name ?? 'one with another protocol');
    }
  }

  #claim(): Buffer {
    const claim: Claim = { holder: this.#hold.holder, holds: this.#holds, startedMs: this.#startedMs };
    return Buffer.from(JSON.stringify(claim));
  }
}

/** Everybody learns who goes on: who did up to now, else who started first. */
function assignments(members: readonly GroupMember[]): ReadonlyMap<string, Buffer> {
  const rank = ({ memberMetadata, memberId }: GroupMember): string => {
    const claim = claimOf(memberMetadata);
    return `${claim?.holds ? 0 : 1} ${String(claim?.startedMs ?? 0).padStart(16, '0')} ${memberId}`;
  };
  const [first] = [...members].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const { memberId: holderId, memberMetadata } = first!;
  const assignment = Buffer.from(JSON.stringify({ holderId, holder: claimOf(memberMetadata)?.holder ?? holderId }));
  return new Map(members.map(({ memberId }) => [memberId, assignment]));
}

function claimOf(metadata: Buffer): Claim | null {
  try {
    return JSON.parse(metadata.toString()) as Claim;
  } catch {
    // Empty while the group still gathers.
    return null;
  }
}

function inUse(groupId: string, other: string): ConnectError {
  return new ConnectError(
    'WORKER_GROUP_IN_USE',
    `Another worker, ${other}, is in group ${groupId} of this Kafka: both would run the same connectors. Give this worker another group.id, or stop that one.`,
  );
}
