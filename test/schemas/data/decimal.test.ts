import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bigintToBytes, bytesToBigint, Decimal } from '../../../schemas/data/index.ts';

describe('Decimal', () => {
  it('keeps the digits and the scale as written', () => {
    for (const text of ['0', '-0.05', '12.50', '123456789012345678901234567890.123', '-1']) {
      assert.equal(Decimal.parse(text).toString(), text);
    }
    assert.equal(Decimal.parse('1e3').toString(), '1000');
    assert.equal(Decimal.parse('1.5e-3').toString(), '0.0015');
  });

  it('refuses what is not a number', () => {
    for (const text of ['', '.', 'NaN', '1,5', '0x10', '1e']) assert.throws(() => Decimal.parse(text), RangeError);
  });

  it('changes scale only where no digit is lost', () => {
    assert.equal(Decimal.parse('1.50').withScale(1).toString(), '1.5');
    assert.equal(Decimal.parse('1.5').withScale(3).toString(), '1.500');
    assert.throws(() => Decimal.parse('1.55').withScale(1), RangeError);
  });
});

describe('two’s complement bytes', () => {
  it('are the shortest form that Java writes, in both directions', () => {
    const known: [bigint, string][] = [
      [0n, '00'],
      [127n, '7f'],
      [128n, '0080'],
      [-1n, 'ff'],
      [-128n, '80'],
      [-129n, 'ff7f'],
      [1154n, '0482'],
      [2n ** 64n, '010000000000000000'],
    ];
    for (const [value, hex] of known) {
      assert.equal(bigintToBytes(value).toString('hex'), hex);
      assert.equal(bytesToBigint(Buffer.from(hex, 'hex')), value);
    }
  });

  it('are right at every length, one below and one above its limits', () => {
    for (let length = 1; length <= 20; length++) {
      const limit = 2n ** BigInt(length * 8 - 1);
      for (const value of [limit - 1n, limit, -limit, -limit - 1n]) {
        const bytes = bigintToBytes(value);
        assert.equal(bytes.length, value === limit - 1n || value === -limit ? length : length + 1, `${value}`);
        const hex = BigInt.asUintN(bytes.length * 8, value).toString(16);
        assert.equal(bytes.toString('hex'), hex.padStart(bytes.length * 2, '0'));
        assert.equal(bytesToBigint(bytes), value);
      }
      const middle = (limit * 11n) / 16n;
      assert.equal(bigintToBytes(-middle).length, length);
      assert.equal(bigintToBytes(middle / 16n).length, bigintToBytes(-middle / 16n).length);
    }
    assert.equal(bytesToBigint(Buffer.from('ffff80', 'hex')), -128n);
  });
});
