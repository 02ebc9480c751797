/** Changes of a PostgreSQL database in an index, through a worker that is killed on the way. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ElasticTarget, servers } from '../connectors/elasticsearch/elasticTarget.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { Bench } from './badInput.ts';

const TIMEOUT_MS = 60_000;
const ROUNDS = 60;

let bench: Bench;
let target: ElasticTarget;
before(async () => {
  target = new ElasticTarget(servers[0]![1]);
  bench = await Bench.start();
});
after(async () => {
  await bench?.close();
  await target?.[Symbol.asyncDispose]();
});

test('an index holds what the table holds, whatever is killed', async () => {
  const prefix = target.newName();
  const index = `${prefix}.public.orders`;
  await bench.source('CREATE TABLE orders (region text, id bigint, qty int, note text, PRIMARY KEY (region, id))');
  // Long values that an update leaves alone are not in its event.
  await bench.source('ALTER TABLE orders ALTER COLUMN note SET STORAGE EXTERNAL');
  await bench.source("INSERT INTO orders SELECT 'eu', i, 0, repeat('n', 5000) FROM generate_series(1, 500) i");
  await bench.worker.createConnector('orders-source', {
    ...bench.sourceConfig('orders'),
    'topic.prefix': prefix,
  });
  await bench.worker.createConnector('orders-sink', {
    ...target.connection,
    'connector.class': 'ElasticsearchSink',
    topics: index,
    'consumer.override.metadata.max.age.ms': '500',
    'batch.size': '100',
  });
  await waitUntil('the snapshot is there', TIMEOUT_MS, async () => {
    assert.deepEqual(await bench.worker.failures(), []);
    return (await target.documents(index)).size === 500;
  });

  for (let round = 1; round <= ROUNDS; round++) {
    await bench.source(`UPDATE orders SET qty = ${round} WHERE id % 7 = ${round % 7}`);
    await bench.source(`DELETE FROM orders WHERE id = ${round * 3}`);
    await bench.source(`INSERT INTO orders VALUES ('us', ${round}, ${round}, 'new')`);
    if (round % 5 === 0) await bench.source(`UPDATE orders SET id = id + 100000 WHERE region = 'us' AND id = ${round}`);
    if (round % 25 === 0) {
      await bench.worker.kill();
      await bench.worker.restart();
    }
  }

  const rows = await bench.source('SELECT region, id::text, qty, note FROM orders');
  const wanted = new Map(rows.map(row => [`${row.region}|${row.id}`, row]));
  await waitUntil('the index is as the table', TIMEOUT_MS, async () => {
    assert.deepEqual(await bench.worker.failures(), []);
    const documents = await target.documents(index);
    return (
      documents.size === wanted.size &&
      [...documents].every(([id, { qty, note }]) => wanted.get(id)?.qty === qty && wanted.get(id)?.note === note)
    );
  });
  assert.deepEqual(bench.worker.complaints, []);
});

test('a config that names no server is refused, with the key', async () => {
  const refused = bench.worker.createConnector('nowhere', {
    'connector.class': 'io.confluent.connect.elasticsearch.ElasticsearchSinkConnector',
    topics: 'x',
    'connection.url': 'http://127.0.0.1:1',
  });
  await assert.rejects(refused, /400 .*SINK_UNAVAILABLE.*connection\.url/);
});
