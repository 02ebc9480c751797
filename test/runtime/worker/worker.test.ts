import assert from 'node:assert/strict';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { TestWorker, until } from './testWorker.ts';

test('lines of a file go through a topic into a file, and go on after a restart', async t => {
  const w = await TestWorker.start(t);
  const input = join(w.dir, 'in.txt');
  const output = join(w.dir, 'out.txt');
  await writeFile(input, 'first\nsecond line\n\n');
  const source = await w.run('source', { 'connector.class': 'FileStreamSource', file: input, topic: 'lines' });
  const sink = await w.run('sink', { 'connector.class': 'FileStreamSink', file: output, topics: 'lines' });
  const holds = (text: string): Promise<void> =>
    until(
      async () => (await readFile(output, 'utf8').catch(() => '')) === text,
      () => `not ${JSON.stringify(text)}`,
    );
  await w.waitState(source, 'RUNNING');
  await w.waitState(sink, 'RUNNING');
  await holds('first\nsecond line\n\n');
  await appendFile(input, 'grün\nno end yet');
  await holds('first\nsecond line\n\ngrün\n');
  const offsets = (): Promise<unknown> => w.worker.sourceOffsets('source', { 'connector.class': 'FileStreamSource' });
  const expected = [{ partition: { filename: input }, offset: { position: 25 } }];
  await until(
    async () => JSON.stringify(await offsets()) === JSON.stringify(expected),
    () => 'no offset',
  );

  await w.worker.stopTasks([source, sink]);
  assert.equal(w.state(source), 'UNASSIGNED');
  await w.worker.close();
  await w.open();
  await appendFile(input, ' but now\n');
  await w.run('source', { 'connector.class': 'FileStreamSource', file: input, topic: 'lines' });
  await w.run('sink', { 'connector.class': 'FileStreamSink', file: output, topics: 'lines' });
  await holds('first\nsecond line\n\ngrün\nno end yet but now\n');
  assert.ok(w.topics.has('source lines') && w.topics.has('sink lines'));
});
