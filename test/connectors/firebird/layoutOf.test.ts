/** Which of several layouts of one length a record has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layoutOf } from '../../../connectors/firebird/journal/layoutOf.ts';
import { DataType, type FormatField, type RecordFormat } from '../../../connectors/firebird/journal/recordFormat.ts';
import { TableState } from '../../../connectors/firebird/journal/tableState.ts';

const LENGTH = 16;

const field = (dtype: number, offset: number, length: number): FormatField => ({
  dtype,
  scale: 0,
  length,
  subType: 0,
  flags: 0,
  offset,
});
/** Two columns of 16 bytes in all: with a text of 10 bytes or of 6. */
const format = (number: number, textBytes: 10 | 6): RecordFormat => ({
  format: number,
  length: LENGTH,
  fields: [field(DataType.varchar, 4, textBytes), field(DataType.varchar, 4 + textBytes, 12 - textBytes)],
});

function formatOf(current: number, formats: readonly RecordFormat[], record: Buffer, isAltering = false): number {
  const fields = ['A', 'B'].map((name, id) => ({ id, name, position: id }));
  const table = new TableState(1, 'T', current, formats, fields, new Map(), []);
  return layoutOf({ tables: new Map([['T', table]]), isAltering }, 'T', record, 0, LENGTH, 7).format.format;
}

test('a record has the nearest layout of its length, of two as near the older one', () => {
  const record = Buffer.alloc(LENGTH);
  const formats = [2, 7, 9, 20].map(number => format(number, 10));
  assert.equal(formatOf(8, formats, record), 7);
  assert.equal(formatOf(9, formats, record), 9);
  assert.equal(formatOf(19, formats, record), 20);
  assert.equal(formatOf(3, formats, record), 2);
});

test('while DDL is under way the next layout goes before an older one', () => {
  const record = Buffer.alloc(LENGTH);
  const formats = [2, 7, 9, 20].map(number => format(number, 10));
  assert.equal(formatOf(8, formats, record, true), 9);
  assert.equal(formatOf(7, formats, record, true), 7);
  assert.equal(formatOf(19, formats, record, true), 20);
  assert.equal(formatOf(3, formats, record, true), 2);
});

test('a layout in which a value would be impossible is passed over for one that fits', () => {
  const record = Buffer.alloc(LENGTH);
  record.writeUInt16LE(8, 4);
  assert.equal(formatOf(2, [format(1, 10), format(2, 6)], record), 1);
  record.writeUInt16LE(9, 4);
  assert.equal(formatOf(2, [format(1, 10), format(2, 6)], record), 2, 'none fits: the nearest fails where it is read');
});
