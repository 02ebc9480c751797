/** Literals that are written digit by digit, against the plain way of writing them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { integerWriter, writeQuoted } from '../../../../connectors/mysql/sink/literals.ts';
import { dateWriter, timestampWriter, timeWriter } from '../../../../connectors/mysql/sink/temporalWriters.ts';
import { formatDate, formatTimestampUs, formatTimeUs } from '../../../../connectors/shared/isoTime.ts';
import type { FieldWriter } from '../../../../connectors/shared/tupleFields.ts';
import { OutputBuffer } from '../../../../schemas/outputBuffer.ts';

function literal(write: FieldWriter, value: unknown): string {
  const out = new OutputBuffer(16);
  write(value, out);
  assert.equal(out.bytes.readInt32BE(0), out.position - 4);
  return out.bytes.toString('utf8', 4, out.position);
}

/** The same numbers on every run. */
function pseudoRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const withFraction = (text: string): string =>
  text.includes('.') ? text.padEnd(text.indexOf('.') + 7, '0') : `${text}.000000`;

describe('literals', () => {
  it('writes timestamps, dates and times as they are, over their whole range', () => {
    const random = pseudoRandom(7);
    const timestamp = timestampWriter('timestampUs', 6)!;
    const seconds = timestampWriter('timestampUs', 0)!;
    const date = dateWriter('date')!;
    const time = timeWriter('timeUs', 6)!;
    for (let i = 0; i < 20_000; i++) {
      // Half of them within the years that are quick.
      const us =
        BigInt(Math.floor((random() - 0.5) * (i % 2 === 0 ? 1.5e16 : 1.2e17))) + (i % 2 === 0 ? 0n : 9n * 10n ** 16n);
      const text = formatTimestampUs(us).replace('T', ' ');
      assert.equal(literal(timestamp, us), `'${withFraction(text)}'`);
      const whole = us - (((us % 1_000_000n) + 1_000_000n) % 1_000_000n);
      assert.equal(literal(seconds, whole), `'${formatTimestampUs(whole).replace('T', ' ')}'`);
      const days = Math.floor(random() * 3_600_000) - 700_000;
      if (days <= 2_932_896) assert.equal(literal(date, days), `'${formatDate(days)}'`);
      const timeUs = Math.floor(random() * 3.02e12);
      assert.equal(literal(time, timeUs), `'${withFraction(formatTimeUs(timeUs))}'`);
      assert.equal(literal(time, -timeUs - 1), `'-${withFraction(formatTimeUs(timeUs + 1))}'`);
    }
    assert.throws(() => literal(seconds, 1n), /more than 0 digits of a second/);
    assert.throws(() => literal(timestampWriter('timestampUs', 3)!, 1_001n), /more than 3 digits/);
    assert.equal(literal(timestampWriter('string', 2)!, '0000-00-00 00:00:00.5'), "'0000-00-00 00:00:00.50'");
    assert.throws(() => literal(timestampWriter('string', 0)!, '0000-00-00 00:00:00.5'), RangeError);
  });

  it('writes whole numbers up to their bounds', () => {
    const write = integerWriter(-(2n ** 63n), 2n ** 64n - 1n);
    for (const value of [0, -0, 9, 10, -10, 99, 100, 2 ** 31 - 1, -(2 ** 31), 2 ** 53 - 1, 1_000_000_000, 999_999_999])
      assert.equal(literal(write, value), String(value));
    for (const value of [2n ** 64n - 1n, -(2n ** 63n), 7n]) assert.equal(literal(write, value), value.toString());
    const small = integerWriter(-128n, 127n);
    assert.equal(literal(small, -128), '-128');
    for (const value of [128, -129, 128n, 1.5, 'x']) assert.throws(() => literal(small, value), RangeError);
  });

  it('escapes quotes and backslashes in texts of any length, and nothing else', () => {
    for (const length of [0, 1, 30, 39, 40, 41, 200])
      for (const tail of ['', "'", '\\', 'é', '😀', '\0', "\\'", '\n'])
        assert.equal(
          literal(writeQuoted as FieldWriter, 'a'.repeat(length) + tail),
          `'${'a'.repeat(length)}${tail.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`,
        );
  });
});
