/** Damaged segments: a clear error or the events that are there, never another exception, an endless loop or an event too many. FUZZ_MUTATIONS makes it longer,
 * FAULT_SEED another one. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ClassicEvents } from '../../../connectors/firebird/journal/classicEvents.ts';
import { SegmentFile } from '../../../connectors/firebird/journal/segmentFile.ts';
import { TableHistory } from '../../../connectors/firebird/journal/tableHistory.ts';
import { type JournalEvent, journalEventText } from '../../../schemas/envelope/firebirdJournal.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import { blocksOf, FIXTURE_VERSIONS, fixtureMetadata, fixtureSegments } from './fixtureSegments.ts';

const mutations = Number(process.env.FUZZ_MUTATIONS ?? 4000);
const seed = Number(process.env.FAULT_SEED ?? 7);

/** Repeatable: the same numbers in each run. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const known = FIXTURE_VERSIONS.map(version => {
  const paths = fixtureSegments(version);
  return { version, metadata: fixtureMetadata(version), segments: paths.map(path => readFileSync(path)) };
});

function decode(bytes: Buffer, history: TableHistory | null): { events: JournalEvent[]; error: unknown } {
  const events: JournalEvent[] = [];
  const reader = new ClassicEvents(history);
  try {
    for (const block of blocksOf(bytes, 'segment')) reader.read(block, event => events.push(event));
    return { events, error: null };
  } catch (error) {
    return { events, error };
  }
}

test('flipped bits and overwritten bytes', t => {
  const next = random(seed);
  let errors = 0;
  let slowestMs = 0;
  let events = 0;
  for (let n = 0; n < mutations; n++) {
    const of = known[next(known.length)]!;
    const original = of.segments[next(of.segments.length)]!;
    const bytes = Buffer.from(original);
    for (let i = next(4); i >= 0; i--) {
      const at = next(3) === 0 ? next(200) : next(bytes.length);
      if (next(2) === 0) bytes[at]! ^= 1 << next(8);
      else bytes.writeUInt8(next(256), at);
    }
    const history = new TableHistory(of.metadata);
    for (const { tnx } of of.metadata.history) history.commit(tnx);
    const begun = performance.now();
    let result: { events: JournalEvent[]; error: unknown };
    try {
      result = decode(bytes, next(2) === 0 ? history : null);
    } catch (error) {
      assert.fail(`mutation ${n}: ${error}`);
    }
    slowestMs = Math.max(slowestMs, performance.now() - begun);
    if (result.error === null || result.error instanceof RangeError) {
      // Only a length in the header can make the file end too early.
      if (result.error !== null) assert.match(result.error.message, /compare lengths/, `mutation ${n}`);
    } else {
      errors++;
      assert.ok(result.error instanceof ConnectError, `mutation ${n}: ${(result.error as Error).stack}`);
      assert.match(result.error.code, /^FB_/);
    }
    assert.ok(result.events.length <= bytes.length, `mutation ${n}`);
    events += result.events.length;
  }
  t.diagnostic(
    `FAULT_SEED=${seed}, ${mutations} mutations: ${errors} errors with a code, ${events} events, slowest ${slowestMs.toFixed(0)} ms`,
  );
  assert.ok(errors > mutations / 20, `${errors} of ${mutations} were noticed`);
  assert.ok(slowestMs < 2000, `${slowestMs} ms`);
});

test('a segment that is cut off gives the events before the cut and then an error', async () => {
  const next = random(11);
  const folder = mkdtempSync(join(tmpdir(), 'segments-'));
  try {
    for (const { metadata, segments } of known) {
      const whole = decode(segments[0]!, new TableHistory(metadata)).events.map(journalEventText);
      for (let n = 0; n < 60; n++) {
        const length = next(segments[0]!.length);
        const path = join(folder, 'cut.journal-000000001');
        writeFileSync(path, segments[0]!.subarray(0, length));
        await assert.rejects(SegmentFile.open(path), { code: 'FB_SEGMENT_INVALID' });
        // The same with a header that says so: a block that is cut.
        const bytes = Buffer.from(segments[0]!.subarray(0, Math.max(48, length)));
        bytes.writeBigUInt64LE(BigInt(bytes.length), 40);
        const { events, error } = decode(bytes, new TableHistory(metadata));
        assert.deepEqual(events.map(journalEventText), whole.slice(0, events.length));
        const isAtBlockEnd = [...blocksOf(segments[0]!, '')].some(block => block.position === bytes.length);
        if (!isAtBlockEnd) assert.equal((error as ConnectError).code, 'FB_SEGMENT_INVALID');
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('versions and protocols that are not known stop the reader', () => {
  const { segments } = known[0]!;
  for (const [at, value] of [
    [12, 2],
    [48 + 8, 2],
  ] as const) {
    const bytes = Buffer.from(segments[0]!);
    bytes.writeUInt16LE(value, at);
    assert.throws(() => [...blocksOf(bytes, 'segment')], { code: 'FB_SEGMENT_UNSUPPORTED' });
  }
});
