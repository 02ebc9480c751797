/** Concurrent work on real servers, with long transactions over many segments, savepoints, DDL and restarts: the replayed events equal the database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Database, disconnect, type Transaction } from '../../../connectors/firebird/connection.ts';
import { FirebirdServer, type FirebirdVersion, TestFirebird } from '../../services/localFirebird.ts';
import { FirebirdHarness } from './sourceHarness.ts';

/** Repeatable: the same numbers in each run. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const TABLE = 'create table W (ID integer not null primary key, N bigint, V varchar(200), B blob sub_type text)';

/** One connection's work in rows of its own: short and long transactions, some undone in part or whole. */
class Client {
  readonly #database: Database;
  readonly #next: (below: number) => number;
  readonly #base: number;

  constructor(database: Database, seed: number) {
    this.#database = database;
    this.#next = random(seed);
    this.#base = seed * 1000;
  }

  async work(transactions: number): Promise<void> {
    for (let n = 0; n < transactions; n++) {
      const transaction = await this.#database.transactionAsync();
      const statements = this.#next(8) === 0 ? 60 : 1 + this.#next(5);
      await this.#statements(transaction, statements);
      if (this.#next(3) === 0) {
        await transaction.queryAsync('savepoint S');
        await this.#statements(transaction, 3);
        if (this.#next(2) === 0) await transaction.queryAsync('rollback to savepoint S');
        await this.#statements(transaction, 2);
      }
      if (this.#next(4) === 0) await transaction.rollbackAsync();
      else await transaction.commitAsync();
    }
  }

  async #statements(transaction: Transaction, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const id = this.#base + this.#next(40);
      const text = 'x'.repeat(this.#next(200));
      const blob = this.#next(4) === 0 ? null : `blob ${this.#next(1e6)} `.repeat(1 + this.#next(300));
      switch (this.#next(5)) {
        case 0:
          await transaction.queryAsync(`delete from W where ID = ${id}`);
          break;
        case 1:
          await transaction.queryAsync(`update W set N = ${this.#next(1e9)}, V = ? where ID = ${id}`, [text]);
          break;
        default:
          await transaction.queryAsync('update or insert into W (ID, N, V, B) values (?, ?, ?, ?) matching (ID)', [
            id,
            this.#next(1e9),
            text,
            blob,
          ]);
      }
    }
  }
}

/** Rows by key from events; a blob of which only the placeholder came is not compared. */
function replay(source: FirebirdHarness, topic: string): Map<number, Record<string, unknown>> {
  const rows = new Map<number, Record<string, unknown>>();
  for (const { op, before, after, record } of source.changes) {
    if (record.topic !== topic || op === null) continue;
    if (op === 'd') assert.ok(rows.delete(before!.ID as number), `row ${before!.ID} was there`);
    else {
      if (op === 'c') assert.ok(!rows.has(after!.ID as number), `row ${after!.ID} is new`);
      rows.set(after!.ID as number, after!);
    }
  }
  return rows;
}

for (const version of [5, 4] as readonly FirebirdVersion[]) {
  test(`Firebird ${version}: three connections, restarts in between`, async t => {
    const database = await TestFirebird.create(t, version, {
      JOURNAL_SEGMENT_SIZE: '32768',
      JOURNAL_BUFFER_SIZE: '4096',
    });
    await database.run(TABLE);
    await database.run("insert into W (ID, V) values (-1, 'before')");
    const source = new FirebirdHarness(t, database);
    await source.start();
    const connections = await Promise.all([1, 2, 3].map(() => database.connect()));
    let isDone = false;
    const work = Promise.all(connections.map((connection, i) => new Client(connection, i + 1).work(60))).finally(() => {
      isDone = true;
    });
    const next = random(99);
    while (!isDone) {
      await source.poll();
      if (next(10) > 0) continue;
      await source.commit();
      await source.restart();
    }
    await work;
    for (const connection of connections) await disconnect(connection);
    await database.run("insert into W (ID, V) values (-2, 'after')");
    await source.pollUntil('the last change', changes => changes.some(change => change.after?.ID === -2));
    const rows = replay(source, `${database.name}.W`);
    const expected = await database.query(
      'select ID, N, V, cast(substring(B from 1 for 8000) as varchar(8000)) B from W',
    );
    assert.equal(rows.size, expected.length);
    for (const { ID, N, V, B } of expected) {
      const row = rows.get(Number(ID))!;
      const blob = row.B === '__debezium_unavailable_value' ? B : (row.B as string | null)?.slice(0, 8000);
      assert.deepEqual([String(row.N), row.V, blob ?? null], [String(N), V, B ?? null], `row ${ID}`);
    }
    assert.ok(expected.length > 50);
  });
}

test('the server dies with an open transaction over several segments: they are written again, and read again', async t => {
  const server = await FirebirdServer.start(t, 4);
  const database = await TestFirebird.create(t, server, {
    JOURNAL_SEGMENT_SIZE: '16384',
    JOURNAL_BUFFER_SIZE: '4096',
  });
  await database.run(TABLE);
  const source = new FirebirdHarness(t, database);
  await source.start();
  await database.run("insert into W (ID, V) values (1, 'kept')");
  await source.pollUntil('the first change', changes => changes.length === 1);
  const dying = await database.connect();
  const open = await dying.transactionAsync();
  for (let id = 100; id < 400; id++)
    await open.queryAsync(`insert into W (ID, V) values (${id}, '${'lost '.repeat(30)}')`);
  // Until segments of it are read: nothing of it may be published.
  await source.pollUntil('segments of the open transaction', () => /:/.test(String(source.offset?.pending ?? '')));
  await source.commit();
  await server.kill();
  await server.restart();
  await disconnect(dying);
  await database.run("insert into W (ID, V) values (2, 'after the crash')", "insert into W (ID, V) values (3, 'last')");
  await source.pollUntil('what came after the crash', changes => changes.some(change => change.after?.ID === 3));
  assert.deepEqual(
    source.changes.map(change => change.after?.ID),
    [1, 2, 3],
  );
});
