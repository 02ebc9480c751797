import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Decimal128 } from 'mongodb';
import { writeDecimal128 } from '../../../connectors/mongodb/decimal128.ts';
import { Decimal } from '../../../schemas/data/index.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';

const written = (value: Decimal): Buffer => {
  const out = new OutputBuffer(1);
  writeDecimal128(value, out);
  return Buffer.from(out.written());
};

test('gives the bytes that the driver has for the same number', () => {
  const nines = '9'.repeat(34);
  for (const text of ['0', '0.00', '1', '-1', '1.50', '-12345678901234567890.12', `-${nines}`, `0.${nines}`, '1e-6176'])
    assert.deepEqual(written(Decimal.parse(text)), Buffer.from(Decimal128.fromString(text).bytes), text);
});

test('holds larger numbers where their digits end in zeros', () => {
  assert.equal(
    new Decimal128(written(new Decimal(10n ** 40n, 0))).toString(),
    '1.000000000000000000000000000000000E+40',
  );
  assert.equal(new Decimal128(written(new Decimal(12n, -6140))).toString(), `1.2${'0'.repeat(29)}E+6141`);
  assert.equal(new Decimal128(written(new Decimal(0n, 2_000_000_000))).toString(), '0E-6176');
});

test('refuses what it would have to round', () => {
  for (const value of [new Decimal(10n ** 34n + 1n, 0), new Decimal(1n, 6177), new Decimal(1n, -6145)])
    assert.throws(() => written(value), RangeError);
});
