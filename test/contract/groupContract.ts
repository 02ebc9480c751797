/** Consumer groups: committed offsets, how partitions are shared and handed over, and what the admin may change. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TopicPartition } from '../../runtime/api/connector.ts';
import type { Consumer, ConsumerOptions } from '../../runtime/broker/port.ts';
import type { ContractContext } from './brokerContract.ts';
import {
  hasCode,
  pollRecords,
  produce,
  type ReadRecord,
  randomName,
  readCount,
  until,
  values,
} from './contractTools.ts';

/** A group member that commits what it read when partitions leave it, as a sink task does. */
class Member {
  readonly consumer: Consumer;
  readonly records: ReadRecord[] = [];
  readonly events: string[] = [];
  #positions = new Map<string, TopicPartition & { offset: number }>();

  constructor(context: ContractContext, groupId: string, options: Partial<ConsumerOptions> = {}) {
    this.consumer = context.broker.consumer({
      clientId: randomName('member'),
      groupId,
      autoOffsetReset: 'earliest',
      onAssigned: async partitions => {
        this.events.push(`assigned ${partitions.map(p => p.partition).join()}`);
      },
      onRevoked: async partitions => {
        this.events.push(`revoked ${partitions.map(p => p.partition).join()}`);
        await this.commit();
      },
      ...options,
    });
  }

  async poll(): Promise<void> {
    for (const record of await pollRecords(this.consumer, 'read_uncommitted', 100)) {
      this.records.push(record);
      const { topic, partition, offset } = record;
      this.#positions.set(`${topic}/${partition}`, { topic, partition, offset: offset + 1 });
    }
  }

  async commit(): Promise<void> {
    const positions = [...this.#positions.values()];
    this.#positions.clear();
    await this.consumer.commit(positions);
  }
}

/** Polls all members until the condition holds. */
async function pollUntil(what: string, members: readonly Member[], condition: () => boolean): Promise<void> {
  await until(what, async () => {
    await Promise.all(members.map(member => member.poll()));
    return condition();
  });
}

export function groupContract(context: ContractContext): void {
  test('a lone member gets all partitions and its committed offsets outlive it', async () => {
    const topic = await context.topic(3);
    const groupId = context.group();
    for (const partition of [0, 1, 2]) await produce(context.broker, topic, partition, values('v', 4));
    const first = new Member(context, groupId);
    await first.consumer.subscribe([topic]);
    await pollUntil('12 records', [first], () => first.records.length === 12);
    assert.equal(first.consumer.assignment().length, 3);
    assert.deepEqual(first.events, ['assigned 0,1,2']);
    await first.consumer.commit([{ topic, partition: 0, offset: 2, metadata: 'm' }]);
    assert.deepEqual(
      await first.consumer.committed([
        { topic, partition: 0 },
        { topic, partition: 1 },
      ]),
      [{ topic, partition: 0, offset: 2, metadata: 'm' }],
      'partitions without a committed offset are left out',
    );
    await first.commit();
    await first.consumer.commit([{ topic, partition: 1, offset: 1 }]);
    await first.consumer.close();
    assert.equal(first.events.at(-1), 'revoked 0,1,2');

    const second = new Member(context, groupId);
    await second.consumer.subscribe([topic]);
    await pollUntil('3 records', [second], () => second.records.length >= 3);
    assert.deepEqual(
      second.records.map(({ partition, offset }) => [partition, offset]),
      [
        [1, 1],
        [1, 2],
        [1, 3],
      ],
    );
    await second.consumer.close();
  });

  test('members share the partitions; one that joins or leaves hands over without loss', async () => {
    const topic = await context.topic(3);
    const groupId = context.group();
    const members = [new Member(context, groupId), new Member(context, groupId), new Member(context, groupId)];
    const [a, b, c] = members;
    const sizes = (...list: Member[]) => list.map(member => member.consumer.assignment().length).join();
    await a.consumer.subscribe([topic]);
    for (const partition of [0, 1, 2]) await produce(context.broker, topic, partition, values('first', 5));
    await pollUntil('15 records', [a], () => a.records.length === 15);

    await b.consumer.subscribe([topic]);
    await pollUntil('two shares', [a, b], () => /^(1,2|2,1)$/.test(sizes(a, b)));
    assert.ok(a.events.some(event => event.startsWith('revoked')));
    await c.consumer.subscribe([topic]);
    await pollUntil('three shares', members, () => sizes(a, b, c) === '1,1,1');
    const owned = members.flatMap(member => member.consumer.assignment().map(p => p.partition)).sort();
    assert.deepEqual(owned, [0, 1, 2]);

    for (const partition of [0, 1, 2]) await produce(context.broker, topic, partition, values('second', 5));
    const total = () => members.reduce((sum, member) => sum + member.records.length, 0);
    await pollUntil('30 records', members, () => total() >= 30);

    await a.consumer.close();
    await pollUntil('two shares again', [b, c], () => /^(1,2|2,1)$/.test(sizes(b, c)));
    for (const partition of [0, 1, 2]) await produce(context.broker, topic, partition, values('third', 5));
    await pollUntil('45 records', [b, c], () => total() >= 45);
    assert.equal(total(), 45, 'every position was committed at its handover, so that nothing came twice');
    const seen = new Set(members.flatMap(member => member.records.map(r => `${r.partition}/${r.offset}`)));
    assert.equal(seen.size, 45);
    await b.consumer.close();
    await c.consumer.close();
  });

  test('a group without committed offsets starts as auto.offset.reset says', async () => {
    const topic = await context.topic(1);
    await produce(context.broker, topic, 0, values('old', 3));
    const latest = new Member(context, context.group(), { autoOffsetReset: 'latest' });
    await latest.consumer.subscribe([topic]);
    await pollUntil('position', [latest], () => latest.consumer.position({ topic, partition: 0 }) === 3);
    await produce(context.broker, topic, 0, values('new', 1));
    await pollUntil('the new record', [latest], () => latest.records.length > 0);
    assert.deepEqual(
      latest.records.map(record => record.value),
      ['new0'],
    );
    await latest.consumer.close();

    const none = new Member(context, context.group(), { autoOffsetReset: 'none' });
    await none.consumer.subscribe([topic]);
    await assert.rejects(
      pollUntil('error', [none], () => none.records.length > 0),
      hasCode('BROKER_OFFSET_OUT_OF_RANGE'),
    );
    await none.consumer.close();
  });

  test('a pattern takes whole names, and topics that come later', async () => {
    const prefix = randomName('pattern');
    const first = await context.topic(1, {}, `${prefix}.one`);
    await context.topic(1, {}, `x${prefix}.two`);
    await produce(context.broker, first, 0, values('a', 1));
    await produce(context.broker, `x${prefix}.two`, 0, values('no', 1));
    const member = new Member(context, context.group(), { settings: { 'metadata.max.age.ms': '1000' } });
    await member.consumer.subscribe(new RegExp(`${prefix}\\..*`));
    await pollUntil('the first topic', [member], () => member.records.length > 0);
    const later = await context.topic(2, {}, `${prefix}.later`);
    await produce(context.broker, later, 1, values('b', 1));
    await pollUntil('the later topic', [member], () => member.records.length > 1);
    await member.commit();
    assert.deepEqual(
      member.records.map(record => [record.topic, record.value]),
      [
        [first, 'a0'],
        [later, 'b0'],
      ],
    );
    await member.consumer.close();
  });

  test('offsets can be committed without being a member', async () => {
    const topic = await context.topic(1);
    const groupId = context.group();
    await produce(context.broker, topic, 0, values('v', 5));
    const consumer = context.broker.consumer({ clientId: 'alone', groupId });
    await consumer.assign([{ topic, partition: 0, from: 'beginning' }]);
    await readCount(consumer, 5);
    await consumer.commit([{ topic, partition: 0, offset: 5 }]);
    assert.deepEqual(
      (await consumer.committed([{ topic, partition: 0 }])).map(({ offset }) => offset),
      [5],
    );
    await consumer.close();
    const offsets = await context.broker.admin().groupOffsets(groupId);
    assert.deepEqual(
      offsets.map(({ partition, offset }) => [partition, offset]),
      [[0, 5]],
    );
  });

  test('group offsets are altered and deleted while the group has no members, and only then', async () => {
    const admin = context.broker.admin();
    const topic = await context.topic(2);
    const groupId = context.group();
    await produce(context.broker, topic, 0, values('v', 5));
    await admin.alterGroupOffsets(groupId, [
      { topic, partition: 0, offset: 3 },
      { topic, partition: 1, offset: 0 },
    ]);
    const member = new Member(context, groupId);
    await member.consumer.subscribe([topic]);
    await pollUntil('2 records', [member], () => member.records.length === 2);
    await assert.rejects(
      admin.alterGroupOffsets(groupId, [{ topic, partition: 0, offset: 0 }]),
      hasCode('BROKER_GROUP_NOT_EMPTY'),
    );
    await assert.rejects(admin.deleteGroup(groupId), hasCode('BROKER_GROUP_NOT_EMPTY'));
    await member.consumer.close();

    await admin.deleteGroupOffsets(groupId, [{ topic, partition: 1 }]);
    assert.deepEqual(
      (await admin.groupOffsets(groupId)).map(({ partition, offset }) => [partition, offset]),
      [[0, 5]],
    );
    await admin.deleteGroup(groupId);
    assert.deepEqual(await admin.groupOffsets(groupId), []);
  });

  test('a member that does not poll for max.poll.interval.ms loses its partitions and may not commit', async () => {
    const topic = await context.topic(1);
    const groupId = context.group();
    const settings = { 'max.poll.interval.ms': '2000', 'session.timeout.ms': '6000' };
    const slow = new Member(context, groupId, { settings });
    await slow.consumer.subscribe([topic]);
    await pollUntil('assignment', [slow], () => slow.consumer.assignment().length === 1);
    const other = new Member(context, groupId, { settings });
    await other.consumer.subscribe([topic]);
    await pollUntil('takeover', [other], () => other.consumer.assignment().length === 1);
    await assert.rejects(
      slow.consumer.commit([{ topic, partition: 0, offset: 0 }]),
      hasCode('BROKER_GROUP_MEMBER_LOST'),
    );
    await other.consumer.close();
    await slow.consumer.close();
  });
}
