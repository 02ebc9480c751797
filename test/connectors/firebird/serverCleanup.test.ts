/**
 * The block that a server writes when it is started after a crash, which says that all transactions are dead. It comes with the first connection, so that
 * what another connection began in that moment stands before it, and lives.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { Operation } from '../../../connectors/firebird/journal/readOperations.ts';
import type { JournalBlock } from '../../../connectors/firebird/journal/segmentFile.ts';
import { SEGMENT_HEADER_BYTES } from '../../../connectors/firebird/journal/segmentHeader.ts';
import type { AskCommitState } from '../../../connectors/firebird/source/commitDecisions.ts';
import { stringifyJson } from '../../../schemas/json/exactJson.ts';
import { blocksOf, type FixtureVersion, fixtureSegments } from './fixtureSegments.ts';
import { FixtureStream } from './fixtureStream.ts';

const LENGTH_AT = 40;
const CLEANUP = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 0, 0, 0, Operation.cleanup]);

/** The blocks that are kept of a recorded segment, a cleanup behind those that are chosen, in the folder of a stream. */
function writeSegment(
  stream: FixtureStream,
  path: string,
  isKept: (block: JournalBlock) => boolean,
  isCleanup: (block: JournalBlock) => boolean,
): void {
  const bytes = readFileSync(path);
  const parts = [Buffer.from(bytes.subarray(0, SEGMENT_HEADER_BYTES))];
  for (const block of blocksOf(bytes, path)) {
    if (isKept(block)) parts.push(bytes.subarray(block.position, block.nextPosition));
    if (isCleanup(block)) parts.push(CLEANUP);
  }
  const written = Buffer.concat(parts);
  written.writeBigUInt64LE(BigInt(written.length), LENGTH_AT);
  writeFileSync(join(stream.folder, basename(path)), written);
}

const allBlocks = (version: FixtureVersion): { path: string; block: JournalBlock }[] =>
  fixtureSegments(version).flatMap(path => [...blocksOf(readFileSync(path), path)].map(block => ({ path, block })));

const shown = (stream: FixtureStream): string[] =>
  stream.changes.map(({ op, table, before, after }) => stringifyJson([op, table, before, after])).sort();

/** The database answers as it does long after: what ended by a COMMIT has committed. */
function commitStates(version: FixtureVersion): AskCommitState {
  const committed = new Set<number>();
  for (const { block } of allBlocks(version)) {
    const isCommit = block.isLast && block.bytes[block.end - 1] === Operation.commit;
    if (isCommit) committed.add(block.transaction);
  }
  return async transaction => (committed.has(transaction) ? 'committed' : 'rolled back');
}

const everything = (): boolean => true;

for (const version of ['v4', 'v5'] as const) {
  test(`${version}: a transaction that goes on behind the cleanup of a crash is published whole`, async () => {
    const whole = new FixtureStream(version);
    whole.add();
    await whole.open(null);
    await whole.drain();
    const living = allBlocks(version).filter(({ block }) => !block.isLast);
    for (const [i, { path, block }] of living.entries()) {
      if (i % 6 !== 0) continue;
      const stream = new FixtureStream(version);
      // Of the database, or by the journal alone.
      stream.commitState = i % 12 === 0 ? commitStates(version) : null;
      stream.add();
      writeSegment(stream, path, everything, of => of.position === block.position);
      await stream.open(null, {}, whole.positions);
      await stream.drain();
      assert.deepEqual(shown(stream), shown(whole), `behind ${block.where}`);
      await stream.close();
    }
    await whole.close();
  });
}

/** Transaction 38 begins in segment 3, and is open at its end. */
const SEGMENTS = fixtureSegments('v4');
const isLastOf3 = (block: JournalBlock): boolean => block.transaction === 38;

async function opened(commitState: AskCommitState | null): Promise<FixtureStream> {
  const stream = new FixtureStream('v4');
  stream.commitState = commitState;
  stream.add(0, 2);
  writeSegment(stream, SEGMENTS[2]!, everything, isLastOf3);
  await stream.open(null);
  return stream;
}

const openNow = (stream: FixtureStream): unknown => stream.offsets.at(-1)!.offset.transactions;

test('what the database says is dead is not waited for, and its segments are not needed any more', async () => {
  const states = commitStates('v4');
  for (const state of ['rolled back', 'unknown'] as const) {
    const stream = await opened(async tnx => (tnx === 38 ? state : states(tnx)));
    await stream.drain();
    assert.equal(openNow(stream), '');
    await stream.close();
  }
});

test('without word of the database a transaction is kept over one crash, with its segment, and not over two', async () => {
  const stream = await opened(null);
  await stream.drain();
  assert.equal(openNow(stream), '38:3');
  // The next segment has no block of it.
  writeSegment(
    stream,
    SEGMENTS[3]!,
    block => block.transaction !== 38,
    block => block.transaction === 39,
  );
  await stream.drain();
  assert.equal(openNow(stream), '39:4');
  await stream.close();
});

test('while the database cannot be asked who has lived on, nothing behind the cleanup is published', async () => {
  const states = commitStates('v4');
  let isReachable = false;
  const stream = await opened(async tnx => (tnx === 38 && !isReachable ? 'unreachable' : states(tnx)));
  await assert.rejects(stream.drain(), { code: 'FB_UNREACHABLE', retriable: true, message: /Transaction 38, open at/ });
  isReachable = true;
  stream.add(3, 8);
  await stream.drain();
  assert.equal(openNow(stream), '');
  const whole = new FixtureStream('v4');
  whole.add();
  await whole.open(null);
  await whole.drain();
  assert.deepEqual(shown(stream), shown(whole));
  await whole.close();
  await stream.close();
});
