/** Layouts of records while tables are changed, made again, or fail to be changed, near to the source and while it is behind. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { disconnect } from '../../../connectors/firebird/connection.ts';
import { type FirebirdVersion, TestFirebird } from '../../services/localFirebird.ts';
import { type Change, FirebirdHarness } from './sourceHarness.ts';

const rowsOf = (changes: readonly Change[], table: string): unknown[] =>
  changes.filter(change => change.table === table && change.op !== null).map(({ op, after }) => [op, after]);

/** A transaction of DDL that fails at its commit. */
async function fails(database: TestFirebird, ...statements: readonly string[]): Promise<void> {
  const connection = await database.connect();
  const transaction = await connection.transactionAsync();
  const run = async (): Promise<void> => {
    for (const statement of statements) await transaction.queryAsync(statement);
    await transaction.commitAsync();
  };
  try {
    await assert.rejects(run(), /duplicate value/);
    await transaction.rollbackAsync();
  } finally {
    await disconnect(connection);
  }
}

/** A source that has published the row (1, 1) of X, and is not there while what follows is done. */
async function stoppedBehindSnapshot(
  t: TestContext,
  version: FirebirdVersion,
): Promise<{ database: TestFirebird; source: FirebirdHarness }> {
  const database = await TestFirebird.create(t, version);
  await database.run('create table X (A integer not null primary key, B integer)', 'insert into X values (1, 1)');
  const source = new FirebirdHarness(t, database);
  await source.start();
  await source.pollUntil('the end of the snapshot', () => source.isStreaming);
  await source.commit();
  await source.stop();
  return { database, source };
}

// They wait for the server's archiving most of the time.
describe('layouts', { concurrency: true }, () => {
  for (const version of [4, 5] as readonly FirebirdVersion[]) {
    test(`Firebird ${version}: the number of a format that a failed DDL left behind is used again`, async t => {
      const database = await TestFirebird.create(t, version);
      await database.run(
        'create table X (A integer not null primary key, B integer)',
        'create table Y (A integer not null primary key)',
        'insert into X values (1, 1)',
        'insert into X values (2, 1)',
      );
      const source = new FirebirdHarness(t, database);
      await source.start();
      await fails(database, 'alter table X add LOST bigint', 'create unique index XU on X (B)');
      // With this DDL the source reads the formats, that of the failed one among them.
      await database.run('alter table Y add V integer', 'insert into Y values (1, 10)');
      await source.pollUntil('the row of Y', changes => changes.some(change => change.table === 'Y'));
      await database.run('alter table X add C varchar(100)', "insert into X values (3, 1, 'c')");
      await source.pollUntil('the row of X', changes => changes.some(change => change.after?.A === 3));
      // Of the same length as the format that fails before it.
      await fails(database, 'alter table X add LOST integer', 'create unique index XU on X (B)');
      await database.run('alter table Y add W integer', 'insert into Y values (2, 20, 200)');
      await source.pollUntil('the row of Y', changes => changes.some(change => change.after?.W === 200));
      await database.run('alter table X add D date', "insert into X values (4, 1, 'd', date '2024-02-29')");
      await source.pollUntil('the row of X', changes => changes.some(change => change.after?.A === 4));
      assert.deepEqual(rowsOf(source.changes, 'X').slice(2), [
        ['c', { A: 3, B: 1, C: 'c' }],
        ['c', { A: 4, B: 1, C: 'd', D: 19782 }],
      ]);
    });

    test(`Firebird ${version}: a connection whose DDL failed writes records in the format that it left behind`, async t => {
      const database = await TestFirebird.create(t, version);
      await database.run(
        'create table X (A integer not null primary key, B integer)',
        'create table W (ID integer not null primary key, V integer)',
        'insert into W values (1, 1)',
        'insert into W values (2, 1)',
      );
      const source = new FirebirdHarness(t, database);
      await source.start();
      await source.pollUntil('the end of the snapshot', () => source.isStreaming);
      const connection = await database.connect();
      const transaction = await connection.transactionAsync();
      await transaction.queryAsync('alter table X add LOST char(40)');
      await transaction.queryAsync('create unique index WU on W (V)');
      await assert.rejects(transaction.commitAsync(), /duplicate value/);
      await transaction.rollbackAsync();
      await connection.queryAsync('insert into X values (5, 5)');
      await connection.queryAsync('alter table X add N bigint');
      await connection.queryAsync('insert into X (A, B, N) values (6, 6, 6)');
      await disconnect(connection);
      await source.pollUntil('the last row', changes => changes.some(change => change.after?.A === 6));
      assert.deepEqual(rowsOf(source.changes, 'X'), [
        ['c', { A: 5, B: 5 }],
        ['c', { A: 6, B: 6, N: 6n }],
      ]);
    });

    test(`Firebird ${version}: a table is dropped and made again while the source is behind`, async t => {
      const { database, source } = await stoppedBehindSnapshot(t, version);
      await database.run(
        'insert into X values (2, 2)',
        'create table OTHER (A integer not null primary key)',
        'insert into X values (3, 3)',
        'drop table X',
        'create table X (A integer not null primary key, C date)',
        "insert into X values (4, date '2024-02-29')",
      );
      await source.start();
      await source.pollUntil('the last row', changes => changes.some(change => change.after?.A === 4));
      assert.deepEqual(rowsOf(source.changes, 'X'), [
        ['r', { A: 1, B: 1 }],
        ['c', { A: 2, B: 2 }],
        ['c', { A: 3, B: 3 }],
        ['c', { A: 4, C: 19782 }],
      ]);
    });

    test(`Firebird ${version}: while the source is behind, each row has the columns of its own time`, async t => {
      const { database, source } = await stoppedBehindSnapshot(t, version);
      await database.run(
        'create index XB on X (B)',
        'insert into X values (2, 2)',
        'drop index XB',
        'alter table X drop B, add C date',
        "insert into X values (3, date '2024-02-29')",
        "comment on table X is 'exchanged'",
        "execute block as begin execute statement 'alter table X drop C, add D integer'; end",
        'insert into X values (4, 4)',
        'alter table X alter D type bigint',
        'insert into X values (5, 5)',
        // Of these only every second makes a format.
        'alter table X alter D type bigint',
        'alter table X add E integer',
        'insert into X values (6, 6, 6)',
        'alter table X alter D set default 5',
        'alter table X drop E, add F integer',
        'insert into X values (7, 7, 7)',
        'alter table X alter F to G',
        'insert into X values (8, 8, 8)',
        'alter table X add H integer',
        'insert into X values (9, 9, 9, 9)',
        'alter table X alter H to I',
      );
      await source.start();
      await source.pollUntil('the last row', changes => changes.some(change => change.after?.A === 9));
      assert.deepEqual(rowsOf(source.changes, 'X').slice(1), [
        ['c', { A: 2, B: 2 }],
        ['c', { A: 3, C: 19782 }],
        ['c', { A: 4, D: 4 }],
        ['c', { A: 5, D: 5n }],
        ['c', { A: 6, D: 6n, E: 6 }],
        ['c', { A: 7, D: 7n, F: 7 }],
        ['c', { A: 8, D: 8n, G: 8 }],
        ['c', { A: 9, D: 9n, G: 9, H: 9 }],
      ]);
    });

    test(`Firebird ${version}: a source that begins again at the first segment knows the layouts of that time`, async t => {
      const database = await TestFirebird.create(t, version);
      await database.run('create table X (A integer not null primary key, B integer)', 'insert into X values (1, 1)');
      const source = new FirebirdHarness(t, database);
      const options = { 'snapshot.mode': 'no_data', 'journal.delete.segments': 'false' };
      for (let round = 0; round < 2; round++) {
        source.stored = null;
        source.changes.length = 0;
        await source.start(options);
        await source.pollUntil('the first row', changes => changes.length >= 1);
        // Both layouts have one length.
        if (round === 0) await database.run('alter table X drop B, add C integer', 'insert into X values (2, 2)');
        await source.pollUntil('both rows', changes => changes.length === 2);
        assert.deepEqual(rowsOf(source.changes, 'X'), [
          ['c', { A: 1, B: 1 }],
          ['c', { A: 2, C: 2 }],
        ]);
        await source.stop();
      }
    });

    for (const format of ['debezium', 'journal'])
      test(`Firebird ${version}: a table that was gone before it could be read stops the source, unless it is left out; ${format}`, async t => {
        const database = await TestFirebird.create(t, version);
        await database.run('create table X (A integer not null primary key)', 'insert into X values (1)');
        const source = new FirebirdHarness(t, database);
        const options = { 'snapshot.mode': 'no_data', 'event.format': format };
        await source.start(options);
        await source.pollUntil('the row', () => source.isStreaming);
        await source.commit();
        await source.stop();
        await database.run(
          'create table BRIEF (A integer not null primary key)',
          'insert into BRIEF values (1)',
          'drop table BRIEF',
          'insert into X values (2)',
        );
        await source.start(options);
        const isThere = (): boolean => source.warnings.length > 0;
        await assert.rejects(source.pollUntil('an error', isThere), {
          code: 'FB_LAYOUT_UNKNOWN',
          message: /table\.exclude\.list/,
        });
        await source.stop();
        const position = source.offset;
        await source.start({ ...options, 'table.exclude.list': 'BRIEF' });
        await source.pollUntil('the offset behind it', () => source.offset !== position);
      });
  }
});
