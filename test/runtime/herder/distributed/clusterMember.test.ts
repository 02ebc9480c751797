import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Broker, JoinedGroup, MembershipOptions } from '../../../../runtime/broker/port.ts';
import { loadWorkerConfig } from '../../../../runtime/config/loadWorkerConfig.ts';
import { ClusterMember } from '../../../../runtime/herder/distributed/clusterMember.ts';
import {
  type Assignment,
  configMismatch,
  decodeAssignment,
  decodeMetadata,
  encodeAssignment,
  encodeMetadata,
} from '../../../../runtime/herder/distributed/connectProtocol.ts';
import { connectorKey, workKey } from '../../../../runtime/herder/distributed/workIds.ts';
import type { ConfigStore } from '../../../../runtime/herder/stores/configStore.ts';
import { waitUntil } from '../../../services/waitUntil.ts';

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const waitMs = 10_000;
const [one, two] = [workKey({ connector: 'c', task: 0 }), workKey({ connector: 'c', task: 1 })];
const ownUrl = 'http://own/';
const otherUrl = 'http://other/';

/** One member, what its group's coordinator answers, and a config topic that can be read so far. */
class Group {
  readonly member: ClusterMember;
  /** What happened, in order. */
  readonly events: string[] = [];
  handedOverAsked = 0;
  /** How far the config topic can be read. */
  readable: number;
  #offset: number;
  #options!: MembershipOptions;
  #generation = 0;
  readonly #answers: Partial<Assignment>[] = [];
  #wake = (): void => {};

  constructor(t: TestContext, offset: number, flags: Readonly<Record<string, string>> = {}) {
    this.#offset = this.readable = offset;
    const { config } = loadWorkerConfig({ flags: { 'worker.unsync.backoff.ms': '1', ...flags } });
    const self = this;
    const read = async (to: number): Promise<void> => {
      this.events.push(`read to ${to}`);
      this.#offset = Math.max(this.#offset, Math.min(to, this.readable));
      if (this.#offset < to) throw new Error('behind');
    };
    const configs = {
      get offset() {
        return self.#offset;
      },
      readTo: read,
      readToEnd: () => read(this.readable),
    };
    const broker = {
      membership: (options: MembershipOptions) => {
        this.#options = options;
        return {
          memberId: 'own',
          get generationId() {
            return self.#generation;
          },
          join: (signal: AbortSignal) => this.#join(signal),
          close: async () => {},
        };
      },
    };
    this.member = new ClusterMember({
      broker: broker as unknown as Broker,
      config,
      url: ownUrl,
      configs: configs as unknown as ConfigStore,
      configured: () => new Set([one, two]),
      handedOver: async () => {
        this.handedOverAsked++;
        return new Set([two]);
      },
      onHeld: async () => void this.events.push(`holds ${[...this.member.held]}`),
      onLeading: () => {},
      onFailed: assert.ifError,
      logger: silent,
    });
    t.after(() => this.member.close());
  }

  /** To its next join. */
  answer(assignment: Partial<Assignment>): void {
    this.#answers.push(assignment);
    this.#wake();
  }

  /** Its coordinator does not answer for a session. */
  loseCoordinator(): void {
    this.#options.onUnreachable!();
  }

  /** What it answers as the leader of a group with another member, which has read the config topic as far as `otherOffset`. */
  async leads(generation: number, otherOffset: number, otherHolds?: ReadonlySet<string>) {
    this.#generation = generation - 1;
    const assignment = decodeAssignment(encodeAssignment(full({}), 2));
    const metadata = (url: string, configOffset: number, held: ReadonlySet<string>): Buffer =>
      encodeMetadata({ url, configOffset, held }, 2, assignment);
    const members = [{ memberId: 'own', memberMetadata: metadata(ownUrl, this.#offset, new Set([one])) }];
    if (otherHolds !== undefined) {
      members.push({ memberId: 'other', memberMetadata: metadata(otherUrl, otherOffset, otherHolds) });
    }
    const answers = await this.#options.assign('sessioned', members, 'own', generation);
    return new Map([...answers].map(([id, bytes]) => [id, decodeAssignment(bytes)]));
  }

  async #join(signal: AbortSignal): Promise<JoinedGroup> {
    const { metadata } = this.#options.protocols()[0]!;
    this.events.push(`joins with ${[...decodeMetadata(metadata).held]}`);
    while (this.#answers.length === 0) {
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve;
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    }
    this.#generation++;
    const bytes = encodeAssignment(full(this.#answers.shift()!), 2);
    return {
      memberId: 'own',
      leaderId: 'other',
      generationId: this.#generation,
      protocol: 'sessioned',
      assignment: bytes,
    };
  }
}

const full = (part: Partial<Assignment>): Assignment => ({
  error: 0,
  leader: 'other',
  leaderUrl: otherUrl,
  configOffset: -1,
  assigned: new Set(),
  revoked: new Set(),
  delayMs: 0,
  ...part,
});

test('a member that is behind reads the config topic before it takes what it is given', async t => {
  const group = new Group(t, 5);
  group.readable = 9;
  const connector = connectorKey('c');
  group.answer({ configOffset: 9, assigned: new Set([connector, one, two]) });
  await group.member.start();
  assert.deepEqual(group.events, ['joins with ', 'read to 9', `holds ${connector},${one},${two}`]);
  const { assignedConnectors, assignedTasks } = group.member.rebalances();
  assert.deepEqual([assignedConnectors, assignedTasks], [1, 2]);
});

test('a member that cannot read so far takes nothing and joins again; after some tries it gives up what it runs', async t => {
  const group = new Group(t, 5);
  group.answer({ configOffset: 5, assigned: new Set([one]) });
  await group.member.start();
  group.events.length = 0;
  for (let i = 0; i < 5; i++) group.answer({ configOffset: 9, assigned: new Set([two]) });
  group.member.rejoin();
  await waitUntil('it has given up', waitMs, () => group.events.at(-1) === 'joins with ', 5);
  const attempt = [`joins with ${one}`, 'read to 9'];
  assert.deepEqual(group.events, [...Array(5).fill(attempt).flat(), 'holds ', 'joins with ']);
  group.readable = 9;
  group.answer({ configOffset: 9, assigned: new Set([two]) });
  await waitUntil('it has caught up', waitMs, () => group.member.held.has(two), 5);
});

test('where the leader was behind, members read the config topic to its end and join again', async t => {
  const group = new Group(t, 5);
  group.readable = 7;
  group.answer({ error: configMismatch, configOffset: 3 });
  group.answer({ configOffset: 7, assigned: new Set([one]) });
  await group.member.start();
  await waitUntil('it has its work', waitMs, () => group.member.held.has(one), 5);
  assert.deepEqual(group.events, ['joins with ', 'read to 7', 'joins with ', 'read to 7', `holds ${one}`]);
});

test('a leader assigns as of the furthest that a member has read, and nothing where it cannot read so far', async t => {
  const group = new Group(t, 5);
  group.readable = 8;
  for (const { error, configOffset } of (await group.leads(1, 8, new Set())).values()) {
    assert.deepEqual([error, configOffset], [0, 8]);
  }
  for (const { error, assigned, revoked } of (await group.leads(2, 9, new Set())).values()) {
    assert.equal(error, configMismatch);
    assert.equal(assigned.size + revoked.size, 0);
  }
});

test('what a member runs stops at once where the coordinator is not heard of, and it joins again with nothing', async t => {
  const group = new Group(t, 5);
  group.answer({ configOffset: 5, assigned: new Set([one]) });
  await group.member.start();
  group.events.length = 0;
  group.loseCoordinator();
  assert.equal(group.member.held.size, 0);
  await waitUntil('it joins again', waitMs, () => group.events.at(-1) === 'joins with ', 5);
});

test('with rebalance.graceful.handover=false work of a worker that left in order waits for it, too', async t => {
  for (const isAsked of [true, false]) {
    const group = new Group(t, 5, { 'rebalance.graceful.handover': String(isAsked) });
    await group.leads(1, 5, new Set([two]));
    const own = (await group.leads(2, 5)).get('own')!;
    assert.equal(group.handedOverAsked > 0, isAsked);
    assert.deepEqual([...own.assigned], isAsked ? [two] : []);
    assert.equal(own.delayMs > 0, !isAsked);
  }
});
