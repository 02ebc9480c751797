/** Changes of a PostgreSQL table come to a collection, through a worker that is killed in between. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type MongoTarget, openMongoTarget, serverUrl } from '../connectors/mongodb/mongoTarget.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { Bench } from './badInput.ts';

const TIMEOUT_MS = 60_000;
const TOPIC = 'doc.public.doc';

let bench: Bench;
let target: MongoTarget;
before(async () => {
  bench = await Bench.start();
  target = await openMongoTarget();
});
after(async () => {
  await bench?.close();
  await target?.[Symbol.asyncDispose]();
});

const rows = async (): Promise<unknown[]> =>
  (await bench.source('SELECT id, v FROM doc ORDER BY id')).map(({ id, v }) => [id, id, v]);
const documents = async (): Promise<unknown[]> =>
  (await target.db.collection<{ _id: number; id: number; v: string }>(TOPIC).find().sort({ _id: 1 }).toArray()).map(
    ({ _id, id, v }) => [_id, id, v],
  );
const isEqual = async (): Promise<boolean> => JSON.stringify(await documents()) === JSON.stringify(await rows());

test('a table and its changes become documents, also when the worker is killed', { timeout: 240_000 }, async () => {
  await bench.startSource('doc', {}, 2000);
  await bench.worker.createConnector('doc-sink', {
    'connector.class': 'com.mongodb.kafka.connect.MongoSinkConnector',
    topics: TOPIC,
    'connection.uri': serverUrl,
    database: target.db.databaseName,
    'delete.on.null.values': 'true',
    'consumer.override.metadata.max.age.ms': '500',
  });
  await waitUntil('the rows of the snapshot are there', TIMEOUT_MS, isEqual);
  for (let round = 0; round < 3; round++) {
    await bench.source(`UPDATE doc SET v = v || ${round} WHERE id % 3 = ${round}`);
    await bench.source(`DELETE FROM doc WHERE id % 50 = ${round}`);
    await bench.source(
      `INSERT INTO doc SELECT i, 'new' FROM generate_series(${3000 + round * 100}, ${3050 + round * 100}) i`,
    );
    if (round !== 1) continue;
    await bench.worker.kill();
    await bench.worker.restart();
  }
  await waitUntil('the changes are there', TIMEOUT_MS, isEqual);
  assert.deepEqual(await bench.worker.failures(), []);
  assert.deepEqual(bench.worker.complaints, []);
});

test('a connector for a server that does not answer is refused, with the key to change', async () => {
  const answer = await bench.refused('nowhere', {
    'connector.class': 'millrace.MongoDbSink',
    topics: TOPIC,
    'connection.uri': 'mongodb://loader:s3cr3t@127.0.0.1:1/',
    database: 'shop',
  });
  assert.match(answer.message, /MongoDB at 127\.0\.0\.1:1.*connection\.uri/s);
  assert.doesNotMatch(answer.message, /s3cr3t/);
});
