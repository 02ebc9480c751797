/**
 * Who runs what, decided by the leader by the rules of incremental cooperative rebalancing (KIP-415): what runs goes on; work moves only after its
 * holder has given it up, so that balancing takes two rounds; what a departed worker ran waits for it for a while. Pure but for what it remembers of
 * the round before. Kinder than Kafka Connect where that stays valid: work that was given back in order, or whose worker is back, is handed out at
 * once, and tasks of one connector spread.
 */
import { isConnectorKey, parseWorkKey } from './workIds.ts';

export interface AssignorMember {
  readonly memberId: string;
  readonly url: string;
  /** What it runs. */
  readonly held: ReadonlySet<string>;
}

export interface AssignorRound {
  readonly nowMs: number;
  readonly generationId: number;
  /** The generation before, as the leader knows it. */
  readonly lastGenerationId: number;
  /** All connectors and tasks that are to run. */
  readonly configured: ReadonlySet<string>;
  readonly members: readonly AssignorMember[];
  /** Of what no member runs any more: what its worker stopped in order. */
  readonly handedOver: ReadonlySet<string>;
}

export interface MemberShare {
  readonly assigned: ReadonlySet<string>;
  readonly revoked: ReadonlySet<string>;
}

export interface AssignorResult {
  readonly shares: ReadonlyMap<string, MemberShare>;
  /** When members shall join again; 0 = no need. */
  readonly delayMs: number;
}

interface Member {
  readonly memberId: string;
  readonly url: string;
  /** What it goes on with or gets. */
  readonly work: Set<string>;
  readonly assigned: Set<string>;
  readonly revoked: Set<string>;
}

const firstBackoffMs = 1_000;
const maxWork = 1_000_000;

export class IncrementalAssignor {
  readonly #maxDelayMs: number;
  #generationId = -1;
  /** Work of the round before, and the URL of its worker. */
  #previous = new Map<string, string>();
  #previousMembers = new Set<string>();
  /** When lost work is handed out; null = none waits. */
  #reassignAtMs: number | null = null;
  #revokedLastRound = false;
  #revocations = 0;
  #revokeNotBeforeMs = 0;

  constructor(maxDelayMs: number) {
    this.#maxDelayMs = maxDelayMs;
  }

  assign(round: AssignorRound): AssignorResult {
    if (round.lastGenerationId !== this.#generationId) this.#forget();
    const members = round.members
      .map(({ memberId, url }) => newMember(memberId, url))
      .sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
    const held = takeHeld(members, round);
    const open = new Set([...round.configured].filter(key => !held.has(key)).sort(byKind));
    this.#bringHome(open, members);
    const waiting = this.#waiting(open, members, round);
    const backoffMs = waiting.length === 0 ? this.#revokeSurplus(members, round) : 0;
    for (const key of waiting) open.delete(key);
    for (const key of open) give(lightest(members, key), key);
    this.#generationId = round.generationId;
    this.#previousMembers = new Set(members.map(({ memberId }) => memberId));
    const delayed = waiting.map((key): [string, string] => [key, this.#previous.get(key)!]);
    const running = members.flatMap(({ work, url }) => [...work].map((key): [string, string] => [key, url]));
    this.#previous = new Map([...delayed, ...running]);
    return {
      shares: new Map(members.map(member => [member.memberId, member])),
      delayMs: this.#reassignAtMs === null ? backoffMs : this.#reassignAtMs - round.nowMs,
    };
  }

  #forget(): void {
    this.#previous = new Map();
    this.#previousMembers = new Set();
    this.#reassignAtMs = null;
    this.#revokedLastRound = false;
    this.#revocations = 0;
    this.#revokeNotBeforeMs = 0;
  }

  /** A worker that was started again gets what it ran before. */
  #bringHome(open: Set<string>, members: readonly Member[]): void {
    const returned = new Map(
      members.filter(({ memberId }) => !this.#previousMembers.has(memberId)).map(member => [member.url, member]),
    );
    for (const key of open) {
      const home = returned.get(this.#previous.get(key) ?? '');
      if (home === undefined) continue;
      give(home, key);
      open.delete(key);
    }
  }

  /** What is not handed out yet, since its worker may come back. */
  #waiting(open: ReadonlySet<string>, members: readonly Member[], { nowMs, handedOver }: AssignorRound): string[] {
    const lost = [...open].filter(key => this.#previous.has(key) && !handedOver.has(key));
    const departed = [...this.#previousMembers].some(id => !members.some(({ memberId }) => memberId === id));
    const over = this.#reassignAtMs === null ? !departed || this.#maxDelayMs === 0 : nowMs >= this.#reassignAtMs;
    if (lost.length === 0 || over) {
      this.#reassignAtMs = null;
      return [];
    }
    this.#reassignAtMs ??= nowMs + this.#maxDelayMs;
    return lost;
  }

  /** Takes from members what they have above their share. Rounds that do so in a row keep a growing distance; returns what is left of it. */
  #revokeSurplus(members: readonly Member[], { configured, nowMs }: AssignorRound): number {
    const surplus = [true, false].flatMap(connectors => surplusOf(members, configured, connectors));
    if (surplus.length === 0) {
      this.#revokedLastRound = false;
      this.#revocations = 0;
      return 0;
    }
    if (this.#revokedLastRound && this.#maxDelayMs > 0) {
      const delayMs = Math.min(firstBackoffMs * 2 ** this.#revocations++, this.#maxDelayMs);
      this.#revokeNotBeforeMs = nowMs + delayMs;
      this.#revokedLastRound = false;
    }
    if (nowMs < this.#revokeNotBeforeMs) return this.#revokeNotBeforeMs - nowMs;
    for (const [member, key] of surplus) {
      member.work.delete(key);
      member.revoked.add(key);
    }
    this.#revokedLastRound = true;
    return 0;
  }
}

function newMember(memberId: string, url: string): Member {
  return { memberId, url, work: new Set(), assigned: new Set(), revoked: new Set() };
}

/** Everybody goes on with what it runs, as far as it is still to run and no other member runs it too. Returns all that is run somewhere. */
function takeHeld(members: readonly Member[], round: AssignorRound): ReadonlySet<string> {
  const held = new Set<string>();
  for (const member of members) {
    for (const key of round.members.find(({ memberId }) => memberId === member.memberId)!.held) {
      if (round.configured.has(key) && !held.has(key)) member.work.add(key);
      else member.revoked.add(key);
      held.add(key);
    }
  }
  return held;
}

/** Connectors and tasks are balanced apart: of each, nobody keeps more than the total allows when spread evenly. */
function surplusOf(
  members: readonly Member[],
  configured: ReadonlySet<string>,
  connectors: boolean,
): (readonly [Member, string])[] {
  const total = [...configured].filter(key => isConnectorKey(key) === connectors).length;
  const least = Math.floor(total / members.length);
  let withOneMore = total % members.length;
  const surplus: (readonly [Member, string])[] = [];
  const shares = members.map(member => ({
    member,
    keys: [...member.work].filter(key => isConnectorKey(key) === connectors),
  }));
  for (const { member, keys } of shares.sort((a, b) => b.keys.length - a.keys.length)) {
    const mayKeep = withOneMore > 0 && keys.length > least ? least + 1 : least;
    if (mayKeep > least) withOneMore--;
    for (const key of mostAlike(keys, keys.length - mayKeep)) surplus.push([member, key]);
  }
  return surplus;
}

/** Of the connectors with most tasks here, so that those of one connector spread. */
function mostAlike(keys: readonly string[], count: number): string[] {
  const byConnector = new Map<string, string[]>();
  for (const key of [...keys].sort(byKind)) {
    const { connector } = parseWorkKey(key);
    byConnector.set(connector, [...(byConnector.get(connector) ?? []), key]);
  }
  const chosen: string[] = [];
  while (chosen.length < count) {
    const [most] = [...byConnector.values()].sort((a, b) => b.length - a.length);
    chosen.push(most!.pop()!);
  }
  return chosen;
}

/** Who has least of its kind, and among those least of its connector. */
function lightest(members: readonly Member[], key: string): Member {
  const { connector } = parseWorkKey(key);
  const rank = ({ work }: Member): number => {
    let [same, kind] = [0, 0];
    for (const other of work) {
      if (isConnectorKey(other) !== isConnectorKey(key)) continue;
      kind++;
      if (parseWorkKey(other).connector === connector) same++;
    }
    return kind * maxWork + same;
  };
  return members.map(member => [rank(member), member] as const).reduce((a, b) => (b[0] < a[0] ? b : a))[1];
}

function give(member: Member, key: string): void {
  member.work.add(key);
  member.assigned.add(key);
}

/** Connectors first, then by name and task. */
export function byKind(a: string, b: string): number {
  if (isConnectorKey(a) !== isConnectorKey(b)) return isConnectorKey(a) ? -1 : 1;
  const [x, y] = [parseWorkKey(a), parseWorkKey(b)];
  return x.connector === y.connector ? x.task - y.task : x.connector < y.connector ? -1 : 1;
}
