import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectError, type Logger } from '../../../runtime/api/index.ts';
import type { PendingBatch, Producer, SendResult } from '../../../runtime/broker/port.ts';
import { TaskMeter } from '../../../runtime/metrics/taskMeter.ts';
import { OffsetTracker } from '../../../runtime/worker/source/offsetTracker.ts';
import { Sender } from '../../../runtime/worker/source/sender.ts';
import { SourceTopic } from '../../../runtime/worker/source/sourceTopics.ts';
import { until } from './testWorker.ts';

const quiet: Logger = { error() {}, warn() {}, info() {}, debug() {} };
const partition = { p: 1 };

interface Send {
  readonly records: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A producer whose sends the test settles. As the port says, after one rejection all others reject too. */
class HeldProducer implements Producer {
  readonly sends: Send[] = [];
  closed = false;
  #failure: unknown = null;

  fail(error: unknown): void {
    this.#failure = error;
    for (const send of this.sends) send.reject(error);
  }

  send(batches: readonly PendingBatch[]): Promise<readonly SendResult[]> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const records = batches.reduce((sum, batch) => sum + batch.recordCount, 0);
      this.sends.push({ records, resolve: () => resolve([]), reject });
    });
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  async initTransactions(): Promise<void> {}
  beginTransaction(): void {}
  async sendOffsets(): Promise<void> {}
  async commitTransaction(): Promise<void> {}
  async abortTransaction(): Promise<void> {}
}

function setUp(bufferBytes = 1 << 20) {
  const producers: HeldProducer[] = [];
  const tracker = new OffsetTracker();
  const cancelled = new AbortController();
  const sender = new Sender({
    createProducer: () => {
      const producer = new HeldProducer();
      producers.push(producer);
      return producer;
    },
    tracker,
    onTopicUsed: () => {},
    batchBytes: 1000,
    bufferBytes,
    meter: new TaskMeter(),
    logger: quiet,
    signal: cancelled.signal,
  });
  const topic = new SourceTopic('t');
  topic.partitions = 1;
  const bytes = Buffer.alloc(100);
  let next = 0;
  /** One record of 100 bytes, as a source batch of its own. */
  const emit = (): void => {
    sender.open.append(topic, 0, 0, 0, bytes, -1, 0, 0, 100, Buffer.from([0]));
    sender.mark({ sourcePartition: partition, sourceOffset: { next: ++next }, sourceTimestampMs: null, count: 1 });
    sender.flush();
  };
  const committable = (): unknown => tracker.take()[0]?.offset.next;
  return { producers, sender, emit, committable, cancelled };
}

test('while all slots are taken, records gather for the next send', async () => {
  const { producers, sender, emit, committable } = setUp();
  for (let i = 0; i < 25; i++) emit();
  const { sends } = producers[0]!;
  assert.deepEqual(
    sends.map(s => s.records),
    [1, 1, 1, 1, 1],
  );
  sends[0]!.resolve();
  await until(
    () => sends.length === 6,
    () => 'nothing was sent',
  );
  assert.equal(sends[5]!.records, 20);
  assert.equal(committable(), 1);
  for (const send of sends) send.resolve();
  assert.equal(await sender.drain(AbortSignal.timeout(5000)), true);
  assert.equal(committable(), 25);
});

test('after a passing failure everything not acknowledged is sent again, in order, by a new producer', async () => {
  const { producers, sender, emit, committable } = setUp();
  for (let i = 0; i < 8; i++) emit();
  const [first] = producers;
  first!.sends[1]!.resolve();
  first!.fail(new ConnectError('BROKER_UNREACHABLE', 'gone', { retriable: true }));
  assert.equal(committable(), undefined);
  await until(
    () => producers.length === 2 && producers[1]!.sends.length > 0,
    () => 'no new producer',
  );
  assert.equal(first!.closed, true);
  const again = producers[1]!.sends;
  assert.deepEqual(
    again.map(s => s.records),
    [1, 1, 1, 1, 3],
    'the acknowledged one is not repeated',
  );
  for (const send of again) send.resolve();
  assert.equal(await sender.drain(AbortSignal.timeout(5000)), true);
  assert.equal(committable(), 8);
});

test('a lasting failure ends the sender, and nothing behind it is committable', async () => {
  const { producers, sender, emit, committable } = setUp();
  emit();
  emit();
  producers[0]!.sends[0]!.reject(new ConnectError('BROKER_RECORD_TOO_LARGE', 'large'));
  producers[0]!.sends[1]!.resolve();
  await until(
    () => {
      try {
        sender.throwIfFailed();
        return false;
      } catch (error) {
        return (error as ConnectError).code === 'BROKER_RECORD_TOO_LARGE';
      }
    },
    () => 'it did not fail',
  );
  await assert.rejects(sender.room(new AbortController().signal), { code: 'BROKER_RECORD_TOO_LARGE' });
  assert.equal(committable(), undefined);
});

test('room waits while more than the bound is not acknowledged', async () => {
  const { producers, sender, emit } = setUp(150);
  const stop = new AbortController();
  await sender.room(stop.signal);
  emit();
  emit();
  let free = false;
  const waiting = sender.room(stop.signal).then(() => {
    free = true;
  });
  await new Promise(resolve => setImmediate(resolve));
  assert.equal(free, false);
  for (const send of producers[0]!.sends) send.resolve();
  await waiting;
  emit();
  emit();
  const stopped = sender.room(stop.signal);
  stop.abort();
  await assert.rejects(stopped, { name: 'AbortError' });
});

test('a drain that is cut short says so', async () => {
  const { sender, emit } = setUp();
  emit();
  const cut = new AbortController();
  const drained = sender.drain(cut.signal);
  cut.abort();
  assert.equal(await drained, false);
});
