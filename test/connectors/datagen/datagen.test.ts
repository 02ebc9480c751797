import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatagenSourceConnector, DatagenSourceTask } from '../../../connectors/datagen/datagenSource.ts';
import { parseFields, rowShape } from '../../../connectors/datagen/fields.ts';
import { GeneratedBatch } from '../../../connectors/datagen/generatedBatch.ts';
import { quickstarts } from '../../../connectors/datagen/quickstarts.ts';
import type { Config, Logger, SourceOffset } from '../../../runtime/api/index.ts';
import { AvroConverter } from '../../../schemas/avro/avroConverter.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import type { SchemaRegistry } from '../../../schemas/registry/schemaRegistry.ts';

const quiet: Logger = { error() {}, warn() {}, info() {}, debug() {} };
const registry = { register: async () => 1 } as unknown as SchemaRegistry;
const settings = {
  isKey: false,
  subjectName: () => 's',
  autoRegisterSchemas: true,
  useLatestVersion: false,
  replaceNullWithDefault: true,
  scrubInvalidNames: false,
};

test('rows give the same Avro from bytes as from values', async () => {
  for (const fields of Object.values(quickstarts)) {
    const batch = new GeneratedBatch(
      't',
      rowShape('t', parseFields(fields)),
      { first: 2 ** 31 - 5, count: 100, keys: 0, stride: 3, start: 1 },
      { task: 0 },
    );
    for (const isKey of [true, false]) {
      const schema = isKey ? batch.keySchema : batch.valueSchema;
      const layout = isKey ? batch.wire.keyLayout : batch.wire.valueLayout;
      const encoder = await new AvroConverter({ ...settings, isKey }, registry).encoder('t', schema);
      const transcoder = encoder.transcoder(layout!);
      assert.ok(transcoder !== null, 'the fast path is there');
      transcoder.begin(batch.wire.rows);
      for (let i = 0; i < batch.count; i++) {
        const fast = new OutputBuffer();
        const plain = new OutputBuffer();
        assert.equal(transcoder.encode(i, fast), true);
        const record = batch.record(i);
        encoder.encode(isKey ? record.key : record.value, plain);
        assert.deepEqual(fast.written(), plain.written(), `${fields} record ${i}`);
      }
    }
  }
});

async function rows(config: Config, offset: SourceOffset | null = null): Promise<bigint[]> {
  const stop = new AbortController();
  const task = new DatagenSourceTask();
  await task.start(config, {
    connectorName: 'c',
    taskId: 0,
    config,
    logger: quiet,
    signal: stop.signal,
    metrics: { gauge() {}, count() {} },
    offsets: { offset: async () => offset },
  });
  const ids: bigint[] = [];
  for (let batches = await task.poll(); batches.length > 0; batches = await task.poll()) {
    for (const batch of batches) {
      for (let i = 0; i < batch.count; i++) ids.push((batch.record(i).key as Struct).values[0] as bigint);
    }
  }
  return ids;
}

test('tasks share out the rows; each key comes once', async () => {
  const connector = new DatagenSourceConnector();
  connector.start({ topic: 't', iterations: '101', 'batch.rows': '7' });
  const ids = (await Promise.all(connector.taskConfigs(4).map(config => rows(config)))).flat();
  assert.equal(ids.length, 101);
  assert.equal(new Set(ids).size, 101);
});

test('a task goes on from its offset, with keys that come again', async () => {
  const config = { topic: 't', iterations: '10', keys: '4' };
  assert.deepEqual(await rows(config, { row: 7 }), [3n, 0n, 1n]);
});

test('field lists are checked', () => {
  assert.throws(() => parseFields('id:long,x:what'), /type of "x" must be one of int, long/);
  assert.throws(() => parseFields('id:long,id:int'), /used twice/);
  assert.throws(() => parseFields('id:string'), /must be a long/);
  assert.throws(() => parseFields('1d:long'), /no usable name/);
});
