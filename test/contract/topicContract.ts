/** Topics and the offsets of partitions, as the admin sees them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContractContext } from './brokerContract.ts';
import { hasCode, produce, randomName, until, values } from './contractTools.ts';

export function topicContract(context: ContractContext): void {
  test('a created topic is listed, described and has its configs', async () => {
    const admin = context.broker.admin();
    const topic = await context.topic(3, { 'cleanup.policy': 'compact', 'retention.ms': '1234567' });
    assert.ok((await admin.listTopics()).includes(topic));
    assert.deepEqual(await admin.describeTopics([topic, randomName('missing')]), [{ name: topic, partitions: 3 }]);
    const configs = await admin.topicConfig(topic);
    assert.equal(configs.get('cleanup.policy'), 'compact');
    assert.equal(configs.get('retention.ms'), '1234567');
    assert.equal(configs.get('min.insync.replicas'), '1', 'defaults are part of the answer');
  });

  test('creating an existing topic leaves it as it is and names only what is new', async () => {
    const admin = context.broker.admin();
    const topic = await context.topic(2);
    const other = randomName('topic');
    const created = await admin.createTopics([
      { name: topic, partitions: 5, replicationFactor: -1 },
      { name: other, partitions: -1, replicationFactor: -1 },
    ]);
    assert.deepEqual(created, [other]);
    assert.deepEqual(await admin.describeTopics([topic]), [{ name: topic, partitions: 2 }]);
    await admin.deleteTopics([other]);
  });

  test('an invalid topic name is refused', async () => {
    const spec = { name: 'no spaces', partitions: 1, replicationFactor: -1 };
    await assert.rejects(context.broker.admin().createTopics([spec]), (error: Error) =>
      /no spaces/.test(error.message),
    );
  });

  test('offsets say where a partition begins and ends', async () => {
    const admin = context.broker.admin();
    const topic = await context.topic(2);
    await produce(context.broker, topic, 1, values('a', 7));
    assert.deepEqual(
      await admin.offsets([
        { topic, partition: 0 },
        { topic, partition: 1 },
      ]),
      [
        { topic, partition: 0, earliest: 0, latest: 0 },
        { topic, partition: 1, earliest: 0, latest: 7 },
      ],
    );
  });

  test('a deleted topic is gone, and empty when it is made again', async () => {
    const admin = context.broker.admin();
    const topic = await context.topic(1);
    await produce(context.broker, topic, 0, values('old', 5));
    await admin.deleteTopics([topic]);
    await until('deletion', async () => !(await admin.listTopics()).includes(topic));
    assert.deepEqual(await admin.describeTopics([topic]), []);
    await until('new topic', async () => {
      const created = await admin.createTopics([{ name: topic, partitions: 1, replicationFactor: -1 }]);
      return created.length === 1;
    });
    assert.deepEqual(await admin.offsets([{ topic, partition: 0 }]), [{ topic, partition: 0, earliest: 0, latest: 0 }]);
  });

  test('configs, offsets and deletion of a topic that does not exist are refused', async () => {
    const admin = context.broker.admin();
    const topic = randomName('missing');
    await assert.rejects(admin.topicConfig(topic), hasCode('BROKER_TOPIC_UNKNOWN'));
    await assert.rejects(admin.offsets([{ topic, partition: 0 }]), hasCode('BROKER_TOPIC_UNKNOWN'));
    await assert.rejects(admin.deleteTopics([topic]), hasCode('BROKER_TOPIC_UNKNOWN'));
  });

  test('the cluster has an id that stays', async () => {
    const id = await context.broker.admin().clusterId();
    assert.match(id, /^[\w-]{16,}$/);
    assert.equal(await context.broker.admin().clusterId(), id);
  });
}
