/** The parts that MariaDB compresses with log_bin_compress: statements and rows. */
import { inflateSync } from 'node:zlib';

/** 0x80 | bytes of the length that follows, the length, big end first, zlib data. */
export function inflatePart(part: Buffer): Buffer {
  const head = part[0]!;
  const size = head & 7;
  if ((head & 0x80) === 0 || size < 1 || size > 4) throw new RangeError('a compressed part is not as MariaDB makes it');
  const length = part.readUIntBE(1, size);
  const out = inflateSync(part.subarray(1 + size), { maxOutputLength: Math.max(length, 1) });
  if (out.length !== length) throw new RangeError('a compressed part has another length than it says');
  return out;
}
