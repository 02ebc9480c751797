import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FlushLane, type FlushTarget } from '../../../connectors/shared/flushLane.ts';
import { FlushLanes } from '../../../connectors/shared/flushLanes.ts';
import type { Retry } from '../../../connectors/shared/retryTransient.ts';
import { type RowLog, RowOp } from '../../../connectors/shared/rowLog.ts';

const LANES = 3;
const KEYS = 40;
/** Rows of shape 1 are all in one order, those of shape 0 by key. */
const ORDERED = 1;

interface Written {
  readonly shape: number;
  readonly op: number;
  readonly key: number;
  readonly sequence: number;
}

/** A target that takes its time, and keeps what it gets in the order in which writes end. */
class SlowTarget implements FlushTarget {
  static running = 0;
  static most = 0;
  readonly #written: Written[];

  constructor(written: Written[]) {
    this.#written = written;
  }

  async write(log: RowLog, from: number, to: number): Promise<void> {
    SlowTarget.most = Math.max(SlowTarget.most, ++SlowTarget.running);
    await sleep(5 + Math.random() * 10);
    SlowTarget.running--;
    for (let row = from; row < to; row++) {
      const start = log.starts[row]!;
      const [shape, op] = [log.shapes[row]!, log.ops[row]!];
      const [key, sequence] = [log.out.bytes.readInt32BE(start), log.out.bytes.readInt32BE(start + 4)];
      this.#written.push({ shape, op, key, sequence });
    }
  }

  classify(): 'fatal' {
    return 'fatal';
  }

  async reject(): Promise<void> {
    throw new Error('nothing is refused here');
  }
}

function append(log: RowLog, op: RowOp, shape: number, key: number, sequence: number): void {
  const { out } = log;
  out.ensure(8);
  const start = out.position;
  out.bytes.writeInt32BE(key, start);
  out.bytes.writeInt32BE(sequence, start + 4);
  out.position += 8;
  log.push(op, shape, shape, start, start, start + 4, log.origin('batch'), sequence);
}

it('writes over several connections while the target is slow, in order per key, and in one order where that is asked for', async () => {
  const written: Written[] = [];
  const metrics = { count: () => {}, gauge: () => {} };
  const retry: Retry = work => work();
  const bounds = { maxRows: 50, maxBytes: 1 << 20, lingerMs: 0 };
  const lanes = new FlushLanes(
    Array.from({ length: LANES }, () => new FlushLane({ target: new SlowTarget(written), bounds, metrics, retry })),
    shape => (shape === ORDERED ? 7 : null),
  );
  let sequence = 0;
  const put = async (rows: number, opOf: () => RowOp): Promise<void> => {
    await lanes.adapt();
    for (let left = rows; left > 0; ) {
      const { log, room } = await lanes.open();
      const count = Math.min(room, left);
      for (let i = 0; i < count; i++) {
        const key = Math.floor(Math.random() * KEYS);
        append(log, opOf(), Math.random() < 0.2 ? ORDERED : 0, key, sequence++);
      }
      await lanes.take(log);
      left -= count;
    }
    lanes.nudge();
  };

  const deadline = Date.now() + 20_000;
  while (SlowTarget.most < LANES) {
    assert.ok(Date.now() < deadline, `only ${SlowTarget.most} connections were used at a time`);
    await put(300, () => RowOp.write);
  }
  await put(300, () => RowOp.write);
  await put(1, () => RowOp.truncate);
  await put(300, () => RowOp.write);
  await lanes.drain();

  assert.equal(written.length, sequence);
  const barrier = written.findIndex(row => row.op === RowOp.truncate);
  assert.ok(written.slice(0, barrier).every(row => row.sequence < written[barrier]!.sequence));
  assert.ok(written.slice(barrier + 1).every(row => row.sequence > written[barrier]!.sequence));
  const last = new Map<string, number>();
  for (const { shape, key, sequence } of written) {
    const order = shape === ORDERED ? 'ordered' : String(key);
    assert.ok((last.get(order) ?? -1) < sequence, `${order}: ${sequence} came after ${last.get(order)}`);
    last.set(order, sequence);
  }

  // With nothing under way, one connection is enough.
  SlowTarget.most = 0;
  for (let i = 0; i < 3; i++) {
    await put(LANES * 2, () => RowOp.write);
    await lanes.drain();
  }
  assert.equal(SlowTarget.most, 1);
});

/** A target that takes so many rows in a time and no more, over however many connections. */
class SharedTarget implements FlushTarget {
  static readonly rowMs = 0.1;
  static running = 0;
  static #turn: Promise<void> = Promise.resolve();

  async write(_log: RowLog, from: number, to: number): Promise<void> {
    SharedTarget.running++;
    SharedTarget.#turn = SharedTarget.#turn.then(() => sleep((to - from) * SharedTarget.rowMs));
    await SharedTarget.#turn;
    SharedTarget.running--;
  }

  classify(): 'fatal' {
    return 'fatal';
  }

  async reject(): Promise<void> {
    throw new Error('nothing is refused here');
  }
}

it('goes back to one connection where several are no faster', async () => {
  const metrics = { count: () => {}, gauge: () => {} };
  const bounds = { maxRows: 50, maxBytes: 1 << 20, lingerMs: 0 };
  const retry: Retry = work => work();
  const lane = (): FlushLane => new FlushLane({ target: new SharedTarget(), bounds, metrics, retry });
  const lanes = new FlushLanes(Array.from({ length: LANES }, lane), () => null);
  /** False where it does not come true in that time. */
  const until = async (condition: () => boolean, timeoutMs: number): Promise<boolean> => {
    for (const deadline = performance.now() + timeoutMs; !condition(); ) {
      if (performance.now() > deadline) return false;
      await lanes.adapt();
      const { log, room } = await lanes.open();
      for (let i = 0; i < Math.min(room, 100); i++) append(log, RowOp.write, 0, Math.floor(Math.random() * KEYS), i);
      await lanes.take(log);
      lanes.nudge();
    }
    return true;
  };
  const allWrite = (): boolean => SharedTarget.running === LANES;
  // In single use there is never more than one, whenever it is looked at.
  let alone = 0;
  const oneWrites = (): boolean => (alone = SharedTarget.running <= 1 ? alone + 1 : 0) === 100;
  // A machine that is busy may measure wrongly, and several are kept then until there is a rest.
  let isBack = false;
  for (let attempt = 0; !isBack && attempt < 5; attempt++) {
    assert.ok(await until(allWrite, 20_000), `${SharedTarget.running} connections write`);
    isBack = await until(oneWrites, 3000);
    await lanes.drain();
    await lanes.adapt();
  }
  assert.ok(isBack);
});
