import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FileStreamSourceConnector, FileStreamSourceTask } from '../../../connectors/file/fileSource.ts';
import type { Logger, SourceOffset, SourceTaskContext } from '../../../runtime/api/index.ts';

const quiet: Logger = { error() {}, warn() {}, info() {}, debug() {} };

async function started(t: TestContext, content: string | null, offset: SourceOffset | null = null) {
  const dir = await mkdtemp(join(tmpdir(), 'file-source-'));
  const file = join(dir, 'in.txt');
  if (content !== null) await writeFile(file, content);
  const task = new FileStreamSourceTask();
  const config = { file, topic: 't', 'batch.size': '2' };
  const context: SourceTaskContext = {
    connectorName: 'c',
    taskId: 0,
    config,
    logger: quiet,
    signal: new AbortController().signal,
    metrics: { gauge() {}, count() {} },
    offsets: { offset: async () => offset },
  };
  await task.start(config, context);
  t.after(async () => {
    await task.stop();
    await rm(dir, { recursive: true });
  });
  /** Lines and the last position, once there are `count`. */
  const lines = async (count: number): Promise<[string[], unknown]> => {
    const found: string[] = [];
    let position: unknown = null;
    const deadline = Date.now() + 5000;
    while (found.length < count) {
      assert.ok(Date.now() < deadline, `only ${found.length} lines`);
      for (const batch of await task.poll()) {
        for (let i = 0; i < batch.count; i++) found.push(batch.record(i).value as string);
        position = batch.sourceOffset?.position;
      }
    }
    return [found, position];
  };
  return { file, task, lines };
}

test('a file is followed as it grows, from a stored position', async t => {
  const { file, lines } = await started(t, 'one\ntwo\nthree\nfo', { position: 4 });
  assert.deepEqual(await lines(2), [['two', 'three'], 14]);
  await appendFile(file, 'ur\n');
  assert.deepEqual(await lines(1), [['four'], 19]);
});

test('a file that is made later is found', async t => {
  const { file, task, lines } = await started(t, null);
  assert.deepEqual(await task.poll(), []);
  await writeFile(file, 'there\n');
  assert.deepEqual(await lines(1), [['there'], 6]);
});

test('a file that was cut is read from its beginning', async t => {
  const { file, lines } = await started(t, 'one\ntwo\nthree\n');
  await lines(3);
  await writeFile(file, 'new\n');
  assert.deepEqual(await lines(1), [['new'], 4]);
});

test('offsets that make no sense are refused, resets never', () => {
  const connector = new FileStreamSourceConnector();
  const config = { file: 'f', topic: 't' };
  const filename = { filename: 'f' };
  assert.equal(connector.alterOffsets(config, [[filename, { position: 5n }]]), true);
  assert.equal(connector.alterOffsets(config, [[null, null]]), true);
  for (const [partition, offset, message] of [
    [null, { position: 1 }, /cannot be null/],
    [{ a: 1 }, { position: 1 }, /should contain the key 'filename'/],
    [filename, { a: 1 }, /contain the key 'position'/],
    [filename, { position: 1.5 }, /expected to be a Long/],
    [filename, { position: '1' }, /expected to be a Long/],
    [filename, { position: -1n }, /non-negative/],
  ] as const) {
    assert.throws(() => connector.alterOffsets(config, [[partition, offset]]), { code: 'OFFSETS_INVALID', message });
  }
  assert.throws(() => connector.alterOffsets({ topic: 't' }, [[filename, { position: 1 }]]), /standard input/);
});
