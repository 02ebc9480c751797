import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../../runtime/api/index.ts';
import type { TaskId } from '../../../runtime/worker/types.ts';
import { TestWorker, until } from './testWorker.ts';

const records = 10_000;

test('threads that end at random moments lose nothing, and keep the order', async t => {
  const w = await TestWorker.start(t, { 'task.threads': '2', 'offset.flush.interval.ms': '20' });
  const output = join(w.dir, 'out.txt');
  const source: Config = { 'connector.class': 'CountingSource', topic: 't', count: String(records), batch: '25' };
  const sink: Config = { 'connector.class': 'FileStreamSink', topics: 't', file: output };
  const configs = { source, sink };
  const ids: TaskId[] = [await w.run('source', source), await w.run('sink', sink)];
  let deaths = 0;
  const lines = async (): Promise<string[]> =>
    (await readFile(output, 'utf8').catch(() => '')).split('\n').slice(0, -1);
  const last = `v${records - 1}`;
  for (let done = false; !done; ) {
    await delay(30 + Math.random() * 150);
    done = (await lines()).includes(last);
    if (!done && deaths < 6 && (await w.worker.terminateThreadOf(ids[deaths % 2]!))) deaths++;
    for (const id of ids) {
      if (w.state(id) === 'FAILED') await w.run(id.connector, configs[id.connector as keyof typeof configs]);
    }
  }
  assert.ok(deaths >= 3, `only ${deaths} threads ended`);
  await until(
    async () => (await w.worker.sourceOffsets('source', source))[0]?.offset.next === records,
    () => 'no offset',
  );
  const firstSeen = [...new Set((await w.read('t', records)).map(r => r.value))];
  const expected = Array.from({ length: records }, (_, i) => `v${i}`);
  assert.deepEqual(firstSeen, expected, 'the topic has every record, new ones in order');
  assert.deepEqual([...new Set(await lines())], expected, 'the sink has every record');
});
