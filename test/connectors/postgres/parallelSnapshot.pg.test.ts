/** A snapshot that several connections read: every row once, of one moment, with the stream joining where it ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Struct } from '../../../schemas/data/index.ts';
import { PG15_URL, PG18_URL, SourceHarness } from './sourceHarness.ts';

const ROWS = 60_000;

for (const [version, url] of [
  ['18', PG18_URL],
  ['15', PG15_URL],
] as const) {
  test(`three connections read large and small tables, PostgreSQL ${version}`, { timeout: 60_000 }, async t => {
    const harness = await SourceHarness.open(t, url);
    await harness.script(`
      CREATE TABLE a_small (id integer PRIMARY KEY, v integer);
      INSERT INTO a_small VALUES (1, 0), (2, 0);
      CREATE TABLE big (id integer PRIMARY KEY, v integer, filler text);
      INSERT INTO big SELECT i, 0, repeat('x', 800) FROM generate_series(1, ${ROWS}) i;
      CREATE TABLE c_empty (id integer PRIMARY KEY);
      CREATE TABLE d_small (id integer PRIMARY KEY, v integer);
      INSERT INTO d_small SELECT i, 0 FROM generate_series(1, 10) i;
      CREATE TABLE e_empty (id integer PRIMARY KEY);`);
    await harness.start({ 'snapshot.max.threads': '3' });
    await harness.poll();
    // The snapshot has its moment by now: what changes here comes as changes.
    await harness.sql.query(
      `UPDATE big SET v = 1 WHERE id % 100 = 0; DELETE FROM d_small WHERE id = 1; INSERT INTO big VALUES (0, 9, '')`,
    );
    await harness.pollUntil(ROWS + 12 + ROWS / 100 + 3);

    const markers = new Map<string, string[]>();
    const seen = new Map<string, number>();
    const last: string[] = [];
    for (const record of harness.records) {
      if (!(record.value instanceof Struct) || record.value.get('op') !== 'r') continue;
      const id = `${record.topic} ${(record.key as Struct).values[0]}`;
      seen.set(id, (seen.get(id) ?? 0) + 1);
      const marker = String((record.value.get('source') as Struct).get('snapshot'));
      last.push(marker);
      const table = record.topic.split('.').at(-1)!;
      if (marker !== 'true') markers.set(table, [...(markers.get(table) ?? []), marker]);
      if (table === 'big') assert.equal((record.value.get('after') as Struct).get('v'), 0);
    }
    assert.equal(seen.size, ROWS + 12);
    assert.ok([...seen.values()].every(count => count === 1));
    assert.equal(last.at(-1), 'last');
    const all = [...markers.values()].flat().sort();
    assert.deepEqual(all, [
      'first',
      'first_in_data_collection',
      'first_in_data_collection',
      'last',
      'last_in_data_collection',
      'last_in_data_collection',
    ]);
    assert.equal(markers.size, 3);
    assert.equal(
      harness.records.filter(r => r.value instanceof Struct && r.value.get('op') === 'u').length,
      ROWS / 100,
    );
  });
}

test('a reader that fails ends the snapshot with its error, and the next one begins again', {
  timeout: 60_000,
}, async t => {
  const harness = await SourceHarness.open(t);
  await harness.script(`
    CREATE TABLE big (id integer PRIMARY KEY, filler text);
    INSERT INTO big SELECT i, repeat('x', 800) FROM generate_series(1, ${ROWS}) i;`);
  const options = { 'snapshot.max.threads': '3', 'snapshot.fetch.size': '100' };
  await harness.start(options);
  await harness.poll();
  const { rows } = await harness.sql.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'millrace snapshot%' ORDER BY pid LIMIT 1`,
  );
  assert.equal(rows.length, 1);
  await assert.rejects(async () => {
    for (;;) await harness.poll();
  });
  await harness.commit();
  await harness.stop();
  harness.records.length = 0;
  await harness.start(options);
  await harness.pollUntil(ROWS);
  assert.equal(new Set(harness.records.map(record => (record.key as Struct).values[0])).size, ROWS);
});
