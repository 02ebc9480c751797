/** The protocol's parts by themselves: packets, GTID sets, packed values, JSON, statements, offsets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from '@node-rs/crc32';
import { checksum } from '../../../connectors/mysql/protocol/checksum.ts';
import { MysqlGtidSet, parseGtidSet } from '../../../connectors/mysql/protocol/gtid.ts';
import { readTaggedGtid } from '../../../connectors/mysql/protocol/gtidEvents.ts';
import { doubleText, jsonText } from '../../../connectors/mysql/protocol/jsonBinary.ts';
import { decimalText } from '../../../connectors/mysql/protocol/packedDecimal.ts';
import { PacketReader } from '../../../connectors/mysql/protocol/packetReader.ts';
import { RowShape } from '../../../connectors/mysql/protocol/rowShape.ts';
import { LogCursor } from '../../../connectors/mysql/source/logCursor.ts';
import { parseOffset, toOffset } from '../../../connectors/mysql/source/position.ts';
import { readStatement } from '../../../connectors/mysql/source/statements.ts';
import { streamError } from '../../../connectors/mysql/source/streamError.ts';
import { compactJson } from '../../../connectors/mysql/types/compactJson.ts';

const UUID = '85a00baa-ec6d-11f1-a1e9-02fc00000001';

test('a payload of several packets is moved together, and what is lacking is told', () => {
  const part = (length: number, byte: number): Buffer => {
    const packet = Buffer.alloc(4 + length, byte);
    packet.writeUIntLE(length, 0, 3);
    return packet;
  };
  const bytes = Buffer.concat([part(0xffffff, 1), part(0xffffff, 2), part(5, 3), part(2, 4)]);
  const packet = new PacketReader();
  for (const cut of [0, 3, 100, 0xffffff + 4, 0xffffff + 6, 2 * 0xffffff + 12]) {
    assert.equal(packet.read(bytes.subarray(0, cut), 0), false);
    assert.ok(packet.missing > 0 && cut + packet.missing <= bytes.length, `cut at ${cut}`);
  }
  assert.equal(packet.read(bytes, 0), true);
  assert.equal(packet.end - packet.start, 2 * 0xffffff + 5);
  assert.deepEqual(
    [packet.start, packet.start + 0xffffff, packet.end - 6, packet.end - 1].map(i => bytes[i]),
    [1, 2, 2, 3],
  );
  assert.equal(packet.read(bytes, packet.next), true);
  assert.deepEqual(bytes.subarray(packet.start, packet.end), Buffer.from([4, 4]));
});

test('the checksum of short and of long events is that of the library', () => {
  const bytes = Buffer.from(Array.from({ length: 600 }, (_, i) => (i * 197 + (i >> 3)) & 255));
  for (let length = 0; length < 400; length++) {
    const start = length % 7;
    assert.equal(checksum(bytes, start, start + length), crc32(bytes.subarray(start, start + length)), `${length}`);
  }
});

test('GTID sets are read, extended, joined and written', () => {
  const set = MysqlGtidSet.parse(`${UUID.toUpperCase()}:1-5:9:tag:1-2,\n ${UUID}:7`);
  set.add({ prefix: `${UUID}:`, number: 6n });
  set.add({ prefix: `${UUID}:`, number: 8n });
  assert.equal(String(set), `${UUID}:1-9:tag:1-2`);
  assert.ok(set.has({ prefix: `${UUID}:`, number: 9n }) && !set.has({ prefix: `${UUID}:`, number: 10n }));
  const copy = set.copy();
  copy.add({ prefix: `${UUID}:`, number: 10n });
  assert.ok(!set.has({ prefix: `${UUID}:`, number: 10n }));
  assert.equal(
    MysqlGtidSet.parse(`${UUID}:1-3`).encode().toString('hex'),
    `0100000000000000${UUID.replaceAll('-', '')}010000000000000001000000000000000400000000000000`,
  );
  assert.throws(() => MysqlGtidSet.parse('nonsense:1'), RangeError);
  const list = parseGtidSet('0-1-5,1-1-3', true);
  list.add({ prefix: '0-2-', number: 6n });
  assert.equal(String(list), '0-2-6,1-1-3');
  assert.throws(() => parseGtidSet('0-1', true), RangeError);
});

test('a tagged GTID is read', () => {
  // version 1, size, last known field 12; 1 UUID as 16 numbers, 2 number 7, 3 tag, 6 time
  const fields = [0x02, ...Array<number>(16).fill(0x02), 0x04, 0x1c, 0x06, 0x06, 0x61, 0x62, 0x63, 0x0c, 0x05, 0x01];
  const body = Buffer.from([0x02, (fields.length + 3) * 2, 0x18, ...fields]);
  const start = readTaggedGtid(body, 0, body.length);
  assert.deepEqual(start.gtid, { prefix: '01010101-0101-0101-0101-010101010101:abc:', number: 7n });
  assert.equal(start.originalCommitUs, 65n);
});

test('packed decimals', () => {
  // DECIMAL(10,4): 1234567890.1234 has three and nine digits in front in other scales; the manual's own example is DECIMAL(14,4)
  const bytes = Buffer.from('810dfb38d204d2', 'hex');
  assert.equal(decimalText(bytes, 0, 14, 4), '1234567890.1234');
  const negative = Buffer.from('7ef204c72dfb2d', 'hex');
  assert.equal(decimalText(negative, 0, 14, 4), '-1234567890.1234');
});

test('binary JSON and its text give the same compact text', () => {
  // {"a": [1, true], "b": "x"}
  const hex = '00 0200 2600 1200 0100 1300 0100 02 1400 0c 1e00 61 62 0200 0a00 05 0100 04 0100 01 78';
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  bytes.writeUInt16LE(bytes.length - 1, 3);
  assert.equal(jsonText(bytes, 0, bytes.length), '{"a":[1,true],"b":"x"}');
  assert.equal(compactJson('{"a": [1, true], "b": "x, y: \\" z"}'), '{"a":[1,true],"b":"x, y: \\" z"}');
  assert.equal(compactJson('[1e20, 1.5, -2]'), '[100000000000000000000,1.5,-2]');
  assert.deepEqual([1, 0.5, 1e7, 0.001, 1e-4, -0].map(doubleText), [
    '1.0',
    '0.5',
    '10000000',
    '0.001',
    '0.000100000000000000004792173602385929598312941379845142364501953125',
    '-0.0',
  ]);
  assert.throws(() => jsonText(Buffer.from([0x0c, 0x10, 0x61]), 0, 3), RangeError);
});

test('JSON of any length loses the spaces between its parts, and no others', () => {
  assert.equal(
    compactJson('{"a b": [1, 2.50e+3, "x, \\"y\\": 1e5 \\\\"], "c": " "}'),
    '{"a b":[1,2500.0,"x, \\"y\\": 1e5 \\\\"],"c":" "}',
  );
  const long = JSON.stringify('" \\'.repeat(6_000_000));
  assert.equal(compactJson(`[${long}, 1]`), `[${long},1]`);
});

test('rows end where their columns do, with nulls and without', () => {
  // INT, VARCHAR(10), SMALLINT, BLOB
  const shape = new RowShape([4, -1, 2, -2]);
  const full = Buffer.from('f0 01000000 02 6162 0500 0300 787978'.replaceAll(' ', ''), 'hex');
  assert.equal(shape.end(full, 0), full.length);
  const nulls = Buffer.from('f6 01000000 0000'.replaceAll(' ', ''), 'hex');
  assert.equal(shape.end(nulls, 0), 7);
  const two = Buffer.concat([full, full]);
  assert.equal(shape.differ(two, 0, full.length, [0, 1]), false);
  two[full.length + 7] = 0x63;
  assert.equal(shape.differ(two, 0, full.length, [0]), false);
  assert.equal(shape.differ(two, 0, full.length, [1]), true);
  assert.equal(shape.isFull(Buffer.from([0x0f]), 0), true);
  assert.equal(shape.isFull(Buffer.from([0x0b]), 0), false);
});

test('rows of many columns end where the last of them does', () => {
  const below = (n: number): number => Math.floor(Math.random() * n);
  for (let round = 0; round < 300; round++) {
    const extents = Array.from({ length: 1 + below(40) }, () =>
      round % 3 > 0 && below(9) > 0 ? below(9) : -1 - below(4),
    );
    const shape = new RowShape(extents);
    const isNull = extents.map(() => below(4) === 0);
    const bitmap = Buffer.alloc(shape.bitmapBytes, 0);
    for (const [i, missing] of isNull.entries()) if (missing) bitmap[i >> 3]! |= 1 << (i & 7);
    const values = extents.map((extent, i) => {
      if (isNull[i]) return Buffer.alloc(0);
      if (extent >= 0) return Buffer.alloc(extent, 7);
      const value = Buffer.alloc(-extent + below(200), 7);
      value.writeUIntLE(value.length + extent, 0, -extent);
      return value;
    });
    const row = Buffer.concat([bitmap, ...values, Buffer.alloc(4, 255)]);
    assert.equal(shape.end(row, 0), row.length - 4, JSON.stringify(extents));
    assert.equal(shape.column(row, 0, extents.length), row.length - 4);
  }
});

test('rows of one table end right for each set of nulls, however many there are', () => {
  const shape = new RowShape([1, 2, -1, 4, 8, 3, 1, -2, 2, 4]);
  const sizes = [1, 2, 4, 4, 8, 3, 1, 5, 2, 4];
  const row = Buffer.alloc(64);
  for (let nulls = 0; nulls < 1024; nulls++) {
    row.fill(0);
    row.writeUInt16LE(nulls, 0);
    let end = 2;
    for (const [column, size] of sizes.entries()) {
      if (((nulls >> column) & 1) === 1) continue;
      if (column === 2 || column === 7) row[end] = 3;
      end += size;
    }
    assert.equal(shape.end(row, 0), end, `${nulls}`);
  }
});

test('statements tell transactions, emptied tables and logged changes', () => {
  const kind = (sql: string): string => readStatement(sql, 'db').kind;
  assert.deepEqual(
    [
      'BEGIN',
      'COMMIT',
      'ROLLBACK',
      'ROLLBACK TO `s`',
      'SAVEPOINT `s`',
      'XA START X',
      'XA COMMIT X',
      'CREATE TABLE a (b INT)',
    ].map(kind),
    ['begin', 'commit', 'rollback', 'rollback-to', 'savepoint', 'xa', 'other', 'other'],
  );
  const table = (sql: string): unknown => (readStatement(sql, 'db') as { table?: unknown }).table;
  assert.deepEqual(table('TRUNCATE TABLE `a``b`'), { database: 'db', table: 'a`b' });
  assert.deepEqual(table('/* hello */ truncate x.y'), { database: 'x', table: 'y' });
  assert.deepEqual(table('DELETE FROM `x`.`y`'), { database: 'x', table: 'y' });
  assert.deepEqual(table('INSERT INTO t VALUES (1)'), { database: 'db', table: 't' });
  assert.deepEqual(table('UPDATE t SET a = 1'), { database: 'db', table: 't' });
  assert.deepEqual(table('INSERT IGNORE INTO t VALUES (1)'), { database: 'db', table: 't' });
  assert.deepEqual(table('UPDATE LOW_PRIORITY t AS x SET a = 1'), { database: 'db', table: 't' });
  assert.deepEqual(table('DELETE QUICK FROM `x`.t WHERE a = 1'), { database: 'x', table: 't' });
  assert.deepEqual(table('SET STATEMENT max_statement_time = 1 FOR INSERT t VALUES (1)'), {
    database: 'db',
    table: 't',
  });
  assert.deepEqual(table('CREATE OR REPLACE TABLE t AS SELECT * FROM u'), { database: 'db', table: 't' });
  // As people and drivers write them.
  for (const sql of ['TRUNCATE"x"."a""b"', 'truncate table`x`.`a"b`', 'TRUNCATE /* all */ TABLE -- of it\n x . "a""b"'])
    assert.deepEqual(table(sql), { database: 'x', table: 'a"b' }, sql);
  assert.deepEqual(table('UPDATE`t`SET a = 1'), { database: 'db', table: 't' });
  assert.deepEqual(table('UPDATE "t" "x" SET a = "/* no */"'), { database: 'db', table: 't' });
  assert.deepEqual(table('INSERT/*!50000 IGNORE*/INTO "x"."t" VALUES (1)'), { database: 'x', table: 't' });
  assert.deepEqual(table('CREATE TABLE "t" SELECT 1'), { database: 'db', table: 't' });
  assert.deepEqual(readStatement('SAVEPOINT"S"', 'db'), { kind: 'savepoint', name: 's' });
  const untold = [
    'UPDATE u, t SET t.v = 1',
    'UPDATE u JOIN t USING (id) SET t.v = 1',
    'DELETE t FROM t JOIN u USING (id)',
    'DELETE FROM u USING u JOIN t',
    'WITH c AS (SELECT 1) UPDATE t SET a = 1',
    'SELECT f(10)',
    'DO f(11)',
    'CALL p()',
  ];
  assert.deepEqual(
    untold.map(kind),
    untold.map(() => 'change'),
  );
  assert.deepEqual(
    untold.map(table),
    untold.map(() => null),
  );
  const quiet = ['CREATE VIEW v AS SELECT 1', "CREATE TABLE t (`select` INT, a INT COMMENT 'see SELECT')", 'SET x = 1'];
  assert.deepEqual(
    quiet.map(kind),
    quiet.map(() => 'other'),
  );
  assert.deepEqual(readStatement('ROLLBACK TO `S`', 'db'), { kind: 'rollback-to', name: 's' });
  assert.deepEqual(readStatement('SAVEPOINT s', 'db'), { kind: 'savepoint', name: 's' });
});

test('offsets of Debezium and ours name the same place', () => {
  const stored = parseOffset({
    file: 'b.000003',
    pos: 190n,
    gtids: `${UUID}:1-5`,
    event: 3,
    row: 1,
    server_id: 1,
    ts_sec: 9,
  });
  assert.equal(stored.state, 'streaming');
  const cursor = new LogCursor(stored.state === 'streaming' ? stored.position : assert.fail(), false);
  assert.equal(cursor.position.events, 3);
  cursor.begin({ prefix: `${UUID}:`, number: 6n });
  const published = [0, 1, 2, 3, 4].map(() => {
    const rows = cursor.publishedRows;
    cursor.completeEvent();
    return rows;
  });
  assert.deepEqual(published, [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 1, 0]);
  cursor.end();
  assert.equal(toOffset(cursor.position).gtids, `${UUID}:1-6`);
  const begun = parseOffset({ file: 'b.1', pos: 4, snapshot: 'INITIAL' });
  assert.equal(begun.state, 'snapshotting');
  assert.equal(begun.position?.position, 4);
  assert.deepEqual(parseOffset({ snapshot: 'INITIAL' }), { state: 'snapshotting', position: null });
  assert.equal(parseOffset({ file: 'b.1', pos: 4, snapshot: 'INITIAL', snapshot_completed: true }).state, 'streaming');
  assert.throws(() => parseOffset({ pos: 4 }), /no position in a binary log/);
});

test('what ends a stream is told by what to do about it', () => {
  const packet = (errno: number, message: string): Buffer => {
    const head = Buffer.from([0xff, errno & 255, errno >> 8]);
    return Buffer.concat([head, Buffer.from(`#HY000${message}`)]);
  };
  const code = (errno: number, message: string): string => {
    const bytes = packet(errno, message);
    return streamError(bytes, 0, bytes.length).code;
  };
  assert.equal(code(1236, 'Could not find first log file name in binary log index file'), 'MYSQL_LOG_PURGED');
  assert.equal(code(1236, 'the source has purged required binary logs'), 'MYSQL_LOG_PURGED');
  assert.equal(
    code(1236, 'A replica with the same server_uuid/server_id as this replica has connected'),
    'MYSQL_SERVER_ID_TAKEN',
  );
  assert.equal(code(1053, 'Server shutdown in progress'), 'MYSQL_UNREACHABLE');
  assert.equal(code(1236, 'log event entry exceeded max_allowed_packet'), 'MYSQL_STREAM_FAILED');
  assert.equal(crc32(Buffer.from('123456789')), 0xcbf43926);
});
