import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { connectBroker } from '../../runtime/broker/connectBroker.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import { kitWorkerArgs, removeKitLeftovers, runRestKit, silentLogger } from './restConformance.ts';

const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';

test('every step of the REST conformance kit passes on Kafka', async t => {
  const groupId = `rest-${randomUUID()}`;
  const worker = await WorkerProcess.start(['--bootstrap-servers', bootstrap, '--group-id', groupId, ...kitWorkerArgs]);
  t.after(async () => {
    await worker.stop();
    const broker = await connectBroker({ kind: 'kafka', settings: { 'bootstrap.servers': bootstrap } }, silentLogger);
    await removeKitLeftovers(broker, groupId);
    await broker.close();
  });
  const { passed, failed } = await runRestKit(worker.url);
  assert.deepEqual([...failed.values()], []);
  assert.ok(passed > 500, `only ${passed} steps were played`);
});
