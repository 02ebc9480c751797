/** Who gets which partitions: pure decisions of the group's leader, under the names that other clients know them by. */
import type { TopicPartition } from '../../api/connector.ts';
import type { Subscription } from './consumerProtocol.ts';

export interface Assignor {
  /** Protocol name in the group. */
  readonly name: string;
  /** Whether members keep their partitions during a rebalance; then one moves in two steps, given up first. */
  readonly cooperative: boolean;
  assign(
    members: ReadonlyMap<string, Subscription>,
    partitionCounts: ReadonlyMap<string, number>,
  ): Map<string, TopicPartition[]>;
}

/** Per topic, neighbouring partitions to each member in the order of member ids; the first members get one more where it does not divide. */
export const rangeAssignor: Assignor = {
  name: 'range',
  cooperative: false,
  assign(members, partitionCounts) {
    const assignment = emptyAssignment(members);
    for (const [topic, count] of partitionCounts) {
      const interested = [...members]
        .filter(([, s]) => s.topics.includes(topic))
        .map(([id]) => id)
        .sort();
      let partition = 0;
      for (const [i, id] of interested.entries()) {
        const share = Math.floor(count / interested.length) + (i < count % interested.length ? 1 : 0);
        for (const end = partition + share; partition < end; partition++)
          assignment.get(id)!.push({ topic, partition });
      }
    }
    return assignment;
  },
};

/**
 * Balanced, and everybody keeps what they have as far as balance allows. A partition that someone else still holds is given to nobody this time: its holder gives
 * it up and the group rebalances again.
 */
export const cooperativeStickyAssignor: Assignor = {
  name: 'cooperative-sticky',
  cooperative: true,
  assign(members, partitionCounts) {
    const target = stickyAssignment(members, partitionCounts);
    const holders = ownersOf(members, partitionCounts);
    for (const [id, partitions] of target)
      target.set(
        id,
        partitions.filter(p => (holders.get(keyOf(p)) ?? id) === id),
      );
    return target;
  },
};

function stickyAssignment(
  members: ReadonlyMap<string, Subscription>,
  partitionCounts: ReadonlyMap<string, number>,
): Map<string, TopicPartition[]> {
  const assignment = emptyAssignment(members);
  const subscribed = new Map([...members].map(([id, s]) => [id, new Set(s.topics)]));
  const holders = ownersOf(members, partitionCounts);
  const open: TopicPartition[] = [];
  for (const [topic, count] of partitionCounts)
    for (let partition = 0; partition < count; partition++) {
      const holder = holders.get(`${topic}\n${partition}`);
      if (holder !== undefined && subscribed.get(holder)?.has(topic))
        assignment.get(holder)!.push({ topic, partition });
      else open.push({ topic, partition });
    }
  // What nobody holds goes to whoever has least.
  for (const partition of open) {
    const poorest = poorestOf(assignment, id => subscribed.get(id)!.has(partition.topic));
    if (poorest !== null) assignment.get(poorest)!.push(partition);
  }
  // Then from rich to poor, as long as one has two more than another who may take from them.
  for (let moved = true; moved; ) {
    moved = false;
    const byWealth = [...assignment].sort((a, b) => b[1].length - a[1].length);
    for (const [, held] of byWealth) {
      const index = held.findLastIndex(p => {
        const poorest = poorestOf(assignment, id => subscribed.get(id)!.has(p.topic));
        return poorest !== null && assignment.get(poorest)!.length + 1 < held.length;
      });
      if (index < 0) continue;
      const [partition] = held.splice(index, 1);
      const poorest = poorestOf(assignment, id => subscribed.get(id)!.has(partition!.topic))!;
      assignment.get(poorest)!.push(partition!);
      moved = true;
      break;
    }
  }
  return assignment;
}

/** Who holds each partition; of two who say so the one of the younger generation does. */
function ownersOf(
  members: ReadonlyMap<string, Subscription>,
  partitionCounts: ReadonlyMap<string, number>,
): Map<string, string> {
  const owners = new Map<string, string>();
  for (const [id, { owned, generationId }] of members)
    for (const p of owned) {
      if (p.partition >= (partitionCounts.get(p.topic) ?? 0)) continue;
      const other = owners.get(keyOf(p));
      if (other === undefined || members.get(other)!.generationId < generationId) owners.set(keyOf(p), id);
    }
  return owners;
}

function poorestOf(
  assignment: ReadonlyMap<string, readonly TopicPartition[]>,
  allowed: (id: string) => boolean,
): string | null {
  let poorest: string | null = null;
  for (const [id, partitions] of assignment)
    if (allowed(id) && (poorest === null || partitions.length < assignment.get(poorest)!.length)) poorest = id;
  return poorest;
}

function emptyAssignment(members: ReadonlyMap<string, Subscription>): Map<string, TopicPartition[]> {
  return new Map([...members.keys()].sort().map(id => [id, []]));
}

const keyOf = ({ topic, partition }: TopicPartition): string => `${topic}\n${partition}`;
