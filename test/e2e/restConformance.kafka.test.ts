import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { connectBroker } from '../../runtime/broker/connectBroker.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import { kitWorkerArgs, runRestKit } from './restConformance.ts';

const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';
const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

test('every step of the REST conformance kit passes on Kafka', async t => {
  const groupId = `rest-${randomUUID()}`;
  const worker = await WorkerProcess.start(['--bootstrap-servers', bootstrap, '--group-id', groupId, ...kitWorkerArgs]);
  t.after(async () => {
    await worker.stop();
    const broker = await connectBroker({ kind: 'kafka', settings: { 'bootstrap.servers': bootstrap } }, silent);
    await broker.admin().deleteTopics(['configs', 'offsets', 'status'].map(kind => `${groupId}-${kind}`));
    await broker.close();
  });
  const { passed, failed } = await runRestKit(worker.url);
  assert.deepEqual([...failed.values()], []);
  assert.ok(passed > 500, `only ${passed} steps were played`);
});
