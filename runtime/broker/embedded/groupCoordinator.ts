/**
 * Consumer groups, in the memory of the log thread: all members live in this process and end with it. Kafka's classic protocol with its two steps in one:
 * a join is answered with the assignment once every member has joined, or after the rebalance timeout without those that have not.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { TopicPartition } from '../../api/connector.ts';
import type { GroupAssignment, RequestOf, Subscription } from './protocol.ts';
import { assignRanges } from './rangeAssignor.ts';

interface Member {
  readonly memberId: string;
  readonly clientId: string;
  subscription: Subscription;
  rebalanceTimeoutMs: number;
  sessionTimeoutMs: number;
  /** Set while its join is to be answered. */
  answer: ((result: GroupAssignment | ConnectError) => void) | null;
}

interface Group {
  readonly groupId: string;
  generation: number;
  state: 'stable' | 'joining';
  readonly members: Map<string, Member>;
  /** Topics of the last assignment with their partition counts, to see when they change. */
  assigned: string;
  timer: NodeJS.Timeout | null;
}

export interface GroupHost {
  /** Partition counts of all topics. */
  topics(): ReadonlyMap<string, number>;
  tellRebalance(clientId: string, memberId: string): void;
}

export class GroupCoordinator {
  #host: GroupHost;
  #groups = new Map<string, Group>();

  constructor(host: GroupHost) {
    this.#host = host;
  }

  join(
    clientId: string,
    request: RequestOf<'joinGroup'>,
    answer: (result: GroupAssignment | ConnectError) => void,
  ): void {
    const { groupId, memberId } = request;
    let group = this.#groups.get(groupId);
    if (group === undefined) {
      group = { groupId, generation: 0, state: 'stable', members: new Map(), assigned: '', timer: null };
      this.#groups.set(groupId, group);
    }
    const member: Member = { ...request, clientId, answer };
    group.members.set(memberId, member);
    if (group.state === 'stable') this.#startRebalance(group);
    this.#completeIfJoined(group);
  }

  leave(groupId: string, memberId: string): void {
    const group = this.#groups.get(groupId);
    const member = group?.members.get(memberId);
    if (group === undefined || member === undefined) return;
    this.#remove(group, member);
  }

  leaveAll(clientId: string): void {
    for (const group of [...this.#groups.values()])
      for (const member of [...group.members.values()]) if (member.clientId === clientId) this.#remove(group, member);
  }

  /** Removes members whose client was not heard of for their session timeout. */
  expire(now: number, lastHeard: (clientId: string) => number): void {
    for (const group of [...this.#groups.values()])
      for (const member of [...group.members.values()])
        if (now - lastHeard(member.clientId) > member.sessionTimeoutMs) this.#remove(group, member);
  }

  topicsChanged(): void {
    const topics = this.#host.topics();
    for (const group of this.#groups.values()) {
      if (group.state !== 'stable' || group.assigned === this.#fingerprint(group, topics)) continue;
      this.#startRebalance(group);
      this.#completeIfJoined(group);
    }
  }

  hasMembers(groupId: string): boolean {
    return (this.#groups.get(groupId)?.members.size ?? 0) > 0;
  }

  /** Whether the member may commit: Kafka lets it until it has joined the next generation. */
  check(groupId: string, member: { readonly memberId: string; readonly generation: number }): void {
    const group = this.#groups.get(groupId);
    if (group?.members.has(member.memberId) && group.generation === member.generation) return;
    throw new ConnectError(
      'BROKER_GROUP_MEMBER_LOST',
      `Offsets of group ${groupId} were not committed: ${
        group?.members.has(member.memberId)
          ? `the group is at generation ${group.generation}, the consumer at ${member.generation}`
          : 'the consumer is no longer a member, it did not poll or answer in time'
      }.`,
    );
  }

  close(): void {
    for (const group of this.#groups.values()) if (group.timer !== null) clearTimeout(group.timer);
    this.#groups.clear();
  }

  #remove(group: Group, member: Member): void {
    group.members.delete(member.memberId);
    member.answer?.(
      new ConnectError('BROKER_GROUP_MEMBER_LOST', `The consumer left group ${group.groupId} while it was joining.`),
    );
    this.#host.tellRebalance(member.clientId, member.memberId);
    if (group.members.size === 0) {
      if (group.timer !== null) clearTimeout(group.timer);
      this.#groups.delete(group.groupId);
      return;
    }
    if (group.state === 'stable') this.#startRebalance(group);
    this.#completeIfJoined(group);
  }

  #startRebalance(group: Group): void {
    group.state = 'joining';
    let timeoutMs = 0;
    for (const member of group.members.values()) {
      timeoutMs = Math.max(timeoutMs, member.rebalanceTimeoutMs);
      if (member.answer === null) this.#host.tellRebalance(member.clientId, member.memberId);
    }
    group.timer = setTimeout(() => {
      for (const member of [...group.members.values()])
        if (member.answer === null && group.state === 'joining') this.#remove(group, member);
    }, timeoutMs);
  }

  #completeIfJoined(group: Group): void {
    if (group.state !== 'joining') return;
    for (const member of group.members.values()) if (member.answer === null) return;
    if (group.timer !== null) clearTimeout(group.timer);
    group.timer = null;
    group.state = 'stable';
    group.generation++;
    const topics = this.#host.topics();
    group.assigned = this.#fingerprint(group, topics);
    const assignment: ReadonlyMap<string, TopicPartition[]> = assignRanges(
      [...group.members.values()].map(member => ({
        memberId: member.memberId,
        topics: subscribedTopics(member.subscription, topics),
      })),
      topics,
    );
    for (const member of group.members.values()) {
      const { answer } = member;
      member.answer = null;
      answer!({ generation: group.generation, partitions: assignment.get(member.memberId)! });
    }
  }

  #fingerprint(group: Group, topics: ReadonlyMap<string, number>): string {
    const names = new Set<string>();
    for (const member of group.members.values())
      for (const topic of subscribedTopics(member.subscription, topics)) names.add(topic);
    return JSON.stringify([...names].sort().map(name => [name, topics.get(name)]));
  }
}

/** Of the topics that exist. A pattern has to match the whole name. */
function subscribedTopics(subscription: Subscription, topics: ReadonlyMap<string, number>): string[] {
  if ('topics' in subscription) return [...new Set(subscription.topics)].filter(topic => topics.has(topic));
  const { source, flags } = subscription.pattern;
  const whole = new RegExp(`^(?:${source})$`, flags.replace(/[gy]/g, ''));
  return [...topics.keys()].filter(topic => whole.test(topic));
}
