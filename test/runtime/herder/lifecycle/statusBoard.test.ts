/** Two workers that tell of the same task in one status topic. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connectBroker } from '../../../../runtime/broker/connectBroker.ts';
import { StatusBoard } from '../../../../runtime/herder/lifecycle/statusBoard.ts';
import { StatusStore } from '../../../../runtime/herder/stores/statusStore.ts';

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

class TestedWorker {
  generation = 1;
  readonly board: StatusBoard;
  readonly #store: StatusStore;

  constructor(store: StatusStore, id: string) {
    this.#store = store;
    this.board = new StatusBoard(
      store,
      id,
      () => null,
      () => this.generation,
    );
  }

  /** What it says of the task, once it has written and read all. */
  async shown(): Promise<string> {
    await this.#store.flush();
    await this.#store.readToEnd(5_000);
    await this.#store.flush();
    const status = this.board.taskStatus('c', 0)!;
    return `${status.state}@${status.worker_id}`;
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

async function workers(t: TestContext): Promise<{ first: TestedWorker; second: TestedWorker }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-statuses-'));
  const broker = await connectBroker({ kind: 'embedded', dataDir }, silent);
  const spec = { name: 'statuses', partitions: 1, replicationFactor: 1 };
  const open = async (id: string): Promise<TestedWorker> => {
    const options = { broker, spec, create: true, clientId: id, logger: silent };
    return new TestedWorker(await StatusStore.follow(options, id, () => {}), id);
  };
  const both = { first: await open('first'), second: await open('second') };
  t.after(async () => {
    await Promise.all([both.first.close(), both.second.close()]);
    await broker.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  return both;
}

test('what is given up in order is free', async t => {
  const { first, second } = await workers(t);
  first.board.task('c', 0, 'RUNNING', null);
  first.generation = 2;
  first.board.released('c', 0);
  assert.equal(await first.shown(), 'UNASSIGNED@first');
  assert.equal(await second.shown(), 'UNASSIGNED@first');
});

test('a task that its connector has no more is not shown, where a worker says only afterwards that it runs nowhere', async t => {
  const { first, second } = await workers(t);
  // The connector was stopped while the first was cut off, and the leader has cleared away what it ran.
  second.board.task('c', 1, 'RUNNING', null);
  const shown = (worker: TestedWorker, taskCount: number): string[] =>
    worker.board.taskStatuses('c', taskCount).map(({ id, state }) => `${id} ${state}`);
  first.board.task('c', 0, 'UNASSIGNED', null);
  assert.equal(await first.shown(), 'UNASSIGNED@first');
  await second.shown();
  for (const worker of [first, second]) {
    assert.deepEqual(shown(worker, 0), ['1 RUNNING'], 'what runs still is shown');
    assert.deepEqual(shown(worker, 2), ['0 UNASSIGNED', '1 RUNNING']);
  }
});

test('a worker that lost a task and is back in the group does not call free what another runs', async t => {
  const { first, second } = await workers(t);
  first.board.task('c', 0, 'RUNNING', null);
  await first.shown();
  assert.equal(await second.shown(), 'RUNNING@first');
  second.generation = 2;
  second.board.task('c', 0, 'RUNNING', null);
  await second.shown();
  // Its tasks took their time to stop; it has joined meanwhile.
  first.generation = 3;
  assert.equal(await first.shown(), 'RUNNING@second');
  first.board.released('c', 0);
  assert.equal(await first.shown(), 'RUNNING@second');
  assert.equal(await second.shown(), 'RUNNING@second');
});

test('nor does one that has not heard of it', async t => {
  const { first, second } = await workers(t);
  first.board.task('c', 0, 'RUNNING', null);
  await first.shown();
  await second.shown();
  first.generation = 3;
  second.generation = 2;
  // Both speak before they hear of each other, the second first.
  second.board.task('c', 0, 'RUNNING', null);
  const written = second.shown();
  first.board.released('c', 0);
  await written;
  await first.shown();
  assert.equal(await second.shown(), 'RUNNING@second');
  assert.equal(await first.shown(), 'RUNNING@second');
});

test('what a halted worker gets to say of its tasks when it goes on does not hide who runs them by then', async t => {
  const { first, second } = await workers(t);
  second.generation = 2;
  second.board.task('c', 0, 'RUNNING', null);
  await second.shown();
  // Written before it was halted, and sent when it goes on.
  first.board.task('c', 0, 'RUNNING', null);
  await first.shown();
  assert.equal(await second.shown(), 'RUNNING@second');
  assert.equal(await first.shown(), 'RUNNING@second');
});
