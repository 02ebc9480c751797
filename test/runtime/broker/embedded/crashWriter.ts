/**
 * Child of the kill tests: writes batches to three partitions, one of them within transactions, several sends under way, and reports each acknowledgement
 * on stdout as `partition baseOffset count first`; records carry consecutive numbers per partition, from the given ones on.
 */
import { EmbeddedBroker } from '../../../../runtime/broker/embedded/embeddedBroker.ts';
import type { Producer } from '../../../../runtime/broker/port.ts';
import { batchOf, transactional } from '../../../contract/contractTools.ts';
import { quietLogger } from './embeddedTools.ts';

const [dataDir, ...starts] = process.argv.slice(2);
const broker = await EmbeddedBroker.open(dataDir, quietLogger, { maintenanceIntervalMs: 50 });
const next = starts.map(Number);

function batch(partition: number): { first: number; count: number; pending: ReturnType<typeof batchOf> } {
  const count = 1 + Math.floor(Math.random() * 200);
  const first = next[partition];
  next[partition] += count;
  const records = Array.from({ length: count }, (_, i) => ({ key: null, value: `${first + i}${'.'.repeat(i % 300)}` }));
  return { first, count, pending: batchOf('t', partition, records) };
}

async function send(producer: Producer, partition: number): Promise<void> {
  const { first, count, pending } = batch(partition);
  const [{ baseOffset }] = await producer.send([pending]);
  // One write a line, not buffered: what was acknowledged is on its way before anything else happens.
  process.stdout.write(`${partition} ${baseOffset} ${count} ${first}\n`);
}

async function plain(partition: number): Promise<void> {
  const producer = broker.producer({ clientId: 'plain', compression: partition === 1 ? 'lz4' : 'none' });
  for (;;) await Promise.all([send(producer, partition), send(producer, partition), send(producer, partition)]);
}

async function inTransactions(partition: number): Promise<void> {
  const producer = await transactional(broker, 'crash-tx');
  for (;;) {
    producer.beginTransaction();
    const { first, count, pending } = batch(partition);
    const [{ baseOffset }] = await producer.send([pending]);
    await producer.sendOffsets('g', [{ topic: 't', partition, offset: first + count }]);
    await producer.commitTransaction();
    process.stdout.write(`${partition} ${baseOffset} ${count} ${first}\n`);
  }
}

await Promise.all([plain(0), plain(1), inTransactions(2)]);
