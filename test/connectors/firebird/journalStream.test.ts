/** The change stream over the recorded segments: what is published against the recorded events, undone and rolled-back work left out by other means. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { SourceOffset } from '../../../runtime/api/index.ts';
import { parseJson, stringifyJson } from '../../../schemas/json/exactJson.ts';
import { FIXTURE_VERSIONS, type FixtureVersion, fixtureSegments } from './fixtureSegments.ts';
import { FixtureStream } from './fixtureStream.ts';
import type { Change } from './sourceHarness.ts';

type Row = Record<string, unknown>;
type Event = { event: string; tnx: number; table?: string; record?: Row; oldRecord?: Row };

/** Committed changes in commit order: a savepoint's rollback cuts off the list. */
function expectedChanges(version: FixtureVersion): { op: string; table: string; row: Row }[] {
  const all: { op: string; table: string; row: Row }[] = [];
  const open = new Map<number, { changes: Event[]; savepoints: number[] }>();
  for (const path of fixtureSegments(version)) {
    const { events } = parseJson(readFileSync(`${path}.json`, 'utf8')) as unknown as { events: Event[] };
    for (const event of events) {
      if (event.event === 'START TRANSACTION') open.set(event.tnx, { changes: [], savepoints: [] });
      const of = open.get(event.tnx);
      if (of === undefined) continue;
      switch (event.event) {
        case 'SAVEPOINT':
          of.savepoints.push(of.changes.length);
          break;
        case 'RELEASE SAVEPOINT':
          of.savepoints.pop();
          break;
        case 'ROLLBACK SAVEPOINT':
          of.changes.length = of.savepoints.pop()!;
          break;
        case 'INSERT':
        case 'UPDATE':
        case 'DELETE':
          of.changes.push(event);
          break;
        case 'ROLLBACK':
          open.delete(event.tnx);
          break;
        case 'COMMIT':
          for (const { event: op, table, record } of of.changes) all.push({ op, table: table!, row: record! });
          open.delete(event.tnx);
          break;
        default:
      }
    }
  }
  return all;
}

/** Columns whose form is the same in both notations, names of the time of writing. */
const comparable = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([, value]) => typeof value !== 'object')
      .filter(([name]) => !/^(C_(FLOAT|DATE|TIME|TS|TIMETZ|TSTZ|TEXT|BLOB)|TXT|WIN|BIN|D)$/.test(name))
      .map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : String(value)]),
  );

/** Changes of one table in order: the order between tables of one poll is free. */
function byTable(changes: readonly { op: string; table: string; row: Row }[]): Map<string, unknown[]> {
  const tables = new Map<string, unknown[]>();
  for (const { op, table, row } of changes) tables.set(table, [...(tables.get(table) ?? []), [op, comparable(row)]]);
  return tables;
}

/** A change of key is a delete, a tombstone and a create. */
function published(changes: readonly Change[]): { op: string; table: string; row: Row }[] {
  const out: { op: string; table: string; row: Row }[] = [];
  for (const { op, table, before, after, record } of changes) {
    if (op === null) continue;
    const isKeyChange = record.headers.some(header => header.name.startsWith('__debezium.'));
    if (op === 'd' && isKeyChange) continue;
    const name = op === 'd' ? 'DELETE' : op === 'u' || isKeyChange ? 'UPDATE' : 'INSERT';
    out.push({ op: name, table, row: (after ?? before)! });
  }
  return out;
}

for (const version of FIXTURE_VERSIONS) {
  test(`${version}: committed changes are published, in order, and nothing else`, async () => {
    const of = new FixtureStream(version);
    of.add();
    await of.open(null, { 'message.key.columns': '(CUSTOMER):CUSTOMER_ID;(ALL_TYPES|NOTES):ID;AUDIT:N;Заказы:Номер' });
    await of.drain();
    const expected = byTable(expectedChanges(version));
    const actual = byTable(published(of.changes));
    assert.deepEqual([...actual.keys()].sort(), [...expected.keys()].sort());
    for (const [table, changes] of expected) {
      // Rows of older layouts have columns that were dropped meanwhile: not in events.
      if (table === 'mixed Case') assert.equal(actual.get(table)!.length, changes.length);
      else assert.deepEqual(actual.get(table), changes, table);
    }
    await of.close();
  });
}

test('values of every type, as the events have them', async () => {
  const of = new FixtureStream('v5');
  of.add();
  await of.open(null);
  await of.drain();
  const rows = of.changes.filter(change => change.table === 'ALL_TYPES' && change.op === 'c');
  assert.deepEqual(rows[0]!.after, {
    ID: 1,
    C_SMALLINT: -5,
    C_INTEGER: 1234567,
    C_BIGINT: 9007199254740993n,
    C_INT128: '170141183460469231731687303715884105727',
    C_NUM4: '-1.05',
    C_NUM9: '123456.789',
    C_NUM18: '12345.6789',
    C_NUM38: '1234567890123456789012345678.0123456789',
    C_FLOAT: 1.5,
    C_DOUBLE: Math.PI,
    C_DEC16: '1234567890.123456',
    C_DEC34: '-1.23456789012345678901234567890123E-24',
    C_BOOL: true,
    C_DATE: 19782,
    C_TIME: 47_655_123_400n,
    C_TS: -100n,
    C_TIMETZ: '07:11:12.1234Z',
    C_TSTZ: '2024-02-29T00:02:03.4567Z',
    C_CHAR: 'ab   ',
    C_VARCHAR: 'Привет ☃',
    C_WIN: 'Жук',
    C_CHAR_OCT: '00ff1000',
    C_VARBIN: '0102ff',
    C_TEXT: 'короткий',
    C_BLOB: '000102fffe',
  });
  const notes = of.changes.filter(change => change.table === 'NOTES' && change.op === 'c').map(change => change.after!);
  assert.deepEqual(notes[1], { ID: 2, TXT: 'short text', WIN: 'текст в 1251', BIN: 'deadbeef' });
  assert.equal(notes[2]!.TXT, 'длинный '.repeat(3000));
  assert.equal(notes[2]!.BIN, Buffer.from(Array.from({ length: 5120 }, (_, i) => i & 255)).toString('hex'));
  await of.close();
});

test('from every offset that was given the rest follows, and nothing is missing or twice', async () => {
  const whole = new FixtureStream('v4');
  whole.add();
  // Polls of a few rows, so that there are offsets in between.
  whole.pollBytes = 200;
  await whole.open(null);
  await whole.drain();
  const show = (changes: readonly Change[]): string[] =>
    changes.map(({ op, table, before, after }) => stringifyJson([op, table, before, after]));
  assert.ok(whole.offsets.length >= 7, `${whole.offsets.length} offsets`);
  assert.ok(
    whole.offsets.some(({ offset }) => offset.transactions !== ''),
    'some lie inside of transactions',
  );
  for (const { offset, changes } of whole.offsets) {
    const rest = new FixtureStream('v4');
    rest.add();
    await rest.open(JSON.parse(JSON.stringify(offset)) as SourceOffset, {}, whole.positions);
    await rest.drain();
    assert.deepEqual(show(rest.changes).sort(), show(whole.changes.slice(changes)).sort());
    await rest.close();
  }
  await whole.close();
});
