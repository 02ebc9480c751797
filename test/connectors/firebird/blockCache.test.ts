import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JournalBlock } from '../../../connectors/firebird/journal/segmentFile.ts';
import { BlockCache, type CacheHolder } from '../../../connectors/firebird/source/blockCache.ts';

test('recent blocks are kept, the oldest give way, memory stays what it is', () => {
  const cache = new BlockCache();
  const size = 1_000_000;
  const bytes = Buffer.alloc(size + 20);
  const keep = (from: number, to: number): CacheHolder => {
    const holder: CacheHolder = { bytes: null };
    cache.keep({ bytes, start: from, end: to } as JournalBlock, holder);
    return holder;
  };
  const holders: CacheHolder[] = [];
  for (let i = 0; i < 100; i++) {
    bytes.fill(i, 10, 10 + size);
    holders.push(keep(10, 10 + size));
  }
  const kept = holders.flatMap(({ bytes: of }, i) => (of === null ? [] : [i]));
  assert.ok(kept.length >= 28 && kept.length <= 32, `${kept.length} are kept`);
  assert.deepEqual(
    kept,
    kept.map((_, i) => 100 - kept.length + i),
  );
  for (const i of kept) assert.ok(holders[i]!.bytes!.every(byte => byte === i));
  assert.equal(keep(0, 3 << 20).bytes, null, 'too large');
});

test('many small blocks do not stay for ever either', () => {
  const cache = new BlockCache();
  const bytes = Buffer.from('xy');
  const first: CacheHolder = { bytes: null };
  cache.keep({ bytes, start: 0, end: 1 } as JournalBlock, first);
  assert.equal(first.bytes!.toString(), 'x');
  for (let i = 0; i < 80_000; i++) cache.keep({ bytes, start: 1, end: 2 } as JournalBlock, { bytes: null });
  assert.equal(first.bytes, null);
});
