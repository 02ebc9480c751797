/** event.format=journal over the recorded segments, through the file sink: files equal to the recorded events. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { JournalFileSinkTask } from '../../../connectors/firebird/journalFileSink/journalFileSink.ts';
import type {
  ConnectRecord,
  SinkBatch,
  SinkTaskContext,
  SourceOffset,
  TopicPartition,
} from '../../../runtime/api/index.ts';
import { STRING } from '../../../schemas/data/index.ts';
import { parseJson } from '../../../schemas/json/exactJson.ts';
import { FIXTURE_VERSIONS, fixtureSegments } from './fixtureSegments.ts';
import { FixtureStream } from './fixtureStream.ts';

const TOPIC = 'p';

function sinkBatch(records: readonly ConnectRecord[], from: number): SinkBatch {
  return {
    topic: TOPIC,
    partition: 0,
    keySchema: null,
    valueSchema: STRING,
    count: records.length,
    byteLength: 0,
    offset: index => from + index,
    timestamp: () => 0,
    record: index => ({ ...records[index]!, originalTopic: TOPIC, originalPartition: 0, originalOffset: from + index }),
  };
}

for (const version of FIXTURE_VERSIONS) {
  test(`${version}: one file per segment, equal to what is recorded, also over a restart in the middle`, async () => {
    const source = new FixtureStream(version);
    source.add();
    await source.open(null, { 'event.format': 'journal' });
    await source.drain();
    const { records } = source;
    assert.ok(records.length > 8);
    assert.ok(records.every(record => record.topic === TOPIC && record.partition === 0));
    await source.close();

    const directory = mkdtempSync(join(tmpdir(), 'files-'));
    const partition: TopicPartition = { topic: TOPIC, partition: 0 };
    const start = async (): Promise<JournalFileSinkTask> => {
      const task = new JournalFileSinkTask();
      await task.start({ 'output.dir': directory }, {} as SinkTaskContext);
      return task;
    };
    const first = await start();
    const half = records.length >> 1;
    await first.put([sinkBatch(records.slice(0, half), 0)]);
    const committed = (await first.preCommit(new Map([[partition, half]]))).get(partition)!;
    assert.ok(committed < half, 'events of the unfinished file are read again');
    await first.stop();
    assert.ok(
      readdirSync(directory).every(name => name.endsWith('.json')),
      'no unfinished file stays',
    );
    const second = await start();
    for (let at = committed; at < records.length; at += 3) {
      await second.put([sinkBatch(records.slice(at, at + 3), at)]);
    }
    const files = readdirSync(directory)
      .filter(name => name.endsWith('.json'))
      .sort();
    assert.equal(files.length, 7, 'the last segment may go on');
    for (const [i, name] of files.entries()) {
      const expected = parseJson(readFileSync(`${fixtureSegments(version)[i]}.json`, 'utf8'));
      assert.deepEqual(parseJson(readFileSync(join(directory, name), 'utf8')), expected);
    }
    await second.stop();
    rmSync(directory, { recursive: true });
  });
}

test('a restart of the source in the middle goes on with the next event', async () => {
  const whole = new FixtureStream('v5');
  await whole.open(null, { 'event.format': 'journal' });
  for (let i = 0; i < 8; i++) {
    whole.add(i, i + 1);
    await whole.drain();
  }
  const { offset, records } = whole.recordOffsets[3]!;
  const rest = new FixtureStream('v5');
  rest.add();
  await rest.open(JSON.parse(JSON.stringify(offset)) as SourceOffset, { 'event.format': 'journal' }, whole.positions);
  await rest.drain();
  const events = (of: readonly ConnectRecord[]): unknown[] =>
    of.flatMap(record => (parseJson(record.value as string) as unknown as { events: unknown[] }).events);
  assert.deepEqual(events(rest.records), events(whole.records.slice(records)));
  assert.ok(rest.records.length > 0);
  await rest.close();
  await whole.close();
});

test('DDL, sequences and blobs can be left out', async () => {
  const source = new FixtureStream('v5');
  source.add();
  const options = {
    'event.format': 'journal',
    'include.ddl': 'false',
    'include.sequences': 'false',
    'dump.blobs': 'false',
  };
  await source.open(null, options);
  await source.drain();
  const text = source.records.map(record => record.value).join();
  assert.doesNotMatch(text, /"event": "(EXECUTE SQL|SET SEQUENCE|STORE BLOB)"/);
  assert.match(text, /"event": "INSERT"/);
  await source.close();
});
