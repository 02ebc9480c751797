import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import {
  civilFromDays,
  daysFromCivil,
  formatTimestampUs,
  formatTimeUs,
  parseTimestampUs,
  parseTimeUs,
  quickTimestampUs,
} from '../../../connectors/shared/isoTime.ts';

describe('ISO times', () => {
  it('agree with Date over the years that both know', () => {
    for (let day = -800_000; day <= 3_000_000; day += 997) {
      const date = new Date(day * 86_400_000);
      const { year, month, day: ofMonth } = civilFromDays(day);
      assert.deepEqual([year, month, ofMonth], [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]);
      assert.equal(daysFromCivil(year, month, ofMonth), day);
      const iso = date.toISOString();
      assert.equal(parseTimestampUs(iso), BigInt(date.getTime()) * 1000n);
      assert.equal(
        parseTimestampUs(formatTimestampUs(BigInt(day) * 86_400_000_000n + 123n)),
        BigInt(day) * 86_400_000_000n + 123n,
      );
    }
  });

  it('are read the same on the quick way and the thorough one', () => {
    const texts = [
      '2021-03-04T03:06:07Z',
      '2021-03-04T03:06:07.5Z',
      '1969-12-31T23:59:59.999999Z',
      '1720-01-01T00:00:00.000001Z',
      '2220-12-31T23:59:59.999999Z',
    ];
    for (const text of texts) assert.equal(BigInt(quickTimestampUs(text)), parseTimestampUs(text), text);
    const others = [
      '2021-03-04T03:06:07',
      '0001-01-01T00:00:00.000001Z',
      '2024-02-29T03:06:07Z',
      '2021-04-31T03:06:07Z',
      '2021-0a-04T03:06:07Z',
      '2021-03-04T03:06:07.1234567Z',
      'infinity',
      '',
    ];
    for (const text of others) assert.ok(Number.isNaN(quickTimestampUs(text)), text);
  });

  it('know zones, and refuse what does not exist or is finer than microseconds', () => {
    assert.equal(parseTimestampUs('2021-03-04T03:00:00+05:30'), parseTimestampUs('2021-03-03T21:30:00Z'));
    assert.equal(parseTimestampUs('2021-03-04 03:00:00-08'), parseTimestampUs('2021-03-04T11:00:00Z'));
    assert.equal(parseTimestampUs('2021-03-31T00:00:00.123456000Z') % 1_000_000n, 123_456n);
    assert.deepEqual(parseTimeUs('12:00:00.5+05:30'), { timeUs: 43_200_500_000, zoneSeconds: 19_800 });
    for (const text of [
      '2021-02-29T00:00:00Z',
      '2021-13-01',
      '2021-03-04T25:00:00Z',
      '2021-03-04T00:00:00.1234567Z',
      'today',
    ])
      assert.throws(() => parseTimestampUs(text), RangeError, text);
  });
});

test('spans of time before zero are written with their sign', () => {
  const second = 1_000_000;
  assert.deepEqual(
    [-1, -second, -(12 * 3600 + 30 * 60 + 15.123) * second, -(838 * 3600 + 59 * 60 + 59) * second, 0].map(formatTimeUs),
    ['-00:00:00.000001', '-00:00:01', '-12:30:15.123', '-838:59:59', '00:00:00'],
  );
});
