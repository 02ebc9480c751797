/** From Firebird to Firebird: every type through snapshot, journal and sink, and equal again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sinkPlugin } from '../../../connectors/firebird/sink/index.ts';
import type { ConnectRecord } from '../../../runtime/api/index.ts';
import { plainSinkBatch } from '../../contract/sinkBatches.ts';
import { startSink } from '../../contract/sinkHarness.ts';
import { type FirebirdVersion, TestFirebird } from '../../services/localFirebird.ts';
import { type Change, FirebirdHarness } from './sourceHarness.ts';

const COLUMNS = `ID integer not null primary key, C_SMALLINT smallint, C_INTEGER integer, C_BIGINT bigint, C_INT128 int128, C_NUM4 numeric(4,2),
  C_NUM9 numeric(9,3), C_NUM18 numeric(18,4), C_NUM38 decimal(38,10), C_FLOAT float, C_DOUBLE double precision, C_DEC16 decfloat(16), C_DEC34 decfloat(34),
  C_BOOL boolean, C_DATE date, C_TIME time, C_TS timestamp, C_TIMETZ time with time zone, C_TSTZ timestamp with time zone, C_CHAR char(5),
  C_VARCHAR varchar(30), C_WIN varchar(20) character set win1251, C_CHAR_OCT char(4) character set octets, C_VARBIN varbinary(8),
  C_TEXT blob sub_type text, C_WINTEXT blob sub_type text character set win1251, C_BLOB blob sub_type binary, C_WEST char(5) character set win1252, C_NONE varchar(10) character set none`;

const rows = (first: number): string[] => [
  `insert into T values (${first}, -5, 1234567, 9007199254740993, 170141183460469231731687303715884105727, -1.05, 123456.789, 12345.6789,
    1234567890123456789012345678.0123456789, 1.5, 3.141592653589793, 1234567890.123456, -0.000123456789012345678901234567890123E-20, true,
    date '2024-02-29', time '13:14:15.1234', timestamp '1969-12-31 23:59:59.9999', time '10:11:12.1234 +03:00',
    timestamp '2024-02-29 01:02:03.4567 Europe/Berlin', '😀b', 'Привет 😀😀', 'Жук', x'00ff1011', x'0102ff', 'короткий', 'виндовс', x'000102fffe', '€“a', 'жук')`,
  `insert into T (ID) values (${first + 1})`,
  `insert into T values (${first + 2}, -32768, -2147483648, -9223372036854775808, -170141183460469231731687303715884105728, -99.99, -999999.999,
    -922337203685477.5808, -0.0000000001, -3.4e38, 1.7976931348623157e308, -9.999999999999999E+384, 9.999999999999999999999999999999999E+6144,
    false, date '0001-01-01', time '00:00:00', timestamp '0001-01-01 00:00:00', time '23:59:59.9999 -13:59',
    timestamp '9999-12-30 23:59:59.9999 +00:00', '😀😀😀😀😀', '', '', x'00000000', x'', '', '', '', '', '')`,
];

/** Every column as text, blobs and bytes as hexadecimal. */
const SELECT = `select ID, cast(C_SMALLINT as varchar(60)) a, cast(C_INTEGER as varchar(60)) b, cast(C_BIGINT as varchar(60)) c,
  cast(C_INT128 as varchar(60)) d, cast(C_NUM4 as varchar(60)) e, cast(C_NUM9 as varchar(60)) f, cast(C_NUM18 as varchar(60)) g,
  cast(C_NUM38 as varchar(60)) h, C_FLOAT i, C_DOUBLE j, cast(C_DEC16 as varchar(60)) k, cast(C_DEC34 as varchar(60)) l, C_BOOL m,
  cast(C_DATE as varchar(60)) n, cast(C_TIME as varchar(60)) o, cast(C_TS as varchar(60)) p,
  cast(C_TIMETZ at time zone '+00:00' as varchar(60)) q, cast(C_TSTZ at time zone '+00:00' as varchar(60)) r, cast(C_CHAR as varchar(60)) s,
  cast(C_VARCHAR as varchar(60)) t, cast(C_WIN as varchar(60)) u,
  hex_encode(cast(C_CHAR_OCT as varbinary(20))) v, hex_encode(cast(C_VARBIN as varbinary(20))) w, cast(C_TEXT as varchar(200)) x, cast(C_WINTEXT as varchar(200)) y,
  hex_encode(cast(C_BLOB as varbinary(200))) z, cast(C_WEST as varchar(60)) aa,
  hex_encode(cast(C_NONE as varbinary(20))) ab from T order by ID`;

function sinkBatches(records: readonly ConnectRecord[], firstOffset: number): ReturnType<typeof plainSinkBatch>[] {
  return records.map((record, i) =>
    plainSinkBatch(
      {
        topic: record.topic,
        firstOffset: firstOffset + i,
        keySchema: record.keySchema,
        valueSchema: record.valueSchema,
      } as Parameters<typeof plainSinkBatch>[0],
      [{ key: record.key, value: record.value }] as Parameters<typeof plainSinkBatch>[1],
    ),
  );
}

for (const version of [5, 4] as readonly FirebirdVersion[]) {
  for (const isCreated of [false, true]) {
    const how = isCreated ? 'a table that the sink makes' : 'a table of the same columns';
    test(`Firebird ${version}: all types by snapshot and by journal into ${how}`, async t => {
      const origin = await TestFirebird.create(t, version);
      const target = await TestFirebird.create(t, version);
      await origin.run(`create table T (${COLUMNS})`, ...rows(1));
      if (!isCreated) await target.run(`create table T (${COLUMNS})`);
      const source = new FirebirdHarness(t, origin);
      await source.start();
      await source.pollUntil('the snapshot', changes => changes.length === 3);
      await origin.run(...rows(11));
      await source.pollUntil('the journal', changes => changes.length === 6);
      const shown = ({ after }: Change): unknown => ({ ...after, ID: null });
      // Snapshot and journal give the same values.
      assert.deepEqual(source.changes.slice(3).map(shown), source.changes.slice(0, 3).map(shown));

      await origin.run(
        "update T set C_BIGINT = 9223372036854775807, C_TEXT = 'another' where ID = 1",
        'update T set ID = 99 where ID = 12',
        'delete from T where ID = 3',
        'update T set C_TSTZ = null, C_BLOB = null where ID = 11',
      );
      await source.pollUntil('the changes', changes => changes.at(-1)?.after?.ID === 11);
      await using sink = await startSink(sinkPlugin.createTask(), {
        'connection.url': target.url,
        'connection.user': target.address.user,
        'connection.password': target.address.password,
        'insert.mode': 'upsert',
        'pk.mode': 'record_key',
        'delete.enabled': 'true',
        'auto.create': String(isCreated),
      });
      await sink.deliver(
        ...sinkBatches(
          source.changes.map(change => change.record),
          0,
        ),
      );
      const [expected, actual] = [await origin.query(SELECT), await target.query(SELECT)];
      assert.equal(expected.length, 5);
      assert.deepEqual(actual, expected);
    });
  }
}
