/** Signals from a topic, blocking snapshots, and what is told of them, on a real server and the embedded broker. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ConnectRecord } from '../../../runtime/api/index.ts';
import { EmbeddedBroker } from '../../../runtime/broker/embedded/embeddedBroker.ts';
import { LiveTopic } from '../../../runtime/worker/source/liveTopic.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { produce } from '../../contract/contractTools.ts';
import { SourceHarness } from './sourceHarness.ts';

const TOPIC = 'signals';
const quiet = { error() {}, warn() {}, info() {}, debug() {} };

interface Signals {
  readonly broker: EmbeddedBroker;
  send(key: string, value: unknown): Promise<void>;
}

/** A harness whose source reads signals of a topic of an embedded broker. */
async function opened(t: TestContext, sql: string): Promise<{ harness: SourceHarness; signals: Signals }> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-signals-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const broker = await EmbeddedBroker.open(dir, quiet);
  t.after(() => broker.close());
  const harness = await SourceHarness.open(t);
  await harness.script(sql);
  harness.followTopic = (topic, from) => LiveTopic.open(broker, { topic, from, name: 'test' });
  const send = (key: string, value: unknown): Promise<void> =>
    produce(broker, TOPIC, 0, [{ key, value: typeof value === 'string' ? value : JSON.stringify(value) }]);
  return { harness, signals: { broker, send } };
}

const options = {
  'snapshot.mode': 'no_data',
  'table.include.list': 'public\\..*',
  'signal.enabled.channels': 'source,kafka',
  'signal.kafka.topic': TOPIC,
  'notification.enabled.channels': 'sink',
  'notification.sink.topic.name': 'told',
  'incremental.snapshot.chunk.size': '2',
};

const fieldOf = (struct: unknown, name: string): unknown => (struct as Struct).get(name);
const eventsOf = (harness: SourceHarness, table: string): readonly ConnectRecord[] =>
  harness.records.filter(record => record.topic === `${harness.name}.public.${table}`);
/** Each as `op key` or `op key marker`. */
const shortOf = (record: ConnectRecord): string => {
  const marker = fieldOf(fieldOf(record.value, 'source'), 'snapshot');
  const text = `${fieldOf(record.value, 'op')} ${fieldOf(record.key, 'id')}`;
  return marker === null || marker === 'false' ? text : `${text} ${marker}`;
};
const told = (harness: SourceHarness): readonly string[] =>
  harness.records
    .filter(({ topic }) => topic === 'told')
    .map(({ value }) => `${fieldOf(value, 'aggregate_type')} ${fieldOf(value, 'type')}`);

test('an incremental snapshot by a record of the topic, once, whatever restarts', { timeout: 60_000 }, async t => {
  const { harness, signals } = await opened(
    t,
    'CREATE TABLE item (id integer PRIMARY KEY, v integer); INSERT INTO item SELECT i, i FROM generate_series(1, 5) i;',
  );
  await signals.broker.admin().createTopics([{ name: TOPIC, partitions: 1, replicationFactor: 1 }]);
  const request = { id: 'mine', type: 'execute-snapshot', data: { 'data-collections': ['public.item'] } };
  // from before the connector: not for it
  await signals.send(harness.name, request);
  await harness.start(options);
  await harness.pollUntilStreaming();
  await harness.script('INSERT INTO item VALUES (6, 6)');
  await harness.pollWhile(async () => eventsOf(harness, 'item').length < 1);
  await harness.commit();
  await harness.stop();
  // while it is down; others are for other connectors, or malformed
  await signals.send('another', request);
  await signals.send(harness.name, 'no JSON');
  await signals.send(harness.name, request);
  await harness.start(options);
  await harness.pollWhile(async () => eventsOf(harness, 'item').length < 7);
  await harness.pollWhile(
    async () => !told(harness).some(text => text.endsWith('COMPLETED') && !text.includes('SCAN')),
  );
  await harness.commit();
  await harness.stop();
  await harness.start(options);
  await harness.script('INSERT INTO item VALUES (7, 7)');
  await harness.pollWhile(async () => eventsOf(harness, 'item').length < 8);
  assert.deepEqual(eventsOf(harness, 'item').map(shortOf), [
    'c 6',
    ...[1, 2, 3, 4, 5, 6].map(id => `r ${id} incremental`),
    'c 7',
  ]);
  assert.match(harness.warnings.join(), /a signal is not followed/);
  assert.deepEqual(
    told(harness).filter(text => !text.startsWith('Initial')),
    ['STARTED', 'IN_PROGRESS', 'IN_PROGRESS', 'TABLE_SCAN_COMPLETED', 'COMPLETED'].map(
      type => `Incremental Snapshot ${type}`,
    ),
  );
  const scanned = harness.records.find(
    ({ topic, value }) => topic === 'told' && fieldOf(value, 'type') === 'TABLE_SCAN_COMPLETED',
  )!;
  assert.equal(fieldOf(scanned.key, 'id'), 'mine');
  assert.deepEqual(Object.fromEntries(fieldOf(scanned.value, 'additional_data') as Map<string, string>), {
    data_collections: 'public.item',
    scanned_collection: 'public.item',
    total_rows_scanned: '6',
    status: 'SUCCEEDED',
    connector_name: harness.name,
  });
});

test('a blocking snapshot: the stream waits, its offset too, and a restart meets the signal again', {
  timeout: 60_000,
}, async t => {
  const { harness } = await opened(
    t,
    `CREATE TABLE signals (id text PRIMARY KEY, type text, data text);
     CREATE TABLE item (id integer PRIMARY KEY, v integer);
     CREATE TABLE other (id integer PRIMARY KEY, v integer);
     INSERT INTO item SELECT i, i FROM generate_series(1, 5) i;
     INSERT INTO other VALUES (1, 1);`.replaceAll('\n     ', '\n'),
  );
  const all = {
    ...options,
    'table.include.list': 'public\\.(item|other)',
    'signal.data.collection': 'public.signals',
  };
  await harness.start(all);
  await harness.pollUntilStreaming();
  const request = JSON.stringify({
    type: 'blocking',
    'data-collections': ['public.item', 'public.other'],
    'additional-conditions': [{ 'data-collection': 'public.item', filter: 'id > 2' }],
  });
  await harness.sql.query('BEGIN');
  await harness.sql.query('INSERT INTO item VALUES (6, 6)');
  await harness.sql.query("INSERT INTO signals VALUES ('s', 'execute-snapshot', $1)", [request]);
  await harness.sql.query('COMMIT');
  const isReading = (): boolean => eventsOf(harness, 'item').some(record => shortOf(record).startsWith('r'));
  await harness.pollWhile(async () => !isReading());
  // What was handed out before the end of the snapshot has no offset: a crash here.
  assert.equal(harness.offset, null);
  await harness.stop();
  harness.records.length = 0;
  await harness.start(all);
  await harness.pollWhile(async () => eventsOf(harness, 'other').length === 0);
  await harness.script('INSERT INTO item VALUES (7, 7)');
  await harness.pollWhile(async () => !eventsOf(harness, 'item').some(record => shortOf(record) === 'c 7'));
  await harness.commit();
  assert.deepEqual(eventsOf(harness, 'item').map(shortOf), [
    'c 6',
    'r 3 first',
    'r 4 true',
    'r 5 true',
    'r 6 last_in_data_collection',
    'c 7',
  ]);
  assert.deepEqual(eventsOf(harness, 'other').map(shortOf), ['r 1 last']);
  assert.deepEqual(told(harness).slice(-4), [
    'Initial Snapshot STARTED',
    'Initial Snapshot TABLE_SCAN_COMPLETED',
    'Initial Snapshot TABLE_SCAN_COMPLETED',
    'Initial Snapshot COMPLETED',
  ]);
  await harness.stop();
  harness.records.length = 0;
  await harness.start(all);
  await harness.script('INSERT INTO item VALUES (8, 8)');
  await harness.pollWhile(async () => eventsOf(harness, 'item').length === 0);
  assert.deepEqual(eventsOf(harness, 'item').map(shortOf), ['c 8']);

  // a condition that the server refuses stops nothing
  const wrong = request.replace('id > 2', 'nothing > 2');
  await harness.sql.query("INSERT INTO signals VALUES ('t', 'execute-snapshot', $1)", [wrong]);
  await harness.script('INSERT INTO item VALUES (9, 9)');
  await harness.pollWhile(async () => !eventsOf(harness, 'item').some(record => shortOf(record) === 'c 9'));
  await harness.pollWhile(async () => !harness.warnings.includes('the snapshot is given up'));
  assert.equal(told(harness).at(-1), 'Initial Snapshot ABORTED');
});
