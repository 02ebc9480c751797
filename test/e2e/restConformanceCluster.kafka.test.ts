import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { connectBroker } from '../../runtime/broker/connectBroker.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import { kitWorkerArgs, removeKitLeftovers, runRestKit, silentLogger } from './restConformance.ts';

const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';

async function cluster(t: TestContext, size: number): Promise<WorkerProcess[]> {
  const groupId = `rest-${randomUUID()}`;
  const args = [
    ...['--bootstrap-servers', bootstrap, '--group-id', groupId],
    ...['--set', 'scheduled.rebalance.max.delay.ms=0', '--set', 'task.threads=1'],
    ...kitWorkerArgs,
  ];
  const workers: WorkerProcess[] = [];
  t.after(async () => {
    for (const worker of workers) await worker.stop();
    const broker = await connectBroker({ kind: 'kafka', settings: { 'bootstrap.servers': bootstrap } }, silentLogger);
    await removeKitLeftovers(broker, groupId);
    await broker.admin().deleteGroup(groupId);
    await broker.close();
  });
  // One after the other, so that the first leads.
  for (let i = 0; i < size; i++) workers.push(await WorkerProcess.start(args, {}, 'worker'));
  return workers;
}

for (const size of [1, 3]) {
  test(`every step of the REST conformance kit passes in a cluster of ${size}, asked at its last worker`, async t => {
    const workers = await cluster(t, size);
    const { passed, failed } = await runRestKit(workers.at(-1)!.url);
    // By what it asks it fails at a worker that does not lead, as with Kafka Connect.
    const onlyByLeader = size === 1 ? [] : ['14-unknown > forward=false is accepted by the leader'];
    assert.deepEqual([...failed.keys()], onlyByLeader, [...failed.values()].join('\n'));
    assert.ok(passed > 500, `only ${passed} steps were played`);
    assert.deepEqual(
      workers.flatMap(worker => worker.complaints),
      [],
    );
  });
}
