import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KafkaBroker } from '../../../../runtime/broker/kafka/index.ts';
import { randomName } from '../../../contract/contractTools.ts';
import { waitUntil } from '../../../services/waitUntil.ts';
import { quietLogger } from '../embedded/embeddedTools.ts';
import { OwnKafka } from './ownKafka.ts';

/** The shortest that brokers allow. */
const sessionTimeoutMs = 6_000;
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

test('a member whose coordinator hangs is told when its session is over, and joins again when it answers', async () => {
  const assignment = Buffer.from('yours');
  let unreachableMs = 0;
  const membership = broker.membership({
    groupId: randomName('membership'),
    protocolType: 'connect',
    clientId: 'test',
    sessionTimeoutMs,
    rebalanceTimeoutMs: sessionTimeoutMs,
    heartbeatIntervalMs: 1_000,
    protocols: () => [{ name: 'any', metadata: Buffer.alloc(0) }],
    assign: async (_protocol, members) => new Map(members.map(({ memberId }) => [memberId, assignment])),
    onRejoinNeeded: () => {},
    onUnreachable: () => {
      unreachableMs = Date.now();
    },
  });
  const { signal } = new AbortController();
  const first = await membership.join(signal);
  assert.deepEqual(first.assignment, assignment);
  assert.equal(membership.generationId, first.generationId);
  const pid = await kafka.pid();
  process.kill(pid, 'SIGSTOP');
  const stoppedMs = Date.now();
  try {
    await waitUntil('the member is told', 2 * sessionTimeoutMs, () => unreachableMs > 0);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  const silentMs = unreachableMs - stoppedMs;
  assert.ok(silentMs > sessionTimeoutMs - 1_500 && silentMs < sessionTimeoutMs + 1_500, `told after ${silentMs} ms`);
  assert.equal(membership.generationId, -1);
  const again = await membership.join(signal);
  assert.ok(again.generationId > first.generationId);
  await membership.close();
});
