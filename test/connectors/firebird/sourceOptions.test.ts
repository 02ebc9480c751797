/** Debezium's options for what events look like and which there are, over the recorded segments. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSettings } from '../../../connectors/firebird/config.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { FixtureStream } from './fixtureStream.ts';
import { type Change, plain } from './sourceHarness.ts';

async function changesWith(options: Record<string, string>): Promise<FixtureStream> {
  const stream = new FixtureStream('v5');
  stream.add();
  await stream.open(null, options);
  await stream.drain();
  await stream.close();
  return stream;
}

const field = ({ record }: Change, name: string): unknown => (record.value as Struct).get(name);
const transactionOf = (change: Change): Record<string, unknown> => plain(field(change, 'transaction') as Struct);

test('provide.transaction.metadata: each change tells its place, each transaction begins and ends', async () => {
  const { changes } = await changesWith({ 'provide.transaction.metadata': 'true' });
  const events = changes.filter(change => change.op !== null && change.record.topic !== 'p.transaction');
  const bounds = changes
    .filter(change => change.record.topic === 'p.transaction')
    .map(change => plain(change.record.value as Struct));
  const byTransaction = new Map<string, Change[]>();
  for (const change of events) {
    const { id } = transactionOf(change);
    assert.equal(id, String(((change.record.value as Struct).get('source') as Struct).get('txId')));
    byTransaction.set(String(id), [...(byTransaction.get(String(id)) ?? []), change]);
  }
  assert.deepEqual(
    bounds.map(({ status, id }) => `${status} ${id}`),
    bounds.map((_, i) => `${i % 2 === 0 ? 'BEGIN' : 'END'} ${bounds[i - (i % 2)]!.id}`),
  );
  assert.equal(bounds.length, 2 * byTransaction.size);
  for (const { status, id, event_count } of bounds) {
    if (status !== 'END') continue;
    const of = byTransaction.get(String(id))!;
    assert.equal(event_count, BigInt(of.length));
    const orders = of.map(change => Number(transactionOf(change).total_order)).sort((a, b) => a - b);
    assert.deepEqual(
      orders,
      of.map((_, i) => i + 1),
    );
  }
});

test('column.exclude.list leaves columns out of rows, not out of keys', async () => {
  const { changes } = await changesWith({
    'column.exclude.list': 'ALL_TYPES\\.(ID|C_TEXT|C_BLOB|C_CHAR)',
    'message.key.columns': 'ALL_TYPES:ID',
  });
  const { record, after } = changes.find(change => change.table === 'ALL_TYPES' && change.op === 'c')!;
  assert.deepEqual(plain(record.key as Struct), { ID: 1 });
  assert.ok(!('ID' in after!) && !('C_TEXT' in after!) && !('C_CHAR' in after!));
  assert.equal(after!.C_INTEGER, 1234567);
});

test('dump.blobs=false puts the placeholder where blobs are', async () => {
  const { changes } = await changesWith({ 'dump.blobs': 'false' });
  const notes = changes.filter(change => change.table === 'NOTES' && change.op === 'c').map(change => change.after!);
  const placeholder = '__debezium_unavailable_value';
  const bytes = Buffer.from(placeholder).toString('hex');
  assert.deepEqual(notes[1], { ID: 2, TXT: placeholder, WIN: placeholder, BIN: bytes });
});

test('skipped.operations', async () => {
  const operations = async (skipped: string): Promise<string[]> => {
    const { changes } = await changesWith({
      'skipped.operations': skipped,
      'message.key.columns': 'NOTES:ID;ALL_TYPES:ID',
    });
    return [...new Set(changes.map(change => change.op ?? 'tombstone'))].sort();
  };
  assert.deepEqual(await operations('t'), ['c', 'd', 'tombstone', 'u']);
  assert.deepEqual(await operations('c,u'), ['d', 'tombstone']);
});

test('options that would be read by nobody are refused', () => {
  const base = {
    'database.hostname': 'h',
    'database.user': 'u',
    'database.dbname': 'd',
    'topic.prefix': 'p',
    'journal.source.dir': '/tmp',
  };
  const told = (options: Record<string, string>): string[] =>
    parseSettings({ ...base, ...options }).errors.map(error => error.key);
  assert.deepEqual(told({}), []);
  assert.deepEqual(told({ 'table.includ.list': 'A' }), ['table.includ.list']);
  assert.deepEqual(told({ 'column.mask.with.3.chars': 'A.B' }), ['column.mask.with.3.chars']);
  assert.deepEqual(told({ 'table.include.list': 'A', 'table.exclude.list': 'B' }), ['table.exclude.list']);
  assert.deepEqual(told({ 'column.include.list': '(' }), ['column.include.list']);
  assert.deepEqual(told({ 'event.format': 'journal', 'snapshot.mode': 'initial_only' }), ['snapshot.mode']);
  assert.deepEqual(told({ 'event.format': 'journal', 'snapshot.mode': 'always' }), ['snapshot.mode']);
  assert.deepEqual(told({ 'event.format': 'journal', 'snapshot.mode': 'no_data' }), []);
  assert.deepEqual(told({ 'skipped.operations': 'x' }), ['skipped.operations']);
  assert.deepEqual(told({ 'message.key.columns': 'A' }), ['message.key.columns']);
  assert.match(parseSettings({ ...base, 'max.queue.size': '1' }).warning!, /max\.queue\.size/);
});
