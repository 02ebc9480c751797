import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textDecoder } from '../../../connectors/firebird/journal/characterSets.ts';

const decode = (charset: number, hex: string): string => {
  const bytes = Buffer.from(hex, 'hex');
  return textDecoder(charset)(bytes, 0, bytes.length);
};

test('single-byte character sets', () => {
  assert.equal(decode(53, '80939499'), '€“”™', 'WIN1252');
  assert.equal(decode(53, '81'), '\u0081', 'a control character');
  assert.equal(decode(52, 'cff0e8e2e5f2'), 'Привет', 'WIN1251');
  assert.equal(decode(10, '41e181'), 'Aßü', 'DOS437');
  assert.equal(decode(11, '9bd5'), 'øı', 'DOS850');
  assert.equal(decode(48, '7f8fe0a8'), '\u007fПри', 'DOS866');
  assert.equal(decode(18, '25c7'), '٪ﺍ', 'DOS864');
  assert.equal(decode(64, 'aebe'), 'ўЎ', 'KOI8U');
  assert.equal(decode(21, '80a4'), '\u0080¤', 'ISO8859_1');
  assert.equal(decode(39, '80fd'), '\u0080ı', 'ISO8859_9');
  assert.equal(decode(2, '4142'), 'AB', 'ASCII');
});

test('bytes that are no characters are an error', () => {
  for (const [charset, hex] of [
    [2, '41c4'],
    [0, 'cff0'],
    [19, 'ff'],
    [37, 'ae'],
    [69, '41ff'],
    [200, '41'],
  ] as const)
    assert.throws(() => decode(charset, hex), { code: 'FB_VALUE_INVALID' }, `character set ${charset}`);
});
