/** Segments are read block by block, whatever their size and that of their blocks. */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SegmentFile } from '../../../connectors/firebird/journal/segmentFile.ts';
import { fixtureSegments } from './fixtureSegments.ts';

const HEADER_BYTES = 48;
const BLOCK_HEADER_BYTES = 16;

/** Writes a segment with blocks of the given lengths, each filled with its number. */
function writeSegment(path: string, lengths: readonly number[]): void {
  const header = Buffer.from(readFileSync(fixtureSegments('v5')[0]!).subarray(0, HEADER_BYTES));
  const total = lengths.reduce((sum, length) => sum + BLOCK_HEADER_BYTES + length, HEADER_BYTES);
  header.writeBigUInt64LE(BigInt(total), 40);
  const file = openSync(path, 'w');
  writeSync(file, header);
  for (const [i, length] of lengths.entries()) {
    const block = Buffer.alloc(BLOCK_HEADER_BYTES + length, i);
    block.fill(0, 0, BLOCK_HEADER_BYTES);
    block.writeUInt32LE(7, 0);
    block.writeUInt16LE(1, 8);
    block.writeUInt32LE(length, 12);
    writeSync(file, block);
  }
  closeSync(file);
}

test('memory grows with the largest block, not with the segment', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'segments-'));
  const path = join(folder, 'large.journal-000000001');
  const lengths = [5, 3 << 20, 0, 1 << 20, 7, ...Array.from({ length: 20 }, () => 1 << 20)];
  writeSegment(path, lengths);
  const segment = await SegmentFile.open(path);
  try {
    const buffers = new Set<number>();
    for (const [i, length] of lengths.entries()) {
      const block = (await segment.next())!;
      assert.equal(block.length, length);
      assert.ok(block.bytes.subarray(block.start, block.end).every(byte => byte === i));
      buffers.add(block.bytes.length);
    }
    assert.equal(await segment.next(), null);
    assert.ok(Math.max(...buffers) <= 4 << 20, `a buffer of ${Math.max(...buffers)} bytes`);
  } finally {
    await segment.close();
    rmSync(folder, { recursive: true });
  }
});
