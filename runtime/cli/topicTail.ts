/** Reads a topic for people: its last records or all, and then what comes. */
import { once } from 'node:events';
import { ConnectError } from '../api/index.ts';
import type { Broker, Consumer } from '../broker/port.ts';
import { type RecordColumns, readRecords } from '../broker/records/index.ts';
import type { RecordText } from './recordText.ts';

export interface TailOptions {
  readonly topic: string;
  /** Else the last `count` records. */
  readonly fromBeginning: boolean;
  /** Most records shown; null = no bound, and 10 for the last ones. */
  readonly count: number | null;
  readonly follow: boolean;
}

const defaultCount = 10;
const pollMs = 500;

export async function tailTopic(
  broker: Broker,
  text: RecordText,
  options: TailOptions,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<void> {
  const { topic, fromBeginning, follow } = options;
  const [description] = await broker.admin().describeTopics([topic]);
  if (description === undefined) throw new ConnectError('BROKER_TOPIC_UNKNOWN', `topic ${topic} does not exist`);
  const partitions = Array.from({ length: description.partitions }, (_, partition) => ({ topic, partition }));
  const bounds = await broker.admin().offsets(partitions);
  const lastCount = options.count ?? defaultCount;
  const starts = bounds.map(({ partition, earliest, latest }) => ({
    topic,
    partition,
    from: fromBeginning ? earliest : Math.max(earliest, latest - lastCount),
  }));
  const consumer = broker.consumer({ clientId: 'millrace-tail', groupId: null, isolation: 'read_committed' });
  try {
    await consumer.assign(starts);
    const ends = new Map(bounds.map(({ partition, latest }) => [partition, latest]));
    const reader = new Reader(consumer, ends, signal);
    let shown = 0;
    const show = async (records: RecordColumns, index: number): Promise<void> => {
      shown++;
      if (!output.write(`${await text.line(records, index)}\n`)) await once(output, 'drain');
    };
    if (fromBeginning) {
      const bound = options.count ?? Number.POSITIVE_INFINITY;
      for await (const records of reader.untilEnd()) {
        for (let i = 0; i < records.count && shown < bound; i++) await show(records, i);
        if (shown >= bound) return;
      }
    } else {
      for (const [records, index] of await lastRecords(reader, lastCount)) await show(records, index);
    }
    if (!follow) return;
    for await (const records of reader.onwards()) {
      for (let i = 0; i < records.count; i++) {
        if (options.count !== null && fromBeginning && shown >= options.count) return;
        await show(records, i);
      }
    }
  } finally {
    await consumer.close();
  }
}

/** The newest records of all partitions, by time. */
async function lastRecords(reader: Reader, count: number): Promise<(readonly [RecordColumns, number])[]> {
  const found: (readonly [RecordColumns, number])[] = [];
  for await (const records of reader.untilEnd()) {
    for (let i = 0; i < records.count; i++) found.push([records, i]);
  }
  found.sort(([a, i], [b, j]) => a.timestamps[i]! - b.timestamps[j]!);
  return found.slice(-count);
}

class Reader {
  readonly #consumer: Consumer;
  readonly #ends: ReadonlyMap<number, number>;
  readonly #signal: AbortSignal;

  constructor(consumer: Consumer, ends: ReadonlyMap<number, number>, signal: AbortSignal) {
    this.#consumer = consumer;
    this.#ends = ends;
    this.#signal = signal;
  }

  /** What was there when the command began. */
  async *untilEnd(): AsyncGenerator<RecordColumns> {
    const behind = (): boolean =>
      this.#consumer.assignment().some(p => (this.#consumer.position(p) ?? 0) < (this.#ends.get(p.partition) ?? 0));
    while (behind() && !this.#signal.aborted) yield* this.#poll();
  }

  async *onwards(): AsyncGenerator<RecordColumns> {
    while (!this.#signal.aborted) yield* this.#poll();
  }

  async *#poll(): AsyncGenerator<RecordColumns> {
    for (const fetched of await this.#consumer.poll(pollMs, this.#signal)) yield readRecords(fetched, 'read_committed');
  }
}
