/** Transactions that are sent while they are open: what is held, in memory and in files, and what is given out at the commit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockPool, HeldBytes } from '../../../connectors/postgres/source/heldBytes.ts';
import { HeldTransactions, NeedsCommitted } from '../../../connectors/postgres/source/heldTransactions.ts';

const MIB = 1024 * 1024;

function message(payload: Buffer, lsn = 1n): Buffer {
  const head = Buffer.alloc(30);
  head[0] = 0x64;
  head.writeInt32BE(29 + payload.length, 1);
  head[5] = 0x77;
  head.writeBigUInt64BE(lsn, 6);
  return Buffer.concat([head, payload]);
}
const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const tagged = (tag: string, ...parts: (number | Buffer)[]): Buffer =>
  Buffer.concat([Buffer.from(tag), ...parts.map(part => (typeof part === 'number' ? int(part) : part))]);
const start = (xid: number): Buffer => message(tagged('S', xid, Buffer.of(1)));
const stop = message(Buffer.from('E'));
const change = (xid: number, text: string, lsn: bigint): Buffer => message(tagged('I', xid, Buffer.from(text)), lsn);
const abort = (top: number, sub: number): Buffer => message(tagged('A', top, sub));
const commit = (xid: number): Buffer => message(tagged('c', xid, Buffer.alloc(25, 7)));
const keepalive = Buffer.from([0x64, 0, 0, 0, 22, 0x6b, ...new Array(17).fill(0)]);

const all = (): boolean => true;

/** Tags and texts of the messages that come at the commits, with the bytes arriving in pieces of `size`. */
async function replayed(held: HeldTransactions, bytes: Buffer, size: number): Promise<string[]> {
  const out: string[] = [];
  let controls = 0;
  for (let at = 0, given = size; at < bytes.length; given += size) {
    const { next, replay } = await held.take(bytes.subarray(at, given), 0, () => controls++);
    at += next;
    if (replay === null) continue;
    given = at;
    for (let piece = await replay.next(Buffer.alloc(0)); piece !== null; piece = await replay.next(Buffer.alloc(0))) {
      for (let p = 0; p < piece.length; p += 1 + piece.readInt32BE(p + 1)) {
        const end = p + 1 + piece.readInt32BE(p + 1);
        const tag = piece.toString('latin1', p + 30, p + 31);
        out.push(tag === 'I' ? `I ${piece.toString('utf8', p + 31, end)}` : `${tag} ${piece.readBigUInt64BE(p + 6)}`);
      }
    }
    await replay.close();
  }
  out.push(`${controls} controls`);
  return out;
}

test('segments of two transactions are taken apart; what was rolled back is left out; descriptions stay', async () => {
  const bytes = Buffer.concat([
    start(10),
    message(tagged('R', 11, Buffer.from('relation'))),
    change(11, 'gone', 5n),
    change(10, 'first', 6n),
    keepalive,
    stop,
    start(20),
    change(20, 'other', 7n),
    stop,
    start(10),
    change(12, 'second', 8n),
    stop,
    abort(10, 11),
    commit(20),
    commit(10),
    start(30),
    change(30, 'never', 9n),
    stop,
    abort(30, 30),
  ]);
  for (const size of [1, 7, 64, bytes.length]) {
    const held = new HeldTransactions(MIB, all);
    const shown = await replayed(held, bytes, size);
    // B has the LSN of the first change that counts, as the server gives it after a commit.
    assert.deepEqual(shown.slice(0, -1), ['B 7', 'I other', 'C 1', 'B 6', 'R 1', 'I first', 'I second', 'C 1']);
    assert.equal(shown.at(-1), '1 controls');
  }
});

test('prepared transactions come at COMMIT PREPARED, those that are published never, and the oldest one is known', async () => {
  const long = (value: bigint): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(value);
    return bytes;
  };
  const [time, flags, gid] = [long(0n), Buffer.of(0), Buffer.from('gid\0')];
  const begin = (xid: number, lsn: bigint): Buffer => message(tagged('b', long(lsn), long(lsn + 1n), time, xid, gid));
  const prepare = (tag: 'P' | 'p', xid: number, lsn: bigint): Buffer =>
    message(tagged(tag, flags, long(lsn), long(lsn + 1n), time, xid, gid));
  const end = (xid: number, lsn: bigint): Buffer =>
    message(tagged('K', flags, long(lsn), long(lsn + 1n), time, xid, gid), lsn);
  const rollback = (xid: number): Buffer => message(tagged('r', flags, time, time, time, time, xid, gid));
  const plain = (text: string, lsn: bigint): Buffer => message(tagged('I', Buffer.from(text)), lsn);
  const head = Buffer.concat([
    begin(1, 10n),
    message(tagged('R', Buffer.from('relation')), 8n),
    plain('of 1', 9n),
    prepare('P', 1, 10n),
    start(2),
    change(3, 'gone', 11n),
    change(2, 'of 2', 12n),
    stop,
    abort(2, 3),
    prepare('p', 2, 13n),
    begin(4, 14n),
    plain('never', 14n),
    prepare('P', 4, 14n),
    begin(5, 15n),
    plain('published', 15n),
    prepare('P', 5, 15n),
    prepare('P', 6, 15n),
    prepare('P', 7, 15n),
  ]);
  const tail = Buffer.concat([end(6, 33n), rollback(7), rollback(4), end(5, 20n), end(2, 31n), end(1, 32n)]);
  for (const size of [1, 7, 64, head.length + tail.length]) {
    const held = new HeldTransactions(MIB, all);
    held.publishedBefore = 30n;
    assert.deepEqual(await replayed(held, head, size), ['0 controls']);
    assert.equal(held.oldestPrepared, 10n);
    assert.deepEqual(
      held.described.splice(0).map(bytes => bytes.toString()),
      ['Rrelation'],
    );
    const shown = await replayed(held, tail, size);
    assert.deepEqual(shown, ['B 12', 'I of 2', 'C 31', 'B 9', 'R 8', 'I of 1', 'C 32', '0 controls']);
    assert.equal(held.oldestPrepared, null);
    await assert.rejects(replayed(held, end(8, 41n), size), { code: 'PG_PROTOCOL_INVALID' });
  }
});

test('a transaction of which nothing is left has no beginning and no end, but its descriptions', async () => {
  const relation = message(tagged('R', 2, Buffer.from('relation')), 3n);
  const bytes = Buffer.concat([start(1), relation, change(2, 'gone', 4n), stop, abort(1, 2), commit(1)]);
  assert.deepEqual(await replayed(new HeldTransactions(MIB, all), bytes, 50), ['R 3', '0 controls']);
});

test('a message of another kind ends the taking, and so does a piece that is cut', async () => {
  const held = new HeldTransactions(MIB, all);
  const begin = message(tagged('B', Buffer.alloc(20)));
  const bytes = Buffer.concat([start(1), change(1, 'a', 1n), stop, begin]);
  assert.deepEqual(await held.take(bytes, 0, () => {}), { next: bytes.length - begin.length, replay: null });
  assert.equal(held.isInSegment, false);
  const cut = Buffer.concat([start(1), change(1, 'b', 1n).subarray(0, 20)]);
  assert.equal((await held.take(cut, 0, () => {})).next, start(1).length);
  assert.equal(held.isInSegment, true);
});

test('a transaction larger than the memory for it comes back whole, and its memory is free again', async () => {
  const held = new HeldTransactions(MIB, all);
  const rows = 6000;
  const parts = [start(1)];
  for (let i = 0; i < rows; i++) parts.push(change(1, `${i} ${'x'.repeat(i === 3000 ? 700_000 : 1000)}`, BigInt(i)));
  parts.push(stop, commit(1));
  const shown = await replayed(held, Buffer.concat(parts), 300_000);
  assert.deepEqual(
    shown.filter(text => text.startsWith('I')).map(text => Number(text.split(' ')[1])),
    Array.from({ length: rows }, (_, i) => i),
  );
  assert.equal(shown[3001]!.length, 700_000 + 'I 3000 '.length);
});

test('logical messages beside a part that was rolled back cannot be told apart', async () => {
  const logical = message(tagged('M', 1, Buffer.alloc(9), Buffer.from('p\0'), 0));
  const bytes = (isAborted: boolean): Buffer =>
    Buffer.concat([start(1), logical, stop, ...(isAborted ? [abort(1, 2)] : []), commit(1)]);
  const take = (isAborted: boolean, isWanted: boolean): Promise<unknown> =>
    new HeldTransactions(MIB, () => isWanted).take(bytes(isAborted), 0, () => {});
  await assert.rejects(take(true, true), NeedsCommitted);
  await take(true, false);
  await take(false, true);
});

test('held bytes are read at any place, from file and memory', async () => {
  const pool = new BlockPool(MIB);
  const held = new HeldBytes(pool);
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
  held.append(bytes, 0, 100_000);
  await held.spill();
  held.append(bytes, 100_000, 150_000);
  await held.spill();
  held.append(bytes, 150_000, 300_000);
  assert.equal(held.memoryBytes, pool.usedBytes);
  for (const [position, length] of [
    [0, 300_000],
    [99_990, 20],
    [149_000, 70_000],
    [299_999, 1],
    [160_000, 65_536],
  ] as const) {
    const into = Buffer.alloc(length + 3);
    assert.equal(await held.read(position, into, 3), length);
    assert.equal(into.subarray(3).equals(bytes.subarray(position, position + length)), true, `${position} ${length}`);
  }
  await held.close();
  assert.equal(pool.usedBytes, 0);
});
