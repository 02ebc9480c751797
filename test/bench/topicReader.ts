/** Looks into topics from outside the worker, through the same broker port for Kafka and the embedded broker. */
import type { Logger } from '../../runtime/api/logger.ts';
import { connectBroker } from '../../runtime/broker/connectBroker.ts';
import { EmbeddedBroker } from '../../runtime/broker/embedded/embeddedBroker.ts';
import type { Broker, BrokerSettings } from '../../runtime/broker/port.ts';
import { type RecordColumns, readRecords } from '../../runtime/broker/records/index.ts';

const quiet: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const POLL_MS = 20;
const PATIENCE_MS = 300_000;

export interface Drained {
  /** Records seen after the first look that saw any, and the time they took. */
  readonly records: number;
  readonly seconds: number;
  /** From the call until the first record was seen. */
  readonly firstEventMs: number;
  /** `performance.now()` of the look that saw the last one. */
  readonly endedAt: number;
}

export class TopicReader {
  readonly #broker: Broker;
  readonly #isEmbedded: boolean;
  readonly #seen = new Set<string>();

  private constructor(broker: Broker, isEmbedded: boolean) {
    this.#broker = broker;
    this.#isEmbedded = isEmbedded;
  }

  static async open(settings: BrokerSettings): Promise<TopicReader> {
    if (settings.kind === 'kafka') return new TopicReader(await connectBroker(settings, quiet), false);
    return new TopicReader(await EmbeddedBroker.openReader(settings.dataDir, quiet), true);
  }

  /** Offset of the next record; 0 while there is no topic. */
  async endOffset(topic: string): Promise<number> {
    const admin = this.#broker.admin();
    if (!this.#seen.has(topic)) {
      if ((await admin.describeTopics([topic])).length === 0) return 0;
      this.#seen.add(topic);
    }
    const [partition] = await admin.offsets([{ topic, partition: 0 }]);
    return partition?.latest ?? 0;
  }

  /** Waits until the topic's end is `target`, starting from `base`. `check` may throw, to end the wait. */
  async drain(topic: string, base: number, target: number, check: () => Promise<void>): Promise<Drained> {
    const start = performance.now();
    let firstAt = 0;
    let firstEnd = 0;
    let lastMovedAt = start;
    let lastEnd = base;
    for (let next = start; ; next += POLL_MS) {
      const end = await this.endOffset(topic);
      const now = performance.now();
      if (end > lastEnd) {
        lastEnd = end;
        lastMovedAt = now;
      }
      if (firstAt === 0 && end > base) {
        firstAt = now;
        firstEnd = end;
      }
      if (end >= target) {
        const seconds = (now - firstAt) / 1000;
        return { records: end - firstEnd, seconds, firstEventMs: firstAt - start, endedAt: now };
      }
      if (now - lastMovedAt > PATIENCE_MS)
        throw new Error(`${topic} stands at ${end} of ${target} records for ${PATIENCE_MS / 1000} s`);
      if (now - lastMovedAt > 1000) await check();
      next = Math.max(next, now);
      await new Promise(resolve => setTimeout(resolve, POLL_MS));
    }
  }

  /** All records of [from, to), in stretches. */
  async *read(topic: string, from: number, to: number): AsyncGenerator<RecordColumns> {
    const consumer = this.#broker.consumer({ clientId: 'bench-reader', groupId: null, maxPartitionBytes: 8 << 20 });
    try {
      await consumer.assign([{ topic, partition: 0, from }]);
      for (let position = from; position < to; ) {
        for (const fetched of await consumer.poll(1000)) {
          const columns = await readRecords(fetched, 'read_uncommitted');
          yield columns;
          position = columns.nextOffset;
        }
      }
    } finally {
      await consumer.close();
    }
  }

  /** Bytes of keys and values of [from, to). */
  async byteLength(topic: string, from: number, to: number): Promise<number> {
    let bytes = 0;
    for await (const { count, offsets, keyStarts, keyEnds, valueStarts, valueEnds } of this.read(topic, from, to)) {
      for (let i = 0; i < count && offsets[i]! < to; i++) {
        // a null has -1 for both its start and its end
        bytes += keyEnds[i]! - keyStarts[i]! + valueEnds[i]! - valueStarts[i]!;
      }
    }
    return bytes;
  }

  /**
   * Times at which the records from `from` on arrived, ms since the epoch: of Kafka its own log append times; the embedded broker, which has none,
   * is looked at every millisecond.
   */
  watch(topic: string, from: number): { arrivals(to: number): Promise<Float64Array> } {
    if (!this.#isEmbedded) return { arrivals: to => this.#appendTimes(topic, from, to) };
    const seen: { end: number; atMs: number }[] = [];
    const timer = setInterval(() => {
      this.endOffset(topic).then(
        end => seen.push({ end, atMs: performance.timeOrigin + performance.now() }),
        () => clearInterval(timer), // the reader was closed; what is missing shows below
      );
    }, 1);
    return {
      arrivals: async to => {
        clearInterval(timer);
        const times = new Float64Array(to - from).fill(Number.NaN);
        let at = from;
        for (const { end, atMs } of seen) for (; at < Math.min(end, to); at++) times[at - from] = atMs;
        return times;
      },
    };
  }

  async #appendTimes(topic: string, from: number, to: number): Promise<Float64Array> {
    const times = new Float64Array(to - from);
    for await (const { count, offsets, timestamps } of this.read(topic, from, to)) {
      for (let i = 0; i < count && offsets[i]! < to; i++) times[offsets[i]! - from] = timestamps[i]!;
    }
    return times;
  }

  async close(): Promise<void> {
    await this.#broker.close();
  }
}
