/** A task thread of the thread tests: a group member that commits what it reads, and a producer; until it is ended by force. */
import { parentPort, workerData } from 'node:worker_threads';
import { EmbeddedBroker } from '../../../../runtime/broker/embedded/embeddedBroker.ts';
import { batchOf, pollRecords, randomName, values } from '../../../contract/contractTools.ts';
import { quietLogger } from './embeddedTools.ts';

const { dataDir, groupId } = workerData as { dataDir: string; groupId: string };

async function run(): Promise<void> {
  const broker = await EmbeddedBroker.open(dataDir, quietLogger);
  const producer = broker.producer({ clientId: 'thread' });
  const consumer = broker.consumer({
    clientId: randomName('thread'),
    groupId,
    autoOffsetReset: 'earliest',
    settings: { 'session.timeout.ms': '60000' },
  });
  await consumer.subscribe(['in']);
  for (;;) {
    const records = await pollRecords(consumer, 'read_uncommitted', 50);
    await producer.send([batchOf('out', 0, values('t', 5))]);
    if (records.length === 0) continue;
    const last = new Map(records.map(record => [record.partition, record.offset + 1]));
    const offsets = [...last].map(([partition, offset]) => ({ topic: 'in', partition, offset }));
    await consumer.commit(offsets).then(
      () => parentPort!.postMessage(records.map(({ partition, offset }) => `${partition}/${offset}`)),
      // The group moved on; the records come again, here or elsewhere.
      error => parentPort!.postMessage([`${error.code}`]),
    );
  }
}

void run();
