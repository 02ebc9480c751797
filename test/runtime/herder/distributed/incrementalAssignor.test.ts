import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eagerAssign } from '../../../../runtime/herder/distributed/eagerAssignor.ts';
import {
  type AssignorResult,
  IncrementalAssignor,
} from '../../../../runtime/herder/distributed/incrementalAssignor.ts';
import { connectorKey, isConnectorKey, parseWorkKey, workKey } from '../../../../runtime/herder/distributed/workIds.ts';

const maxDelayMs = 5_000;

/** Workers that do what the assignor says, and a clock. */
class Cluster {
  readonly held = new Map<string, Set<string>>();
  readonly urls = new Map<string, string>();
  configured = new Set<string>();
  nowMs = 1_000_000;
  generationId = 0;
  moved = 0;
  #ids = 0;
  readonly #assignor: IncrementalAssignor;

  constructor(delayMs = maxDelayMs) {
    this.#assignor = new IncrementalAssignor(delayMs);
  }

  connector(name: string, tasks: number): void {
    for (const key of this.configured) if (parseWorkKey(key).connector === name) this.configured.delete(key);
    this.configured.add(connectorKey(name));
    for (let task = 0; task < tasks; task++) this.configured.add(workKey({ connector: name, task }));
  }

  remove(name: string): void {
    for (const key of this.configured) if (parseWorkKey(key).connector === name) this.configured.delete(key);
  }

  join(url = ''): string {
    const id = `member-${String(++this.#ids).padStart(4, '0')}`;
    this.held.set(id, new Set());
    this.urls.set(id, url || `http://${id}/`);
    return id;
  }

  /** Returns what it ran. */
  leave(id: string): Set<string> {
    const held = this.held.get(id)!;
    this.held.delete(id);
    return held;
  }

  /** One rebalance. */
  round(handedOver: ReadonlySet<string> = new Set()): AssignorResult {
    const members = [...this.held].map(([memberId, held]) => ({ memberId, url: this.urls.get(memberId)!, held }));
    const lastGenerationId = this.generationId++;
    const { generationId, nowMs, configured } = this;
    const result = this.#assignor.assign({
      nowMs,
      generationId,
      lastGenerationId: lastGenerationId === 0 ? -1 : lastGenerationId,
      configured,
      members,
      handedOver,
    });
    const before = new Set(members.flatMap(({ held }) => [...held]));
    for (const [id, { assigned, revoked }] of result.shares) {
      const held = this.held.get(id)!;
      for (const key of revoked) {
        assert.ok(held.has(key), `${id} shall stop ${key}, which it does not run`);
        held.delete(key);
      }
      for (const key of assigned) {
        assert.ok(!before.has(key), `${key} is given to ${id} while another may still run it`);
        held.add(key);
        this.moved++;
      }
    }
    const all = [...this.held.values()].flatMap(held => [...held]);
    assert.equal(new Set(all).size, all.length, 'work runs twice');
    for (const key of all) assert.ok(configured.has(key), `${key} runs though it was removed`);
    return result;
  }

  /** Rounds as workers would ask for them, until nobody asks any more; returns how many. */
  settle(): number {
    for (let rounds = 1; ; rounds++) {
      assert.ok(rounds < 50, 'the group does not come to rest');
      const { shares, delayMs } = this.round();
      const rejoin = [...shares.values()].some(({ revoked }) => revoked.size > 0);
      if (!rejoin && delayMs === 0) return rounds;
      if (!rejoin) this.nowMs += delayMs;
    }
  }

  counts(connectors: boolean): number[] {
    return [...this.held.values()].map(held => [...held].filter(key => isConnectorKey(key) === connectors).length);
  }

  assertBalanced(): void {
    const all = [...this.held.values()].flatMap(held => [...held]);
    assert.equal(all.length, this.configured.size, 'not all that is configured runs');
    for (const connectors of [true, false]) {
      const counts = this.counts(connectors);
      assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, `unbalanced: ${counts}`);
    }
  }
}

test('a worker that comes takes over only what is above the share of the others, in two rounds', () => {
  const cluster = new Cluster();
  cluster.join();
  cluster.join();
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) cluster.connector(name, 2);
  cluster.settle();
  cluster.assertBalanced();
  cluster.moved = 0;
  cluster.join();
  const first = cluster.round();
  assert.ok([...first.shares.values()].every(({ assigned }) => assigned.size === 0));
  const second = cluster.round();
  assert.ok([...second.shares.values()].every(({ revoked }) => revoked.size === 0));
  assert.equal(second.delayMs, 0);
  cluster.assertBalanced();
  assert.equal(cluster.moved, 2 + 4);
});

test('work of a worker that was killed waits for it, then goes to the others', () => {
  const cluster = new Cluster();
  const [, second] = [cluster.join(), cluster.join()];
  for (const name of ['a', 'b', 'c', 'd']) cluster.connector(name, 1);
  cluster.settle();
  const lost = cluster.leave(second);
  assert.equal(cluster.round().delayMs, maxDelayMs);
  cluster.nowMs += 2_000;
  assert.equal(cluster.round().delayMs, maxDelayMs - 2_000);
  assert.equal([...cluster.held.values()][0]!.size, cluster.configured.size - lost.size);
  cluster.nowMs += 3_000;
  assert.equal(cluster.round().delayMs, 0);
  cluster.assertBalanced();
});

test('a worker that is started again at its address gets its own work back at once, and nothing else moves', () => {
  const cluster = new Cluster();
  cluster.join();
  const second = cluster.join('http://second/');
  cluster.join();
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) cluster.connector(name, 2);
  cluster.settle();
  cluster.moved = 0;
  const lost = cluster.leave(second);
  cluster.round();
  const again = cluster.join('http://second/');
  const { delayMs } = cluster.round();
  assert.equal(delayMs, 0);
  assert.deepEqual(cluster.held.get(again), lost);
  assert.equal(cluster.moved, lost.size);
});

test('what a leaving worker handed over goes to the others at once', () => {
  const cluster = new Cluster();
  const [, second] = [cluster.join(), cluster.join()];
  for (const name of ['a', 'b', 'c', 'd']) cluster.connector(name, 1);
  cluster.settle();
  const { delayMs } = cluster.round(cluster.leave(second));
  assert.equal(delayMs, 0);
  cluster.assertBalanced();
});

test('with a delay of 0 lost work is handed out in the same round', () => {
  const cluster = new Cluster(0);
  const [, second] = [cluster.join(), cluster.join()];
  cluster.connector('a', 4);
  cluster.settle();
  cluster.leave(second);
  assert.equal(cluster.round().delayMs, 0);
  cluster.assertBalanced();
});

test('tasks of one connector spread over the workers', () => {
  const cluster = new Cluster();
  for (let i = 0; i < 3; i++) cluster.join();
  cluster.connector('a', 3);
  cluster.connector('b', 3);
  cluster.settle();
  for (const held of cluster.held.values()) {
    const connectors = [...held].filter(key => !isConnectorKey(key)).map(key => parseWorkKey(key).connector);
    assert.deepEqual(connectors.sort(), ['a', 'b']);
  }
});

test('rounds that revoke one after the other keep a growing distance', () => {
  const cluster = new Cluster();
  cluster.join();
  cluster.connector('a', 12);
  cluster.settle();
  const delays: number[] = [];
  for (let i = 0; i < 4; i++) {
    cluster.join();
    const { delayMs } = cluster.round();
    delays.push(delayMs);
  }
  assert.equal(delays[0], 0);
  assert.ok(
    delays.some(delayMs => delayMs > 0),
    `no back-off: ${delays}`,
  );
  cluster.settle();
  cluster.assertBalanced();
});

test('a new leader, who knows nothing of before, hands out at once what nobody runs', () => {
  const cluster = new Cluster();
  const [first, second] = [cluster.join(), cluster.join()];
  cluster.connector('a', 4);
  cluster.settle();
  const next = new Cluster();
  next.configured = cluster.configured;
  next.held.set(second, cluster.held.get(second)!);
  next.urls.set(second, cluster.urls.get(second)!);
  next.generationId = 40;
  assert.equal(next.round().delayMs, 0);
  next.assertBalanced();
  assert.ok(cluster.held.get(first)!.size > 0);
});

/** Numbers that are the same at every run. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('whatever comes and goes, nothing runs twice, and at rest everything runs, evenly spread', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const next = random(seed);
    const cluster = new Cluster(next(4) === 0 ? 0 : maxDelayMs);
    cluster.join();
    for (let step = 0; step < 30; step++) {
      const ids = [...cluster.held.keys()];
      const name = `c${next(6)}`;
      let handedOver = new Set<string>();
      switch (next(6)) {
        case 0:
          if (ids.length < 6) cluster.join();
          break;
        case 1:
          if (ids.length > 1) cluster.leave(ids[next(ids.length)]!);
          break;
        case 2:
          if (ids.length > 1) handedOver = cluster.leave(ids[next(ids.length)]!);
          break;
        case 3:
          cluster.connector(name, next(7));
          break;
        case 4:
          cluster.remove(name);
          break;
        case 5:
          cluster.nowMs += next(2 * maxDelayMs);
          break;
      }
      cluster.round(handedOver);
      if (next(5) === 0) {
        cluster.settle();
        cluster.assertBalanced();
      }
    }
    cluster.settle();
    cluster.assertBalanced();
  }
});

test('the eager protocol deals everything out in turn', () => {
  const cluster = new Cluster();
  cluster.connector('a', 2);
  cluster.connector('b', 1);
  const shares = eagerAssign(['y', 'x'], cluster.configured);
  assert.deepEqual([...shares.get('x')!], ['-1:a', '0:a', '0:b']);
  assert.deepEqual([...shares.get('y')!], ['-1:b', '1:a']);
});
