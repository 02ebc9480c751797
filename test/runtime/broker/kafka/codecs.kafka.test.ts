/** What we write Java reads, and the other way round, in every codec. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KafkaBroker } from '../../../../runtime/broker/kafka/index.ts';
import type { Compression } from '../../../../runtime/broker/port.ts';
import { batchOf, randomName, readPartition } from '../../../contract/contractTools.ts';
import { quietLogger } from '../embedded/embeddedTools.ts';
import { OwnKafka } from './ownKafka.ts';

const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';
// Only for its tools: nothing is started.
const java = new OwnKafka(9092);
const codecs: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
const topics: string[] = [];
let broker: KafkaBroker;
before(async () => {
  broker = await KafkaBroker.connect({ 'bootstrap.servers': bootstrap }, quietLogger);
});
after(async () => {
  await broker.admin().deleteTopics(topics);
  await broker.close();
});

async function newTopic(): Promise<string> {
  const name = randomName('codecs');
  await broker.admin().createTopics([{ name, partitions: 1, replicationFactor: 1 }]);
  topics.push(name);
  return name;
}

test('the console consumer reads all codecs', async () => {
  const topic = await newTopic();
  const expected: string[] = [];
  for (const compression of codecs) {
    const producer = broker.producer({ clientId: 'codecs', compression });
    // Large enough for several blocks of each framing.
    const records = Array.from({ length: 6000 }, (_, i) => ({
      key: null,
      value: `${compression}-${i}-${'x'.repeat(100)}`,
    }));
    await producer.send([batchOf(topic, 0, records)]);
    await producer.close();
    expected.push(...records.map(r => r.value));
  }
  const output = await java.tool(
    'org.apache.kafka.tools.consumer.ConsoleConsumer',
    ...['--bootstrap-server', bootstrap, '--topic', topic, '--from-beginning'],
    ...['--max-messages', String(expected.length), '--timeout-ms', '20000'],
  );
  assert.deepEqual(output.trimEnd().split('\n'), expected);
});

for (const codec of codecs)
  test(`what Java wrote with ${codec} is read`, async () => {
    const topic = await newTopic();
    await java.tool(
      'org.apache.kafka.tools.ProducerPerformance',
      ...['--topic', topic, '--num-records', '3000', '--record-size', '200', '--throughput', '-1'],
      ...[
        '--producer-props',
        `bootstrap.servers=${bootstrap}`,
        `compression.type=${codec}`,
        'batch.size=100000',
        'linger.ms=50',
      ],
    );
    const records = await readPartition(broker, topic, 0, 3000);
    assert.ok(
      records.every(r => r.value?.length === 200),
      'values of 200 bytes',
    );
  });
