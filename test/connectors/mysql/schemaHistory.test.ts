/** Records of a schema history, however the converter of the worker wrapped them, and Debezium's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEntry, SchemaHistory } from '../../../connectors/mysql/source/schemaHistory.ts';

const entry = {
  ddl: 'ALTER TABLE `t` ADD c INT COMMENT \'{"source":1}\'',
  database: 'shop',
  file: 'binlog.000123',
  position: 4711,
  gtid: 'u:7',
  isSnapshot: false,
};
const value = String(new SchemaHistory('history', 'p').record(entry).value);

test('a record is read back as it is, as JSON, as JSON with schema and as Avro', () => {
  const avro = Buffer.concat([Buffer.from([0, 0, 0, 0, 0x7b, 0x90, 0x03]), Buffer.from(value)]).toString();
  const forms = [value, JSON.stringify(value), JSON.stringify({ schema: { type: 'string' }, payload: value }), avro];
  for (const form of forms) assert.deepEqual(readEntry(form, 'p'), entry);
});

test('what another connector wrote, and what is no record, is stepped over', () => {
  assert.equal(readEntry(value, 'other'), null);
  assert.equal(readEntry('{"schema":1}', 'p'), null);
  assert.equal(readEntry('text', 'p'), null);
});

test("Debezium's records are read", () => {
  const text =
    '{"source":{"server":"p"},"position":{"ts_sec":1,"file":"binlog.000001","pos":157,"snapshot":"INITIAL"},"ts_ms":1,"databaseName":"d","ddl":"CREATE TABLE t (id INT)","tableChanges":[]}';
  const { ddl, isSnapshot, gtid, position } = readEntry(text, 'p')!;
  assert.deepEqual([ddl, isSnapshot, gtid, position], ['CREATE TABLE t (id INT)', true, null, 157]);
});
