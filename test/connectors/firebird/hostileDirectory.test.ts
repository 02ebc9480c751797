/** A directory that is not as it should be: a wait or a clear error, never a wrong event. */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import type { CommitState } from '../../../connectors/firebird/source/commitStates.ts';
import { stringifyJson } from '../../../schemas/json/exactJson.ts';
import { fixtureSegments } from './fixtureSegments.ts';
import { FixtureStream } from './fixtureStream.ts';

const SEGMENTS = fixtureSegments('v4');
const name = (i: number): string => basename(SEGMENTS[i]!);

async function opened(options: Record<string, string> = {}): Promise<FixtureStream> {
  const stream = new FixtureStream('v4');
  stream.add(0, 2);
  await stream.open(null, options);
  await stream.drain();
  return stream;
}

test('a missing segment is told, and nothing behind it is published', async () => {
  const stream = await opened();
  const { length } = stream.changes;
  stream.add(3, 8);
  await assert.rejects(stream.drain(), { code: 'FB_SEGMENT_MISSING', message: /Segment 3 is not in .* but 4 is/ });
  assert.equal(stream.changes.length, length);
  stream.add(2, 3);
  await stream.drain();
  assert.ok(stream.changes.length > length);
  await stream.close();
});

test('a segment that is still being copied is waited for', async () => {
  const stream = await opened({ 'error.timeout.ms': '60000' });
  const { length } = stream.changes;
  const bytes = readFileSync(SEGMENTS[2]!);
  for (const part of [10, 48, 5000, bytes.length - 1]) {
    writeFileSync(join(stream.folder, name(2)), bytes.subarray(0, part));
    await stream.drain();
    assert.equal(stream.changes.length, length);
  }
  writeFileSync(join(stream.folder, name(2)), bytes);
  await stream.drain();
  assert.ok(stream.changes.length > length);
  await stream.close();
});

test("another database's segments, temporary names and segments that are not archived are no segments", async () => {
  const stream = await opened();
  const { length } = stream.changes;
  const other = fixtureSegments('v5')[2]!;
  copyFileSync(other, join(stream.folder, 'other.fdb.journal-000000003'));
  copyFileSync(SEGMENTS[2]!, join(stream.folder, `${name(2)}.tmp`));
  const used = Buffer.from(readFileSync(SEGMENTS[2]!));
  used.writeUInt16LE(1, 14);
  writeFileSync(join(stream.folder, name(2)), used);
  await stream.drain();
  assert.equal(stream.changes.length, length);
  cpSync(SEGMENTS[2]!, join(stream.folder, name(2)));
  await stream.drain();
  assert.ok(stream.changes.length > length);
  await stream.close();
});

test('a damaged segment fails the task, with file and byte, after error.timeout.ms', async () => {
  const stream = await opened();
  const bytes = Buffer.from(readFileSync(SEGMENTS[2]!));
  // The length of the first block.
  bytes.writeUInt32LE(0xffffff, 48 + 12);
  writeFileSync(join(stream.folder, name(2)), bytes);
  await assert.rejects(stream.drain(), {
    code: 'FB_SEGMENT_INVALID',
    message: /journal-000000003, byte 48: a block of 16777215 bytes runs past/,
  });
  writeFileSync(join(stream.folder, name(2)), 'this is no journal segment, whatever its name says: long enough');
  await assert.rejects(stream.drain(), { code: 'FB_SEGMENT_INVALID', message: /does not begin with FBCHANGELOG/ });
  await stream.close();
});

const SEQUENCE_AT = 32;

const LENGTH_AT = 40;

function emptySegment(index: number): Buffer {
  const bytes = Buffer.from(readFileSync(SEGMENTS[index]!).subarray(0, 48));
  bytes.writeBigUInt64LE(48n, LENGTH_AT);
  return bytes;
}

/** Like `name`, with the contents of another segment under its own number, as the server writes it after a crash. */
function writeAgain(stream: FixtureStream, index: number, contents: number): void {
  const path = join(stream.folder, name(index));
  const bytes = Buffer.from(readFileSync(SEGMENTS[contents]!));
  bytes.writeBigUInt64LE(BigInt(index + 1), SEQUENCE_AT);
  writeFileSync(path, bytes);
  // Quiet for long enough.
  const past = new Date(Date.now() - 60_000);
  utimesSync(path, past, past);
}

test('what a segment has when it is written again is published, whether the source was restarted before or not', async () => {
  const changes: string[][] = [];
  for (const restarts of [false, true]) {
    const stream = new FixtureStream('v4');
    // No transaction ends in segment 4.
    stream.add(0, 4);
    await stream.open(null);
    await stream.drain();
    const { offset } = stream.offsets.at(-1)!;
    assert.match(String(offset.pending), /^4:/);
    if (restarts) {
      await stream.stream.close();
      await stream.open(offset, {}, stream.positions);
      await stream.drain();
    }
    const { length } = stream.changes;
    writeAgain(stream, 3, 5);
    await stream.drain();
    changes.push(
      stream.changes.slice(length).map(({ op, table, after }) => `${op} ${table} ${JSON.stringify(after?.ID)}`),
    );
    await stream.close();
  }
  assert.ok(changes[0]!.length > 0);
  assert.deepEqual(changes[1], changes[0]);
});

const shown = (stream: FixtureStream): string[] =>
  stream.changes.map(({ op, table, before, after }) => stringifyJson([op, table, before, after])).sort();

test('a segment that an earlier crash left behind is replaced: what is open since before it goes on', async () => {
  const whole = new FixtureStream('v4');
  whole.add();
  await whole.open(null);
  await whole.drain();
  for (const restarts of [false, true]) {
    const stream = new FixtureStream('v4');
    stream.add(0, 3);
    // Nothing in it: it stands for what lost transactions wrote.
    writeFileSync(join(stream.folder, name(3)), emptySegment(3));
    await stream.open(null);
    await stream.drain();
    const { offset } = stream.offsets.at(-1)!;
    assert.match(String(offset.transactions), /:3$/, 'a transaction is open since segment 3');
    assert.match(String(offset.pending), /4:/);
    if (restarts) await stream.stream.close();
    writeAgain(stream, 3, 3);
    stream.add(4, 8);
    if (restarts) await stream.open(offset, {}, whole.positions);
    await stream.drain();
    assert.deepEqual(shown(stream), shown(whole));
    await stream.close();
  }
  await whole.close();
});

test('a segment without the end of a transaction that is written again is read again', async () => {
  // No transaction ends in segment 4.
  const stream = new FixtureStream('v4');
  stream.add(0, 4);
  await stream.open(null);
  await stream.drain();
  const pending = String(stream.offsets.at(-1)!.offset.pending);
  const { length } = stream.changes;
  assert.notEqual(pending, '');
  const sequence = Number(pending.split(':')[0]);
  const path = join(stream.folder, name(sequence - 1));
  // The server begins it anew: nothing in it any more.
  writeFileSync(path, emptySegment(sequence - 1));
  const past = new Date(Date.now() - 60_000);
  utimesSync(path, past, past);
  for (let later = sequence; later < 8; later++) rmSync(join(stream.folder, name(later)), { force: true });
  await stream.drain();
  const { offset } = stream.offsets.at(-1)!;
  assert.equal(offset.transactions, '', 'what was open is dropped');
  assert.equal(stream.changes.length, length);
  await stream.close();
});

test('a segment that is written again while it is read again up to the stored position is read as new', async () => {
  const stream = new FixtureStream('v4');
  stream.add(0, 4);
  await stream.open(null);
  await stream.drain();
  const { offset } = stream.offsets.at(-1)!;
  const number = Number(String(offset.pending).split(':')[0]);
  const { length } = stream.changes;
  await stream.stream.close();
  await stream.open(offset, {}, stream.positions);
  writeAgain(stream, number - 1, 0);
  await stream.drain();
  assert.ok(stream.changes.length > length, 'changes of the new contents');
  await stream.close();
});

test('a segment whose COMMITs have all not come about may be written again', async () => {
  const stream = new FixtureStream('v4');
  let state: CommitState = 'committed';
  stream.commitState = async () => state;
  stream.add(0, 2);
  await stream.open(null);
  await stream.drain();
  const { length } = stream.changes;
  assert.ok(length > 0);
  assert.equal(stream.offsets.at(-1)!.offset.pending, '');
  state = 'rolled back';
  stream.add(2, 3);
  await stream.drain();
  assert.equal(stream.changes.length, length);
  assert.match(String(stream.offsets.at(-1)!.offset.pending), /^3:/);
  state = 'committed';
  writeAgain(stream, 2, 0);
  await stream.drain();
  assert.ok(stream.changes.length > length, 'changes of the new contents');
  await stream.close();
});
