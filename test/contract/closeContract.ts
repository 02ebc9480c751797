/** What is left of a broker after its close: nothing that goes on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Broker } from '../../runtime/broker/port.ts';
import type { ContractContext } from './brokerContract.ts';
import { batchOf, hasCode } from './contractTools.ts';

export function closeContract(context: ContractContext, open: () => Promise<Broker>): void {
  test('a closed broker makes no more clients', async () => {
    const broker = await open();
    await broker.close();
    const closed = hasCode('BROKER_CLOSED');
    assert.throws(() => broker.admin(), closed);
    assert.throws(() => broker.producer({ clientId: 'late' }), closed);
    assert.throws(() => broker.consumer({ clientId: 'late', groupId: null }), closed);
  });

  test('a send that the close overtakes ends, one way or the other', async () => {
    const topic = await context.topic();
    const broker = await open();
    const sending = broker.producer({ clientId: 'overtaken' }).send([batchOf(topic, 0, [{ key: 'k', value: 'v' }])]);
    const ended = sending.then(
      () => true,
      () => true,
    );
    await broker.close();
    assert.ok(await ended);
  });
}
