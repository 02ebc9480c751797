import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EmbeddedBroker } from '../../../../runtime/broker/embedded/embeddedBroker.ts';
import { pollRecords, produce, randomName, readPartition, until, values } from '../../../contract/contractTools.ts';
import { waitUntil } from '../../../services/waitUntil.ts';
import { quietLogger, temporaryDir } from './embeddedTools.ts';

const kills = 20;
const writer = fileURLToPath(new URL('./crashWriter.ts', import.meta.url));

interface Acknowledged {
  readonly partition: number;
  readonly baseOffset: number;
  readonly count: number;
  readonly first: number;
}

/** Starts the writer, lets it acknowledge something, kills it at a random moment. */
async function writeAndKill(dataDir: string, starts: readonly number[]): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, ['--import', 'tsx', writer, dataDir, ...starts.map(String)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', data => {
    output += data;
  });
  child.stderr.on('data', data => {
    errors += data;
  });
  const ended = once(child, 'close');
  await until('acknowledgement', async () => {
    assert.equal(child.exitCode, null, errors);
    await Promise.race([once(child.stdout, 'data'), ended]);
    return output.includes('\n');
  });
  setTimeout(() => child.kill('SIGKILL'), Math.random() * 150);
  await ended;
  // A line that was cut off was not read as acknowledged.
  return output
    .slice(0, output.lastIndexOf('\n'))
    .split('\n')
    .map(line => {
      const [partition, baseOffset, count, first] = line.split(' ').map(Number);
      return { partition, baseOffset, count, first };
    });
}

test(`everything acknowledged before ${kills} kills is there, in order and whole`, {
  timeout: 300_000,
}, async context => {
  const dataDir = await temporaryDir(context);
  const setUp = await EmbeddedBroker.open(dataDir, quietLogger);
  await setUp.admin().createTopics([{ name: 't', partitions: 3, replicationFactor: -1 }]);
  await setUp.close();

  const starts = [0, 0, 0];
  let committed = 0;
  for (let kill = 0; kill < kills; kill++) {
    const acknowledged = await writeAndKill(dataDir, starts);
    const broker = await EmbeddedBroker.open(dataDir, quietLogger);
    const admin = broker.admin();
    const found = await Promise.all(
      [0, 1, 2].map(partition => readToEnd(broker, partition, partition === 2 ? 'read_committed' : 'read_uncommitted')),
    );
    for (const partition of [0, 1, 2]) {
      const records = found[partition];
      const byOffset = new Map(records.map(record => [record.offset, record]));
      for (const { baseOffset, count, first } of acknowledged.filter(entry => entry.partition === partition))
        for (let i = 0; i < count; i++)
          assert.equal(
            numberOf(byOffset.get(baseOffset + i)?.value),
            first + i,
            `kill ${kill}, ${partition}/${baseOffset + i}`,
          );
      const numbers = records.map(record => numberOf(record.value));
      for (let i = 1; i < numbers.length; i++)
        assert.ok(numbers[i] > numbers[i - 1], `kill ${kill}: ${numbers[i]} after ${numbers[i - 1]} in ${partition}`);
      // Transactions that were cut off leave a gap in the numbers, nothing else may.
      if (partition !== 2) assert.equal(numbers.length, numbers.length === 0 ? 0 : numbers.at(-1)! + 1);
      starts[partition] = Math.max(starts[partition], (numbers.at(-1) ?? -1) + 1);
    }
    const [groupOffset] = await admin.groupOffsets('g');
    if (groupOffset !== undefined) {
      assert.equal(groupOffset.offset, numberOf(found[2].at(-1)?.value) + 1, 'offsets go with their transaction');
      committed = groupOffset.offset;
    }
    await broker.close();
  }
  assert.ok(committed > 0 && starts[0] > 0 && starts[1] > 0, 'something was written between the kills');
});

async function readToEnd(
  broker: EmbeddedBroker,
  partition: number,
  isolation: 'read_committed' | 'read_uncommitted',
): Promise<{ readonly offset: number; readonly value: string | null }[]> {
  const [{ latest }] = await broker.admin().offsets([{ topic: 't', partition }]);
  const consumer = broker.consumer({ clientId: randomName('check'), groupId: null, isolation });
  await consumer.assign([{ topic: 't', partition, from: 'beginning' }]);
  const records: { offset: number; value: string | null }[] = [];
  while (consumer.position({ topic: 't', partition })! < latest)
    records.push(...(await pollRecords(consumer, isolation)));
  await consumer.close();
  return records;
}

function numberOf(value: string | null | undefined): number {
  return Number.parseInt(value ?? '', 10);
}

test('a second worker on the data directory is refused, naming the process; a reader is not', async context => {
  const dataDir = await temporaryDir(context);
  const setUp = await EmbeddedBroker.open(dataDir, quietLogger);
  await setUp.admin().createTopics([{ name: 't', partitions: 3, replicationFactor: -1 }]);
  await setUp.close();
  const child = spawn(process.execPath, ['--import', 'tsx', writer, dataDir, '0', '0', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  context.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await once(child.stdout, 'data');
  child.stdout.resume();

  await assert.rejects(EmbeddedBroker.open(dataDir, quietLogger), error => {
    assert.equal((error as { code: string }).code, 'BROKER_DATA_DIR_IN_USE');
    assert.match((error as Error).message, new RegExp(`process ${child.pid}\\b`));
    return true;
  });

  const reader = await EmbeddedBroker.openReader(dataDir, quietLogger);
  const consumer = reader.consumer({ clientId: 'tail', groupId: null });
  await consumer.assign([{ topic: 't', partition: 0, from: 'end' }]);
  const from = consumer.position({ topic: 't', partition: 0 })!;
  const [fetched] = await consumer.poll(10_000);
  assert.ok(fetched !== undefined && fetched.fetchOffset === from, 'a reader sees what is written after it came');
  assert.throws(() => reader.producer({ clientId: 'p' }), /BROKER_READ_ONLY|for reading/);
  await reader.close();
});

test('a worker that was killed holds its data directory no more, although its parent does not look after it', {
  skip: process.platform !== 'linux',
}, async context => {
  const dataDir = await temporaryDir(context);
  const setUp = await EmbeddedBroker.open(dataDir, quietLogger);
  await setUp.admin().createTopics([{ name: 't', partitions: 3, replicationFactor: -1 }]);
  await setUp.close();
  // What the shell becomes knows of no child.
  const command = 'node --import tsx "$0" "$1" 0 0 0 >&2 & echo $!; exec sleep 600';
  const parent = spawn('bash', ['-c', command, writer, dataDir], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(parent, 'close');
  context.after(async () => {
    parent.kill('SIGKILL');
    await ended;
  });
  const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
  await once(parent.stderr, 'data');
  parent.stderr.resume();
  process.kill(Number(pid.toString()), 'SIGKILL');
  const stat = (): string => readFileSync(`/proc/${Number(pid.toString())}/stat`, 'latin1');
  await waitUntil('what is left of it', 10_000, () => stat().includes(') Z '));
  const broker = await EmbeddedBroker.open(dataDir, quietLogger);
  await broker.close();
});

test('reading a directory without a store is refused', async context => {
  await assert.rejects(
    EmbeddedBroker.openReader(await temporaryDir(context), quietLogger),
    (error: { code?: string }) => error.code === 'BROKER_STORE_FAILED',
  );
});

test('with flush fsync sends are acknowledged as well', async context => {
  const broker = await EmbeddedBroker.open(await temporaryDir(context), quietLogger, { flush: 'fsync' });
  await broker.admin().createTopics([{ name: 't', partitions: 1, replicationFactor: -1 }]);
  await produce(broker, 't', 0, values('v', 10));
  await readPartition(broker, 't', 0, 10);
  await broker.close();
});
