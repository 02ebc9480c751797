/** event.format=journal over the recorded segments, through the file sink: files equal to the recorded events. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
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
    originalTopic: TOPIC,
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

type Event = Readonly<Record<'event' | 'tnx' | 'blobId' | 'data' | 'table', unknown>>;

const eventsOf = (records: readonly ConnectRecord[]): readonly Event[] =>
  records.flatMap(record => (parseJson(record.value as string) as unknown as { events: Event[] }).events);

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

test('files are whole, wherever the source dies and begins again at its stored offset', async () => {
  const first = new FixtureStream('v5');
  first.add();
  await first.open(null, { 'event.format': 'journal' });
  await first.drainInSteps(2);
  const { records, recordOffsets, positions } = first;
  for (let end = 1; end < records.length; end += 5) {
    const stored = recordOffsets.findLast(of => of.records <= end)?.offset ?? null;
    const rest = new FixtureStream('v5');
    rest.add();
    await rest.open(stored, { 'event.format': 'journal' }, positions);
    await rest.drain();
    const directory = mkdtempSync(join(tmpdir(), 'files-'));
    const task = new JournalFileSinkTask();
    await task.start({ 'output.dir': directory }, {} as SinkTaskContext);
    await task.put([sinkBatch([...records.slice(0, end), ...rest.records], 0)]);
    await task.stop();
    const files = readdirSync(directory).sort();
    assert.equal(files.length, 7);
    for (const [i, name] of files.entries()) {
      const expected = parseJson(readFileSync(`${fixtureSegments('v5')[i]}.json`, 'utf8'));
      const actual = parseJson(readFileSync(join(directory, name), 'utf8'));
      assert.ok(isDeepStrictEqual(actual, expected), `${name}, where the source dies behind record ${end}`);
    }
    rmSync(directory, { recursive: true });
    await rest.close();
  }
  await first.close();
});

test('a restart of the source in the middle goes on with the next event', async () => {
  const whole = new FixtureStream('v5');
  await whole.open(null, { 'event.format': 'journal' });
  for (let i = 0; i < 8; i++) {
    whole.add(i, i + 1);
    await whole.drain();
  }
  assert.ok(whole.recordOffsets.length >= 8);
  for (const { offset, records } of whole.recordOffsets) {
    const rest = new FixtureStream('v5');
    rest.add();
    await rest.open(JSON.parse(JSON.stringify(offset)) as SourceOffset, { 'event.format': 'journal' }, whole.positions);
    await rest.drain();
    assert.ok(
      isDeepStrictEqual(eventsOf(rest.records), eventsOf(whole.records.slice(records))),
      JSON.stringify(offset),
    );
    await rest.close();
  }
  await whole.close();
});

test('of tables that are left out nothing is published, blobs least of all', async () => {
  const options = { 'event.format': 'journal', 'table.exclude.list': 'NOTES' };
  const without = new FixtureStream('v5');
  without.add();
  await without.open(null, options);
  await without.drain();
  const all = new FixtureStream('v5');
  all.add();
  await all.open(null, { 'event.format': 'journal' });
  await all.drain();
  const blobs = (of: readonly ConnectRecord[]): string[] => {
    const found: string[] = [];
    const pending = new Map<unknown, string[]>();
    for (const { event, tnx, blobId, data, table } of eventsOf(of)) {
      if (event === 'STORE BLOB') pending.set(tnx, [...(pending.get(tnx) ?? []), `${blobId} ${data}`]);
      else if (table !== undefined) {
        if (table !== 'NOTES') found.push(...(pending.get(tnx) ?? []));
        pending.delete(tnx);
      }
    }
    return found;
  };
  assert.ok(blobs(all.records).length > 0);
  assert.deepEqual(blobs(without.records), blobs(all.records));
  const text = without.records.map(record => record.value).join();
  assert.equal(text.match(/STORE BLOB/g)!.length, blobs(all.records).length);
  assert.doesNotMatch(text, /"table": "NOTES"/);
  await without.close();
  await all.close();
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
