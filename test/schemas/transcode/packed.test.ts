/** MySQL's packed forms against values that are known otherwise: the manual's, and those of Date. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import {
  daysOfDate,
  longPacked,
  packedDate,
  packedDecimalBytes,
  packedDuration,
  packedMoment,
  shortPacked,
  writeMicros,
  writeTimestamp,
} from '../../../schemas/transcode/packed.ts';
import { writeLong } from '../../../schemas/transcode/write.ts';

test('packed decimals have the value of their digits', () => {
  const read = (hex: string, scale: number): [number, string] => {
    const b = Buffer.from(`ff${hex}ff`, 'hex');
    return [shortPacked(b, 1, b.length - 1, scale), longPacked(b, 1, b.length - 1, scale).toString()];
  };
  // DECIMAL(14,4) is the manual's own example
  assert.deepEqual(read('810dfb38d204d2', 4), [12345678901234, '1234567890.1234']);
  assert.deepEqual(read('7ef204c72dfb2d', 4), [-12345678901234, '-1234567890.1234']);
  // DECIMAL(2,2), all behind the point; DECIMAL(9,0); DECIMAL(8,0) in four bytes too
  assert.deepEqual(read('8c', 2), [12, '0.12']);
  assert.deepEqual(read('73', 2), [-12, '-0.12']);
  assert.deepEqual(read('bb9ac9ff', 0), [999999999, '999999999']);
  assert.deepEqual(read('80000000', 0), [0, '0']);
  assert.deepEqual(read('7fffffff', 0), [0, '0']);
  // DECIMAL(18,9) with more than 2^53
  assert.deepEqual(read('bb9ac9ff3b9ac9ff', 9), [Number.NaN, '999999999.999999999']);
  assert.deepEqual(
    [
      [14, 4],
      [2, 2],
      [9, 0],
      [8, 0],
      [65, 30],
    ].map(([precision, scale]) => packedDecimalBytes(precision!, scale!)),
    [7, 1, 4, 4, 30],
  );
});

test('days are those of the calendar, and none for what is no date', () => {
  for (let day = -719_162; day < 2_932_897; day += 97) {
    const date = new Date(day * 864e5);
    const [year, month, ofMonth] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
    assert.equal(daysOfDate(year, month, ofMonth), day);
    const b = Buffer.alloc(3);
    b.writeUIntLE(year * 512 + month * 32 + ofMonth, 0, 3);
    assert.equal(packedDate(b, 0), day);
  }
  const none = [
    [0, 1, 1],
    [2021, 2, 29],
    [1900, 2, 29],
    [2000, 0, 1],
    [2000, 13, 1],
    [2000, 1, 0],
    [2000, 4, 31],
  ] as const;
  for (const [year, month, day] of none)
    assert.ok(Number.isNaN(daysOfDate(year, month, day)), `${year}-${month}-${day}`);
  assert.equal(daysOfDate(2000, 2, 29), 11016);
});

test('moments are seconds since 1970', () => {
  for (const text of ['0001-01-01T00:00:00', '1969-12-31T23:59:59', '2024-02-29T12:34:56', '9999-12-31T23:59:59']) {
    const date = new Date(`${text}Z`);
    const b = Buffer.alloc(5);
    const ymd = (date.getUTCFullYear() * 13 + date.getUTCMonth() + 1) * 32 + date.getUTCDate();
    const hms = date.getUTCHours() * 4096 + date.getUTCMinutes() * 64 + date.getUTCSeconds();
    b.writeUIntBE(0x8000000000 + ymd * 131072 + hms, 0, 5);
    assert.equal(packedMoment(b, 0), date.getTime() / 1000, text);
  }
});

test('durations have their sign and fraction', () => {
  const read = (hex: string, digits: number): number => packedDuration(Buffer.from(hex, 'hex'), 0, digits);
  const hms = (h: number, m: number, s: number): number => h * 4096 + m * 64 + s;
  const hex = (value: number, bytes: number): string => value.toString(16).padStart(bytes * 2, '0');
  assert.equal(read(hex(0x800000 + hms(1, 2, 3), 3), 0), 3_723_000_000);
  assert.equal(read(hex(0x800000 - hms(838, 59, 59), 3), 0), -3_020_399_000_000);
  assert.equal(read(hex(0x800000000000 + hms(0, 0, 1) * 2 ** 24 + 5, 6), 6), 1_000_005);
  assert.equal(read(hex(0x800000000000 - hms(0, 0, 1) * 2 ** 24 - 5, 6), 6), -1_000_005);
  assert.equal(read(hex(0x80000000 - 50, 4), 2), -500_000);
});

test('microseconds are exact where they pass 2^53', () => {
  const out = new OutputBuffer(32);
  const expected = new OutputBuffer(32);
  for (const seconds of [0, -1, -62_135_596_800, 9_007_199_254, 9_007_199_255, 253_402_300_799]) {
    const value = BigInt(seconds) * 1_000_000n + 123_457n;
    const length = writeMicros(out.bytes, 0, seconds, 123_457);
    const whole = writeLong(expected.bytes, 0, Number(BigInt.asIntN(32, value)), Number(value >> 32n));
    assert.equal(out.bytes.toString('hex', 0, length), expected.bytes.toString('hex', 0, whole), String(value));
  }
});

test('timestamps are ISO text with as many digits as asked', () => {
  const text = (seconds: number, micros: number, digits: number): string => {
    const b = Buffer.alloc(40);
    const end = writeTimestamp(b, 0, seconds, micros, digits);
    assert.equal(b[0], (end - 1) << 1);
    return b.toString('latin1', 1, end);
  };
  for (let seconds = 1; seconds < 2 ** 32; seconds += 10_123_457) {
    const iso = new Date(seconds * 1000).toISOString().slice(0, 19);
    assert.equal(text(seconds, 0, 0), `${iso}Z`);
    assert.equal(text(seconds, 1_203, 6), `${iso}.001203Z`);
  }
  assert.equal(text(951_782_400, 120_000, 2), '2000-02-29T00:00:00.12Z');
  assert.equal(text(1, 0, 3), '1970-01-01T00:00:01.000Z');
});
