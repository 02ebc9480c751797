/** Pure parts of the source, against bytes as the server sends them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSettings } from '../../../connectors/postgres/config.ts';
import { ChangeCursor } from '../../../connectors/postgres/source/changeCursor.ts';
import { formatLsn, parseLsn } from '../../../connectors/postgres/source/lsn.ts';
import { PgOutputDecoder } from '../../../connectors/postgres/source/pgoutput.ts';
import { idleOffset, parseOffset, toOffset } from '../../../connectors/postgres/source/position.ts';
import { columnsDiffer, fillUnchanged, hasUnchanged, skipTuple } from '../../../connectors/postgres/source/tuple.ts';
import { parseArray } from '../../../connectors/postgres/types/arrayTypes.ts';
import { parseTimestamp } from '../../../connectors/postgres/types/calendar.ts';
import { columnDefault } from '../../../connectors/postgres/types/columnDefault.ts';
import { numericText } from '../../../connectors/postgres/types/numericTypes.ts';
import { int4Type, textType } from '../../../connectors/postgres/types/scalarTypes.ts';
import { adjustName, adjustSchemaName, topicName } from '../../../connectors/shared/eventNames.ts';
import { isoTimestamp } from '../../../connectors/shared/isoText.ts';
import { parseTableLists } from '../../../connectors/shared/tableLists.ts';
import { parseFilter } from '../../../connectors/shared/textFilter.ts';
import { ConnectError, type SourceOffset } from '../../../runtime/api/index.ts';

const required = {
  'database.hostname': 'h',
  'database.user': 'u',
  'database.password': 'secret',
  'database.dbname': 'd',
  'topic.prefix': 'p',
};
const settings = parseSettings(required).settings!;
const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A tuple of texts; null and `u` stand for themselves. */
const tuple = (...columns: (string | null | typeof UNCHANGED)[]): Buffer =>
  Buffer.concat([
    Buffer.from([0, columns.length]),
    ...columns.map(column => {
      if (column === null) return Buffer.from('n');
      if (column === UNCHANGED) return Buffer.from('u');
      const head = Buffer.alloc(5, 't');
      head.writeInt32BE(Buffer.byteLength(column), 1);
      return Buffer.concat([head, Buffer.from(column)]);
    }),
  ]);
const UNCHANGED = Symbol('unchanged');

test('tuples are stepped over, compared and completed', () => {
  const [before, after] = [tuple('1', 'old', null), tuple('1', UNCHANGED, 'x')];
  const bytes = Buffer.concat([before, after]);
  const view = viewOf(bytes);
  assert.equal(skipTuple(bytes, view, 0), before.length);
  assert.equal(hasUnchanged(bytes, view, 0), false);
  assert.equal(hasUnchanged(bytes, view, before.length), true);
  assert.equal(columnsDiffer(bytes, view, 0, before.length, [0]), false);
  assert.equal(columnsDiffer(bytes, view, 0, before.length, [0, 1]), false);
  assert.equal(columnsDiffer(bytes, view, 0, before.length, [2]), true);
  assert.deepEqual(fillUnchanged(bytes, view, 0, before.length), tuple('1', 'old', 'x'));
});

test('a restart skips what was published of its transaction, and nothing of another', () => {
  const position = { lastCommit: 50n, lsn: 100n, changesAtLsn: 2, txId: 7n, tsUs: 0n };
  const cursor = new ChangeCursor(position);
  cursor.begin(7n);
  assert.deepEqual(
    [90, 100, 100, 100, 110].map(lsn => cursor.isNew(0, lsn)),
    [false, false, false, true, true],
  );
  const other = new ChangeCursor(position);
  other.begin(8n);
  assert.equal(other.isNew(0, 90), true);
  assert.deepEqual([other.lsn, other.changesAtLsn], [90n, 1]);
  const high = new ChangeCursor({ ...position, lsn: 0xffff_fff0_0000_0001n });
  high.begin(7n);
  assert.equal(high.isNew(0xffff_fff0 | 0, 0), false);
  assert.equal(high.isNew(0xffff_fff1 | 0, 0), true);
});

test('a change before its relation, and an unknown message, are refused', () => {
  const decoder = (): PgOutputDecoder =>
    new PgOutputDecoder(
      settings,
      { sourcePartition: {}, headers: [] },
      { lastCommit: null, lsn: 0n, changesAtLsn: 0, txId: 0n, tsUs: 0n },
    );
  const xlog = (payload: Buffer): Buffer => {
    const message = Buffer.alloc(30 + payload.length);
    message[0] = 0x64;
    message.writeInt32BE(message.length - 1, 1);
    message[5] = 0x77;
    payload.copy(message, 30);
    return message;
  };
  for (const payload of ['I\0\0\0\x01N\0\0', '?']) {
    assert.throws(
      () => decoder().walk(xlog(Buffer.from(payload, 'latin1')), 0),
      (error: unknown) => error instanceof ConnectError && error.code === 'PG_PROTOCOL_INVALID',
    );
  }
  const half = xlog(Buffer.from('Y'));
  assert.deepEqual(decoder().walk(half.subarray(0, half.length - 1), 0), { next: 0, stop: 'end' });
});

test('offsets go both ways, and those of Debezium are understood', () => {
  const position = { lastCommit: 2n ** 62n, lsn: 2n ** 62n + 1n, changesAtLsn: 3, txId: 9n, tsUs: 5n };
  const stored = { state: 'streaming', position, flushed: 2n ** 62n, isExact: true };
  assert.deepEqual(parseOffset(toOffset(position)), stored);
  assert.deepEqual(parseOffset(idleOffset(toOffset(position), 2n ** 62n + 9n)), { ...stored, flushed: 2n ** 62n + 9n });
  assert.deepEqual(parseOffset(null), { state: 'none' });
  assert.deepEqual(parseOffset({ snapshot: true, last_snapshot_record: false, lsn: 1 }), { state: 'snapshotting' });
  const read = (offset: Parameters<typeof parseOffset>[0]): unknown => {
    const stored = parseOffset(offset);
    return (
      stored.state === 'streaming' && [stored.position.lastCommit, stored.position.lsn, stored.position.changesAtLsn]
    );
  };
  assert.deepEqual(read({ lsn: 20, lsn_proc: 20, lsn_commit: 10, txId: 1, ts_usec: 1, messageType: 'UPDATE' }), [
    10n,
    20n,
    1,
  ]);
  assert.deepEqual(read({ lsn: 20, lsn_proc: 20, lsn_commit: 20, messageType: 'COMMIT' }), [20n, 20n, 0]);
  assert.deepEqual(read({ snapshot: 'INITIAL', snapshot_completed: true, lsn: 30 }), [null, 30n, 0]);
  const malformed: readonly SourceOffset[] = [{}, { lsn: 'x' }, { lsn: 1.5 }];
  for (const bad of malformed) {
    assert.throws(
      () => parseOffset(bad),
      (error: unknown) => error instanceof ConnectError && error.code === 'PG_OFFSET_INVALID',
    );
  }
  assert.equal(formatLsn(parseLsn('16/B374D848')), '16/B374D848');
});

test('filters are anchored, without case, and keep commas inside braces', () => {
  const filter = parseFilter('public\\.a, sales\\..{1,3}', null);
  assert.deepEqual(['public.a', 'PUBLIC.A', 'xpublic.a', 'public.ab', 'sales.abc', 'sales.abcd'].map(filter), [
    true,
    true,
    false,
    false,
    true,
    false,
  ]);
  assert.deepEqual(['a.b', 'c'].map(parseFilter(null, 'a\\..*')), [false, true]);
  const columns = parseTableLists('public.t:b,a;(.*).nk:x');
  assert.deepEqual([columns('public.t'), columns('s.nk'), columns('s.o')], [['b', 'a'], ['x'], null]);
  assert.throws(() => parseTableLists('nothing'));
});

test('names are made fit for topics and Avro', () => {
  assert.equal(topicName('p.My Schema.čau'), 'p.My_Schema._au');
  assert.equal(topicName('x'.repeat(300)).length, 249);
  assert.equal(adjustName('1st', 'avro'), '_1st');
  assert.equal(adjustName('é-x', 'avro'), '__x');
  assert.equal(adjustName('é', 'avro_unicode'), '_u00e9');
  assert.equal(adjustSchemaName('a-b.c', 'avro'), 'a_b.c');
});

test('column defaults: constants, calls and expressions', () => {
  const text = textType(settings.types);
  const cases: [string | null, unknown][] = [
    ["'it''s'::text", "it's"],
    ["E'a\\\\b'::text", 'a\\b'],
    ["''::character varying(9)", ''],
    ['NULL::text', undefined],
    ["upper('x'::text)", ''],
    ["('a'::text || 'b'::text)", undefined],
    [null, undefined],
  ];
  for (const [expression, value] of cases) assert.equal(columnDefault(expression, text), value, String(expression));
  assert.equal(columnDefault("'-3'::integer", int4Type), -3);
  assert.equal(columnDefault('(1 + 2)', int4Type), undefined);
  assert.equal(columnDefault("nextval('s_id_seq'::regclass)", int4Type), 0);
});

test('numeric, timestamps and arrays in their odd forms', () => {
  const numeric = (...words: number[]): Buffer => Buffer.from(words.flatMap(w => [(w >> 8) & 255, w & 255]));
  assert.equal(numericText(numeric(2, 0, 0x4000, 2, 12, 3400), 0), '-12.34');
  assert.equal(numericText(numeric(1, 2, 0, 0, 1), 0), '100000000');
  assert.equal(numericText(numeric(1, -2, 0, 8, 5), 0), '0.00000005');
  assert.equal(numericText(numeric(0, 0, 0, 2), 0), '0.00');
  assert.equal(numericText(numeric(0, 0, 0xc000, 0), 0), 'NaN');
  assert.equal(isoTimestamp(parseTimestamp('0044-03-15 12:00:00+02 BC'), 6), '-0043-03-15T10:00:00.000000');
  assert.deepEqual(parseArray('[0:1]={{"a,\\"b",NULL},{"NULL",c}}'), ['a,"b', null, 'NULL', 'c']);
});

test('config: refused options, misspelt keys and warnings', () => {
  const keys = (config: Record<string, string>): string[] =>
    parseSettings({ ...required, ...config }).errors.map(e => e.key);
  assert.deepEqual(keys({}), []);
  assert.deepEqual(keys({ 'plugin.name': 'wal2json' }), ['plugin.name']);
  assert.deepEqual(keys({ 'column.mask.with.x.chars': 'a.b.c' }), ['column.mask.with.x.chars']);
  assert.deepEqual(keys({ 'table.inclde.list': 'a.b' }), ['table.inclde.list']);
  assert.deepEqual(keys({ 'schema.blacklist': 'a', 'slot.drop_on_stop': 'true' }), [
    'schema.blacklist',
    'slot.drop_on_stop',
  ]);
  assert.deepEqual(keys({ 'signal.data.collection': 'a.b', 'signal.enabled.channels': 'source' }), []);
  assert.deepEqual(keys({ 'signal.enabled.channels': 'source,kafka', 'notification.enabled.channels': 'log' }), []);
  assert.deepEqual(keys({ 'signal.enabled.channels': 'source,jmx', 'notification.enabled.channels': 'sink' }), [
    'signal.enabled.channels',
    'notification.sink.topic.name',
  ]);
  assert.deepEqual(keys({ 'signal.data.collection': 'a.b', 'skipped.operations': 'c' }), ['skipped.operations']);
  assert.deepEqual(keys({ 'table.include.list': 'a', 'table.exclude.list': 'b' }), ['table.exclude.list']);
  assert.deepEqual(keys({ 'table.include.list': '(' }), ['table.include.list']);
  assert.deepEqual(keys({ 'slot.name': 'Not-Valid', 'skipped.operations': 'x' }), ['slot.name', 'skipped.operations']);
  assert.match(parseSettings({ ...required, 'max.queue.size': '1' }).warning!, /no effect.*max\.queue\.size/);
  assert.doesNotMatch(JSON.stringify(parseSettings({ ...required, 'database.port': 'x' })), /secret/);
});
