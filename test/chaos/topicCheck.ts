/** Reads the topics of the ledger as another team's consumer would, and checks that what was committed is there. */
import type { Logger } from '../../runtime/api/index.ts';
import { connectBroker } from '../../runtime/broker/connectBroker.ts';
import { EmbeddedBroker } from '../../runtime/broker/embedded/embeddedBroker.ts';
import type { Broker, BrokerSettings } from '../../runtime/broker/port.ts';
import { readRecords } from '../../runtime/broker/records/index.ts';
import type { Converter } from '../../schemas/converter.ts';
import type { Struct } from '../../schemas/data/index.ts';
import { CountOrder } from './countOrder.ts';

const quiet: Logger = { error() {}, warn() {}, info() {}, debug() {} };

export interface TopicCheck {
  readonly settings: BrokerSettings;
  readonly converter: Converter;
  /** Of the topics' names, before the table. */
  readonly prefix: string;
  /** Where the topic of the counters ended when the snapshot was safe, by partition: no snapshot may come after. */
  readonly snapshotEnd: readonly number[];
  readonly finalCounts: ReadonlyMap<number, number>;
  /** Keys of items that were inserted after that. */
  readonly insertedItems: readonly number[];
}

/** What is wrong, as texts; none = every committed change is there at least once, in order per key. */
export async function checkTopics(check: TopicCheck): Promise<readonly string[]> {
  const order = new CountOrder();
  const problems: string[] = [];
  await readEnvelopes(check, `${check.prefix}.counter`, (op, _before, after, partition, offset) => {
    if (after === null) {
      problems.push(`partition ${partition} offset ${offset}: no event deletes a counter, but op is ${op}`);
      return;
    }
    const id = after.get('id') as number;
    const n = after.get('n') as number;
    if (after.get('note') !== (n === 0 ? null : `n${n - 1}`)) {
      problems.push(`row ${id}: the event of ${n} has the note ${after.get('note')}`);
    }
    if (op !== 'r') order.change(id, n);
    else {
      if (offset >= check.snapshotEnd[partition]!) problems.push(`row ${id}: a second snapshot has ${n}`);
      order.snapshotRow(id, n);
    }
  });
  const inserted = new Set(check.insertedItems);
  const created = new Set<number>();
  await readEnvelopes(check, `${check.prefix}.item`, (op, before, after) => {
    if (op === 'c') created.add(after!.get('id') as number);
    else if (op === 'd') {
      const id = before!.get('id') as number;
      if (inserted.has(id) && !created.has(id)) problems.push(`item ${id} is deleted before it is created`);
    }
  });
  const missing = check.insertedItems.filter(id => !created.has(id));
  if (missing.length > 0)
    problems.push(`${missing.length} inserted items are not in the topic: ${missing.slice(0, 5)}`);
  return [...problems.slice(0, 20), ...order.finish(check.finalCounts)];
}

/** The next offset of each partition of a topic. */
export function topicEnds(settings: BrokerSettings, topic: string): Promise<readonly number[]> {
  return withBroker(settings, async broker => (await partitionEnds(broker, topic)).map(end => end.latest));
}

type OnEnvelope = (
  op: string,
  before: Struct | null,
  after: Struct | null,
  partition: number,
  offset: number,
  envelope: Struct,
) => void;

/** All change events that are in a topic now; tombstones are left out. */
export function readEnvelopes(check: TopicReading, topic: string, onEnvelope: OnEnvelope): Promise<void> {
  return readValues(check, topic, (envelope, partition, offset) => {
    const [before, after] = (['before', 'after'] as const).map(name => envelope.get(name) as Struct | null);
    onEnvelope(envelope.get('op') as string, before!, after!, partition, offset, envelope);
  });
}

type TopicReading = Pick<TopicCheck, 'settings' | 'converter'>;

/** All values of a topic in the order of each partition, without tombstones. */
export function readValues(
  { settings, converter }: TopicReading,
  topic: string,
  onValue: (value: Struct, partition: number, offset: number) => void,
): Promise<void> {
  return withBroker(settings, async broker => {
    const ends = await partitionEnds(broker, topic);
    const consumer = broker.consumer({ clientId: 'check', groupId: null });
    await consumer.assign(ends.map(({ partition }) => ({ topic, partition, from: 'beginning' as const })));
    while (ends.some(end => (consumer.position(end) ?? 0) < end.latest)) {
      for (const fetched of await consumer.poll(1000)) {
        const { bytes, count, offsets, valueStarts, valueEnds } = await readRecords(fetched, 'read_committed');
        for (let i = 0; i < count; i++) {
          const [start, end] = [valueStarts[i]!, valueEnds[i]!];
          if (start < 0) continue; // a tombstone
          const value = (await converter.decoder(topic, bytes, start, end)).decode(bytes, start, end) as Struct;
          onValue(value, fetched.partition, offsets[i]!);
        }
      }
    }
    await consumer.close();
  });
}

async function partitionEnds(
  broker: Broker,
  topic: string,
): Promise<readonly { readonly topic: string; readonly partition: number; readonly latest: number }[]> {
  const admin = broker.admin();
  const [description] = await admin.describeTopics([topic]);
  if (description === undefined) throw new Error(`there is no topic ${topic}`);
  return admin.offsets(Array.from({ length: description.partitions }, (_, partition) => ({ topic, partition })));
}

async function withBroker<T>(settings: BrokerSettings, work: (broker: Broker) => Promise<T>): Promise<T> {
  // the worker owns the embedded broker: others read beside it
  const broker =
    settings.kind === 'embedded'
      ? await EmbeddedBroker.openReader(settings.dataDir, quiet)
      : await connectBroker(settings, quiet);
  try {
    return await work(broker);
  } finally {
    await broker.close();
  }
}
