import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KafkaBroker } from '../../../../runtime/broker/kafka/index.ts';
import type { Membership } from '../../../../runtime/broker/port.ts';
import { randomName } from '../../../contract/contractTools.ts';
import { waitUntil } from '../../../services/waitUntil.ts';
import { quietLogger } from '../embedded/embeddedTools.ts';
import { OwnKafka } from './ownKafka.ts';

/** The shortest that brokers allow. */
const sessionTimeoutMs = 6_000;
const assignment = Buffer.from('yours');
const kafka = new OwnKafka(20_140);
let broker: KafkaBroker;
before(async () => {
  await kafka.start();
  broker = await KafkaBroker.connect({ 'bootstrap.servers': kafka.bootstrap }, quietLogger);
});
after(async () => {
  await broker.close();
  await kafka.clean();
});

/** `rebalanceTimeoutMs`: for how long a join waits for the others. */
function member(
  groupId: string,
  rebalanceTimeoutMs: number,
  onUnreachable: () => void,
  onRejoinNeeded = (): void => {},
): Membership {
  return broker.membership({
    groupId,
    protocolType: 'connect',
    clientId: 'test',
    sessionTimeoutMs,
    rebalanceTimeoutMs,
    heartbeatIntervalMs: 1_000,
    protocols: () => [{ name: 'any', metadata: Buffer.alloc(0) }],
    assign: async (_protocol, members) => new Map(members.map(({ memberId }) => [memberId, assignment])),
    onRejoinNeeded,
    onUnreachable,
  });
}

/** How long after the broker hangs the member is told. */
async function toldAfterMs(told: () => number): Promise<number> {
  const pid = await kafka.pid();
  process.kill(pid, 'SIGSTOP');
  const stoppedMs = Date.now();
  try {
    await waitUntil('the member is told', 2 * sessionTimeoutMs, () => told() > 0);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  return told() - stoppedMs;
}

test('a member whose coordinator hangs is told when its session is over, and joins again when it answers', async () => {
  let unreachableMs = 0;
  const membership = member(randomName('membership'), sessionTimeoutMs, () => {
    unreachableMs = Date.now();
  });
  const { signal } = new AbortController();
  const first = await membership.join(signal);
  assert.deepEqual(first.assignment, assignment);
  assert.equal(membership.generationId, first.generationId);
  const silentMs = await toldAfterMs(() => unreachableMs);
  assert.ok(silentMs > sessionTimeoutMs - 1_500 && silentMs < sessionTimeoutMs + 1_500, `told after ${silentMs} ms`);
  assert.equal(membership.generationId, -1);
  const again = await membership.join(signal);
  assert.ok(again.generationId > first.generationId);
  await membership.close();
});

test('a member is told while it joins, too, but not where the join only waits for others', async () => {
  const groupId = randomName('membership');
  const told = { waiting: 0, slow: 0 };
  let isCalled = false;
  const waiting = member(
    groupId,
    10 * sessionTimeoutMs,
    () => {
      told.waiting = Date.now();
    },
    () => {
      isCalled = true;
    },
  );
  const slow = member(groupId, 10 * sessionTimeoutMs, () => {
    told.slow = Date.now();
  });
  const { signal } = new AbortController();
  await waiting.join(signal);
  const coming = slow.join(signal);
  await waitUntil('the first member is to join again', sessionTimeoutMs, () => isCalled);
  const again = await waiting.join(signal);
  assert.equal((await coming).generationId, again.generationId);

  // The join waits for the slow member, which only says that it is there, for longer than a session.
  const joining = waiting.join(signal);
  await new Promise(resolve => setTimeout(resolve, sessionTimeoutMs + 2_000));
  assert.deepEqual(told, { waiting: 0, slow: 0 });
  const silentMs = await toldAfterMs(() => told.waiting);
  assert.ok(silentMs > sessionTimeoutMs - 1_500 && silentMs < sessionTimeoutMs + 1_500, `told after ${silentMs} ms`);
  await Promise.all([joining, slow.join(signal)]);
  await Promise.all([waiting.close(), slow.close()]);
});
