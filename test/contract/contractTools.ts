/** What the broker contract suite writes and reads with: records as plain values, and reads that wait for a condition with a deadline. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Broker, Consumer, PendingBatch, Producer } from '../../runtime/broker/port.ts';
import { decodeHeaders, encodeHeaders, RecordBatchBuilder, readRecords } from '../../runtime/broker/records/index.ts';

export interface PlainRecord {
  readonly key: string | null;
  readonly value: string | null;
  readonly headers?: readonly { readonly name: string; readonly value: string | null }[];
  readonly timestamp?: number;
}

export interface ReadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: readonly { readonly name: string; readonly value: string | null }[];
}

export const deadlineMs = 30_000;

export function randomName(kind: string): string {
  return `contract-${kind}-${randomBytes(6).toString('hex')}`;
}

export function batchOf(topic: string, partition: number, records: readonly PlainRecord[]): PendingBatch {
  const baseTimestamp = records[0].timestamp ?? Date.now();
  const builder = new RecordBatchBuilder(topic, partition, baseTimestamp);
  for (const { key, value, headers = [], timestamp = baseTimestamp } of records) {
    const keyBytes = Buffer.from(key ?? '');
    const valueBytes = Buffer.from(value ?? '');
    const section = encodeHeaders(
      headers.map(h => ({ name: h.name, value: h.value === null ? null : Buffer.from(h.value) })),
    );
    builder.append(
      timestamp,
      keyBytes,
      key === null ? -1 : 0,
      keyBytes.length,
      valueBytes,
      value === null ? -1 : 0,
      valueBytes.length,
      section,
    );
  }
  return builder.finish();
}

export function values(prefix: string, count: number): PlainRecord[] {
  return Array.from({ length: count }, (_, i) => ({ key: `k${i}`, value: `${prefix}${i}` }));
}

/** One batch by a producer of its own. */
export async function produce(
  broker: Broker,
  topic: string,
  partition: number,
  records: readonly PlainRecord[],
): Promise<void> {
  const producer = broker.producer({ clientId: randomName('producer') });
  await producer.send([batchOf(topic, partition, records)]);
  await producer.close();
}

export async function pollRecords(
  consumer: Consumer,
  isolation: 'read_uncommitted' | 'read_committed' = 'read_uncommitted',
  timeoutMs = 200,
): Promise<ReadRecord[]> {
  const records: ReadRecord[] = [];
  const text = (bytes: Buffer, start: number, end: number) => (start < 0 ? null : bytes.toString('utf8', start, end));
  for (const fetched of await consumer.poll(timeoutMs)) {
    const columns = await readRecords(fetched, isolation);
    for (let i = 0; i < columns.count; i++)
      records.push({
        topic: fetched.topic,
        partition: fetched.partition,
        offset: columns.offsets[i],
        timestamp: columns.timestamps[i],
        key: text(columns.bytes, columns.keyStarts[i], columns.keyEnds[i]),
        value: text(columns.bytes, columns.valueStarts[i], columns.valueEnds[i]),
        headers: decodeHeaders(columns.bytes, columns.headerStarts[i], columns.headerEnds[i]).map(
          ({ name, value }) => ({
            name,
            value: value === null ? null : Buffer.from(value).toString(),
          }),
        ),
      });
  }
  return records;
}

/** Polls until `count` records came; more than that is an error. */
export async function readCount(
  consumer: Consumer,
  count: number,
  isolation: 'read_uncommitted' | 'read_committed' = 'read_uncommitted',
): Promise<ReadRecord[]> {
  const records: ReadRecord[] = [];
  await until(`${count} records`, async () => {
    records.push(...(await pollRecords(consumer, isolation)));
    return records.length >= count;
  });
  assert.equal(records.length, count, `more records than the ${count} expected`);
  return records;
}

/** All of one partition, from its beginning, by a consumer without a group. */
export async function readPartition(
  broker: Broker,
  topic: string,
  partition: number,
  count: number,
  isolation: 'read_uncommitted' | 'read_committed' = 'read_uncommitted',
): Promise<ReadRecord[]> {
  const consumer = broker.consumer({ clientId: randomName('reader'), groupId: null, isolation });
  try {
    await consumer.assign([{ topic, partition, from: 'beginning' }]);
    return await readCount(consumer, count, isolation);
  } finally {
    await consumer.close();
  }
}

/** Calls `step` until it is true; a step has to wait by itself for what it looks at. */
export async function until(what: string, step: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await step())) if (Date.now() > deadline) assert.fail(`no ${what} within ${deadlineMs} ms`);
}

export async function transactional(broker: Broker, transactionalId: string): Promise<Producer> {
  const producer = broker.producer({ clientId: transactionalId, transactionalId });
  await producer.initTransactions();
  return producer;
}

export function hasCode(code: string): (error: unknown) => boolean {
  return error => {
    assert.equal((error as { code?: string }).code, code, String(error));
    return true;
  };
}
