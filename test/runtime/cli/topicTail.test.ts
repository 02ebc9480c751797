import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { EmbeddedBroker } from '../../../runtime/broker/embedded/embeddedBroker.ts';
import { EmbeddedRegistry } from '../../../runtime/broker/embedded/embeddedRegistry.ts';
import { encodeHeaders, noHeaders, RecordBatchBuilder } from '../../../runtime/broker/records/index.ts';
import { RecordText } from '../../../runtime/cli/recordText.ts';
import { type TailOptions, tailTopic } from '../../../runtime/cli/topicTail.ts';
import { waitUntil } from '../../services/waitUntil.ts';

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const waitMs = 10_000;

class Lines extends Writable {
  readonly lines: string[] = [];
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.lines.push(chunk.toString().trimEnd());
    done();
  }
}

test('records are shown beside the writer: Avro, JSON, text, bytes, nulls; the last ones, all, and those to come', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-tail-'));
  const broker = await EmbeddedBroker.open(dir, silent);
  const registry = EmbeddedRegistry.open(dir, silent);
  const reader = await EmbeddedBroker.openReader(dir, silent);
  const readerRegistry = EmbeddedRegistry.reader(dir);
  t.after(async () => {
    await readerRegistry.close();
    await reader.close();
    await registry.close();
    await broker.close();
    await rm(dir, { recursive: true, force: true });
  });
  await broker.admin().createTopics([{ name: 't', partitions: 1, replicationFactor: -1 }]);
  const id = await registry.register('t-value', '{"type":"record","name":"R","fields":[{"name":"a","type":"long"}]}');
  const avro = Buffer.from([0, 0, 0, 0, id, 84]);
  const producer = broker.producer({ clientId: 'p' });
  let time = 1000;
  const send = async (key: Buffer | null, value: Buffer | null, headers = noHeaders): Promise<void> => {
    const batch = new RecordBatchBuilder('t', 0, time);
    const none = Buffer.alloc(0);
    const [keyStart, valueStart] = [key === null ? -1 : 0, value === null ? -1 : 0];
    batch.append(
      time++,
      key ?? none,
      keyStart,
      key?.length ?? -1,
      value ?? none,
      valueStart,
      value?.length ?? -1,
      headers,
    );
    await producer.send([batch.finish()]);
  };
  await send(null, avro);
  await send(Buffer.from('k'), Buffer.from('{"schema":{"type":"int64"},"payload":12345678901234567890}'));
  await send(Buffer.from('5'), Buffer.from([0xff, 0xfe]), encodeHeaders([{ name: 'h', value: Buffer.from('v') }]));
  await send(Buffer.from('gone'), null);

  const shown = async (options: Partial<TailOptions>): Promise<string[]> => {
    const output = new Lines();
    const tail = { topic: 't', fromBeginning: false, count: null, follow: false, ...options };
    await tailTopic(reader, new RecordText(readerRegistry), tail, output, new AbortController().signal);
    return output.lines;
  };
  const all = [
    '{"partition":0,"offset":0,"timestamp":"1970-01-01T00:00:01.000Z","key":null,"value":{"a":42}}',
    '{"partition":0,"offset":1,"timestamp":"1970-01-01T00:00:01.001Z","key":"k","value":12345678901234567890}',
    '{"partition":0,"offset":2,"timestamp":"1970-01-01T00:00:01.002Z","headers":{"h":"v"},"key":5,"value":{"base64":"//4="}}',
    '{"partition":0,"offset":3,"timestamp":"1970-01-01T00:00:01.003Z","key":"gone","value":null}',
  ];
  assert.deepEqual(await shown({}), all);
  assert.deepEqual(await shown({ count: 1 }), all.slice(-1));
  assert.deepEqual(await shown({ count: 2, fromBeginning: true }), all.slice(0, 2));
  await assert.rejects(shown({ topic: 'nope' }), { code: 'BROKER_TOPIC_UNKNOWN' });

  const end = new AbortController();
  const output = new Lines();
  const options = { topic: 't', fromBeginning: false, count: 1, follow: true };
  const following = tailTopic(reader, new RecordText(null), options, output, end.signal);
  await waitUntil('the last record is shown', waitMs, () => output.lines.length === 1);
  await send(null, Buffer.from('new'));
  await waitUntil('the new record is shown', waitMs, () => output.lines.length === 2);
  end.abort();
  await following;
  assert.match(output.lines[1]!, /"offset":4,.*"value":"new"/);
  await producer.close();
});
