import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { connectBroker } from '../../../../runtime/broker/connectBroker.ts';
import type { Broker } from '../../../../runtime/broker/port.ts';
import { ConnectError } from '../../../../schemas/errors.ts';

const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';
const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

test('of two that take a group at once one goes on; a third is refused by name until it leaves', async t => {
  const groupId = `hold-${randomUUID()}`;
  const open = (): Promise<Broker> =>
    connectBroker({ kind: 'kafka', settings: { 'bootstrap.servers': bootstrap } }, silent);
  const brokers = await Promise.all([open(), open(), open()]);
  t.after(async () => {
    for (const broker of brokers) await broker.close();
    const last = await open();
    await last.admin().deleteGroup(groupId);
    await last.close();
  });
  const taken = new Map<number, unknown>();
  let onTaken = (): void => {};
  const someTaken = new Promise<void>(resolve => {
    onTaken = resolve;
  });
  const hold = (i: number): Promise<void> =>
    brokers[i]!.holdGroup({
      groupId,
      clientId: 'worker',
      holder: `host:${i}`,
      onTaken: error => {
        taken.set(i, error);
        onTaken();
      },
    });
  await Promise.all([hold(0), hold(1)]);
  await someTaken;
  assert.equal(taken.size, 1);
  const [[loser, error]] = [...taken] as [[number, unknown]];
  assert.ok(error instanceof ConnectError && error.code === 'WORKER_GROUP_IN_USE', String(error));
  await brokers[loser]!.close();

  const started = Date.now();
  const refused: unknown = await hold(2).then(
    () => null,
    reason => reason,
  );
  assert.ok(refused instanceof ConnectError && refused.code === 'WORKER_GROUP_IN_USE', String(refused));
  assert.match(refused.message, new RegExp(`host:${1 - loser}, is in group ${groupId}`));
  // As long as a dead worker would have been kept.
  assert.ok(Date.now() - started >= 10_000);

  await brokers[1 - loser]!.close();
  await hold(2);
});

test('the worker of before at the same address is not waited for; if it lives after all, the later one is told', async t => {
  const groupId = `hold-${randomUUID()}`;
  const open = (): Promise<Broker> =>
    connectBroker({ kind: 'kafka', settings: { 'bootstrap.servers': bootstrap } }, silent);
  const [first, second] = await Promise.all([open(), open()]);
  t.after(async () => {
    await Promise.all([first.close(), second.close()]);
    const last = await open();
    await last.admin().deleteGroup(groupId);
    await last.close();
  });
  const holder = 'host:8083';
  let firstTold: unknown = null;
  await first.holdGroup({ groupId, clientId: 'worker', holder, onTaken: error => (firstTold = error) });
  const started = Date.now();
  const told = new Promise<unknown>((resolve, reject) => {
    second.holdGroup({ groupId, clientId: 'worker', holder, onTaken: resolve }).catch(reject);
  });
  const error = await told;
  assert.ok(error instanceof ConnectError && error.code === 'WORKER_GROUP_IN_USE', String(error));
  assert.ok(Date.now() - started < 9_000);
  assert.equal(firstTold, null);
});
