/** What a sink writes under an origin, a source of the same database leaves out: two databases can follow each other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';
import { INT32, Struct, struct } from '../../../../schemas/data/index.ts';
import { avroSinkBatch } from '../../../contract/sinkBatches.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import { PG18_URL, SourceHarness } from '../sourceHarness.ts';

const keySchema = struct([['id', INT32]], { name: 'origin.Key' });
const valueSchema = struct(
  [
    ['id', INT32],
    ['v', INT32],
  ],
  { name: 'origin.Row' },
);

test('a source with publish.origin=none does not see what a sink with replication.origin writes', async t => {
  const harness = await SourceHarness.open(t);
  await harness.script('CREATE TABLE item (id integer PRIMARY KEY, v integer)');
  await harness.start({ 'snapshot.mode': 'no_data', 'publish.origin': 'none' });
  await harness.pollUntilStreaming();
  const origin = `${harness.name}_origin`;
  const run = await startSink(sinkPlugin.createTask(), {
    'connection.url': `${PG18_URL}/${harness.name}`,
    'table.name.format': 'item',
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'replication.origin': origin,
  });
  const rows = [1, 2, 3].map(id => ({
    key: new Struct(keySchema, [id]),
    value: new Struct(valueSchema, [id, id]),
  }));
  await run.deliver(await avroSinkBatch({ topic: 'item', firstOffset: 0, keySchema, valueSchema }, rows));
  await harness.script('UPDATE item SET v = 10 WHERE id = 2');
  await harness.pollUntil(1);
  await run[Symbol.asyncDispose]();
  assert.deepEqual(
    harness.records.map(({ key }) => (key as Struct).values),
    [[2]],
  );
  const { rows: seen } = await harness.sql.query('SELECT id, v FROM item ORDER BY id');
  assert.deepEqual(seen, [
    { id: 1, v: 1 },
    { id: 2, v: 10 },
    { id: 3, v: 3 },
  ]);
  await harness.sql.query(
    'SELECT pg_replication_origin_drop(roname) FROM pg_replication_origin WHERE starts_with(roname, $1)',
    [origin],
  );
});
