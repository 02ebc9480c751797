/**
 * The source under faults at random: the server killed, the task killed, both. Nothing committed is lost or out of order, nothing rolled back is published,
 * but for what the server itself journals as committed and has not committed when it is killed in between. FAULTS says how many.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, disconnect } from '../../../connectors/firebird/connection.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { crashFirebird, type FirebirdVersion, TestFirebird } from '../../services/localFirebird.ts';
import { type Change, FirebirdHarness } from './sourceHarness.ts';

const faults = Number(process.env.FAULTS ?? 30);

/** Works until it is told to stop, over lost connections. What it rolls back it marks. */
async function work(database: TestFirebird, client: number, isOver: () => boolean): Promise<void> {
  let connection: Database | null = null;
  for (let n = 0; !isOver(); n++) {
    try {
      connection ??= await database.connect();
      const transaction = await connection.transactionAsync();
      const isUndone = n % 4 === 3;
      for (let i = 0; i <= n % 7; i++) {
        const id = client * 100 + ((n * 7 + i) % 50);
        const text = isUndone ? 'rolled back' : `${client} ${n} ${'x'.repeat(n % 150)}`;
        if (n % 5 === 4) await transaction.queryAsync(`delete from W where ID = ${id}`);
        else await transaction.queryAsync(`update or insert into W (ID, V) values (${id}, '${text}') matching (ID)`);
      }
      if (isUndone) await transaction.rollbackAsync();
      else await transaction.commitAsync();
    } catch {
      await disconnect(connection);
      connection = null;
      await delay(100);
    }
  }
  await disconnect(connection);
}

const transactionOf = ({ record }: Change): string => {
  const value = record.value as Struct | null;
  return value === null ? '' : String((value.get('source') as Struct).get('txId'));
};

const DEAD = -2;

/** Published transactions that the database has rolled back. */
async function deadTransactions(database: TestFirebird, source: FirebirdHarness): Promise<Set<string>> {
  const all = [...new Set(source.changes.map(transactionOf))].filter(tnx => tnx !== '');
  const dead = new Set<string>();
  for (let at = 0; at < all.length; at += 200) {
    const selects = all
      .slice(at, at + 200)
      .map(tnx => `select ${tnx} tnx, rdb$get_transaction_cn(${tnx}) cn from rdb$database`);
    for (const { TNX, CN } of await database.query(selects.join(' union all '))) {
      if (Number(CN) === DEAD) dead.add(String(TNX));
    }
  }
  return dead;
}

for (const version of [5, 4] as readonly FirebirdVersion[]) {
  test(`Firebird ${version}: ${faults} faults`, async t => {
    const settings = { JOURNAL_SEGMENT_SIZE: '32768', JOURNAL_BUFFER_SIZE: '4096' };
    const database = await TestFirebird.create(t, version, settings);
    await database.run('create table W (ID integer not null primary key, V varchar(200))');
    const source = new FirebirdHarness(t, database);
    await source.start();
    await source.poll();
    let isOver = false;
    const clients = [1, 2, 3].map(client => work(database, client, () => isOver));
    for (let fault = 0; fault < faults; fault++) {
      const until = Date.now() + 300 + Math.random() * 1200;
      while (Date.now() < until) await source.poll();
      const kind = Math.floor(Math.random() * 3);
      if (kind !== 1) await crashFirebird(version);
      if (kind !== 0) await source.restart();
      else await source.commit();
    }
    isOver = true;
    await Promise.all(clients);
    await database.run("insert into W (ID, V) values (-1, 'end')");
    await source.pollUntil('the last change', changes => changes.some(change => change.after?.ID === -1));
    const dead = await deadTransactions(database, source);
    if (dead.size > 0) t.diagnostic(`journalled as committed, but dead in the database: ${[...dead]}`);
    assert.ok(dead.size <= faults);
    const rows = new Map<number, unknown>();
    for (const change of source.changes) {
      const { op, before, after } = change;
      if (dead.has(transactionOf(change))) continue;
      assert.notEqual(after?.V, 'rolled back');
      if (op === 'd') assert.ok(rows.delete(before!.ID as number), `row ${before!.ID} was there`);
      else if (op !== null) {
        assert.equal(rows.has(after!.ID as number), op === 'u', `${op} of row ${after!.ID}`);
        rows.set(after!.ID as number, after!.V);
      }
    }
    const expected = await database.query('select ID, V from W order by ID');
    assert.deepEqual(
      [...rows].sort(([a], [b]) => a - b),
      expected.map(({ ID, V }) => [ID, V]),
    );
  });
}
