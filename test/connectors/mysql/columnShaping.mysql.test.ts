/** Masks, hashes and cuts are of the text that a value is published as, whatever form it has in rows: of the log, and of a snapshot. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MysqlHarness, plain } from './mysqlHarness.ts';

test('ENUM and TIMESTAMP values are cut and hashed as texts, from snapshot and log alike', async t => {
  const harness = await MysqlHarness.open(t);
  const row = "'returned', 'returned', '2024-05-06 07:08:09.5', 'grüße'";
  await harness.sql.query(
    `CREATE TABLE t (id int PRIMARY KEY, e enum('new', 'returned'), h enum('new', 'returned'), ts timestamp(1), v varchar(20));
     INSERT INTO t VALUES (1, ${row})`,
  );
  const table = `${harness.name}\\.t`;
  await harness.start({
    'column.truncate.to.3.chars': `${table}\\.(e|ts|v)`,
    'column.mask.hash.SHA-256.with.salt.x': `${table}\\.h`,
  });
  await harness.pollUntilStreaming();
  await harness.sql.query(`INSERT INTO t VALUES (2, ${row})`);
  const rows = (await harness.pollUntil(2)).map(record => {
    const { id: _, ...values } = (plain(record.value) as { after: Record<string, unknown> }).after;
    return values;
  });
  assert.deepEqual(rows[1], rows[0]);
  const { h, ...cut } = rows[0]!;
  assert.deepEqual(cut, { e: 'ret', ts: '202', v: 'grü' });
  assert.match(String(h), /^[0-9a-f]{8,}$/);
});
