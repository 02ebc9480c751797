/** A COMMIT in the journal counts only when the database has it too: what is asked, and what comes of each answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommitAnswer, type CommitState, CommitStates } from '../../../connectors/firebird/source/commitStates.ts';
import type { Struct } from '../../../schemas/data/index.ts';
import { type JsonValue, parseJson } from '../../../schemas/json/exactJson.ts';
import { FixtureStream } from './fixtureStream.ts';
import type { Change } from './sourceHarness.ts';

test('one question answers for a range; what is open is asked again, what is decided never', async () => {
  const asked: string[] = [];
  let answer: (from: number, to: number) => CommitAnswer = () => ({ from: 0, to: 0, others: new Map() });
  const states = new CommitStates(async (from, to) => {
    asked.push(`${from}-${to}`);
    return answer(from, to);
  });
  answer = (from, to) => ({
    from,
    to: Math.min(to, 5100),
    others: new Map<number, CommitState>([
      [5001, 'rolled back'],
      [5002, 'open'],
    ]),
  });
  assert.equal(await states.of(5000), 'committed');
  assert.equal(await states.of(5001), 'rolled back');
  assert.equal(await states.of(5099), 'committed');
  assert.deepEqual(asked, ['4000-54000']);
  assert.equal(await states.of(5002), 'open');
  assert.deepEqual(asked.splice(0), ['4000-54000', '4002-54002']);
  answer = (from, to) => ({ from, to, others: new Map() });
  assert.equal(await states.of(5002), 'committed');
  // Long ago: asked by itself, so that what is known of the others stays.
  assert.equal(await states.of(12), 'committed');
  assert.equal(await states.of(5003), 'committed');
  assert.deepEqual(asked, ['4002-54002', '12-13']);
  answer = from => ({ from, to: from, others: new Map() });
  assert.equal(await states.of(60_000), 'unknown');
});

const sourceOf = ({ record }: Change): Struct => (record.value as Struct).get('source') as Struct;
const place = (change: Change): number =>
  Number(sourceOf(change).get('segment')) * 1e9 + Number(sourceOf(change).get('pos'));

/** Transactions in the order of their commits; within a poll, changes come table by table. */
const numbers = (changes: readonly Change[]): number[] => {
  const events = changes.filter(change => change.op !== null).toSorted((a, b) => place(a) - place(b));
  return [...new Set(events.map(change => Number(sourceOf(change).get('txId'))))];
};

async function whole(): Promise<FixtureStream> {
  const stream = new FixtureStream('v5');
  stream.add();
  await stream.open(null);
  await stream.drain();
  await stream.close();
  return stream;
}

test('a transaction that the server rolled back is left out, and nothing else', async () => {
  const all = await whole();
  const dead = numbers(all.changes)[3]!;
  const stream = new FixtureStream('v5');
  stream.add();
  stream.commitState = async tnx => (tnx === dead ? 'rolled back' : 'committed');
  await stream.open(null);
  await stream.drain();
  assert.equal(stream.rolledBack, 1);
  assert.deepEqual(
    numbers(stream.changes),
    numbers(all.changes).filter(tnx => tnx !== dead),
  );
  await stream.close();
});

test('nothing behind a commit that is not decided is published, and no offset passes it', async () => {
  const all = await whole();
  const late = numbers(all.changes)[3]!;
  let state: CommitState | 'unreachable' = 'open';
  const stream = new FixtureStream('v5');
  stream.add();
  stream.commitState = async tnx => (tnx === late ? state : 'committed');
  await stream.open(null, { 'error.timeout.ms': '60000' });
  for (const waiting of ['open', 'unreachable', 'unknown'] as const) {
    state = waiting;
    await stream.drain();
    assert.deepEqual(numbers(stream.changes), numbers(all.changes).slice(0, 3));
  }
  const offsets = stream.offsets.length;
  state = 'committed';
  await stream.drain();
  assert.deepEqual(numbers(stream.changes), numbers(all.changes));
  assert.ok(stream.offsets.length > offsets);
  await stream.close();
});

test('what stays undecided fails the task, with what to do', async () => {
  for (const [state, code] of [
    ['open', 'FB_COMMIT_UNDECIDED'],
    ['unknown', 'FB_COMMIT_UNDECIDED'],
    ['unreachable', 'FB_UNREACHABLE'],
  ] as const) {
    const stream = new FixtureStream('v5');
    stream.add();
    stream.commitState = async () => state;
    await stream.open(null);
    await assert.rejects(stream.drain(), { code });
    assert.equal(stream.changes.length, 0);
    await stream.close();
  }
});

test('event.format=journal tells a ROLLBACK where the server rolled back', async () => {
  const all = await whole();
  const dead = numbers(all.changes)[3]!;
  const stream = new FixtureStream('v5');
  stream.add();
  stream.commitState = async tnx => (tnx === dead ? 'rolled back' : 'committed');
  await stream.open(null, { 'event.format': 'journal' });
  await stream.drain();
  const events = stream.records.flatMap(
    record =>
      (parseJson(record.value as string) as unknown as { events: { event: JsonValue; tnx: JsonValue }[] }).events,
  );
  const endings = events.filter(({ event, tnx }) => tnx === dead && /COMMIT|^ROLLBACK$/.test(String(event)));
  assert.deepEqual(
    endings.map(({ event }) => event),
    ['ROLLBACK'],
  );
  await stream.close();
});
