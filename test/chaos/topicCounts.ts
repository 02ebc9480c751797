/** Reads the counter topic as another team's consumer would, and checks it: every count of every row, the first time in order. */

import type { Logger } from '../../runtime/api/index.ts';
import { connectBroker } from '../../runtime/broker/connectBroker.ts';
import type { BrokerSettings } from '../../runtime/broker/port.ts';
import { readRecords } from '../../runtime/broker/records/index.ts';
import type { Converter } from '../../schemas/converter.ts';
import { Struct } from '../../schemas/data/index.ts';

const quiet: Logger = { error() {}, warn() {}, info() {}, debug() {} };

/** What is wrong, as texts; an empty list = every committed count is in the topic at least once, in order per key. */
export async function checkCounterTopic(
  settings: BrokerSettings,
  converter: Converter,
  topic: string,
  finalCounts: ReadonlyMap<number, number>,
): Promise<string[]> {
  const broker = await connectBroker(settings, quiet);
  const reached = new Map<number, number>();
  const problems: string[] = [];
  try {
    const admin = broker.admin();
    const [description] = await admin.describeTopics([topic]);
    if (description === undefined) return [`there is no topic ${topic}`];
    const partitions = Array.from({ length: description.partitions }, (_, partition) => ({ topic, partition }));
    const ends = await admin.offsets(partitions);
    const consumer = broker.consumer({ clientId: 'check', groupId: null });
    await consumer.assign(partitions.map(p => ({ ...p, from: 'beginning' as const })));
    const behind = (): boolean => ends.some(end => (consumer.position(end) ?? 0) < end.latest);
    while (behind()) {
      for (const fetched of await consumer.poll(1000)) {
        const records = await readRecords(fetched, 'read_committed');
        for (let i = 0; i < records.count; i++) {
          const start = records.valueStarts[i]!;
          if (start < 0) continue;
          const decoder = await converter.decoder(topic, records.bytes, start, records.valueEnds[i]!);
          const envelope = decoder.decode(records.bytes, start, records.valueEnds[i]!);
          const after = envelope instanceof Struct ? envelope.get('after') : null;
          if (!(after instanceof Struct)) continue;
          const id = after.get('id') as number;
          const n = after.get('n') as number;
          const last = reached.get(id);
          // the snapshot may start anywhere; from then on each count follows the one before, and repeats go back, never ahead
          if (last !== undefined && n > last + 1) problems.push(`row ${id}: ${last} is followed by ${n}`);
          reached.set(id, Math.max(last ?? n, n));
        }
      }
    }
    await consumer.close();
    await admin.close();
  } finally {
    await broker.close();
  }
  for (const [id, n] of finalCounts)
    if (reached.get(id) !== n) problems.push(`row ${id}: the topic ends at ${reached.get(id)}, the table at ${n}`);
  return problems;
}
