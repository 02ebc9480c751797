import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadWorkerConfig } from '../../../runtime/config/loadWorkerConfig.ts';
import { refusedOverrides, sinkConsumer, sourceProducer } from '../../../runtime/worker/clientSettings.ts';
import { backOffMs } from '../../../runtime/worker/errors/errorPolicy.ts';
import { TopicCreationRules } from '../../../runtime/worker/source/topicCreation.ts';

const workerConfig = (flags: Record<string, string> = {}) => loadWorkerConfig({ flags }).config;

test('client settings: built in, then the worker, then the connector', () => {
  const worker = workerConfig({
    'producer.compression.type': 'lz4',
    'producer.acks': '1',
    'consumer.fetch.max.bytes': '9',
  });
  const connector = {
    'producer.override.compression.type': 'zstd',
    'producer.override.metadata.max.age.ms': '7',
    'consumer.override.group.id': 'g',
    'consumer.override.isolation.level': 'read_committed',
  };
  const { options, batchBytes } = sourceProducer('id', connector, worker);
  assert.equal(options.compression, 'zstd');
  assert.equal(options.acks, 1);
  assert.equal(options.idempotent, false, 'acks=1 and idempotence exclude each other');
  assert.equal(sourceProducer('id', {}, workerConfig()).options.idempotent, true);
  assert.throws(() => sourceProducer('id', { 'producer.override.compression.type': 'rar' }, worker), {
    message:
      'Invalid value rar for configuration compression.type: String must be one of: none, gzip, snappy, lz4, zstd',
  });
  assert.equal(options.clientId, 'id');
  assert.equal(options.settings?.['metadata.max.age.ms'], '7');
  assert.ok(batchBytes > 100_000);
  const consumer = sinkConsumer('c', 3, connector, worker);
  assert.equal(consumer.groupId, 'g');
  assert.equal(consumer.isolation, 'read_committed');
  assert.equal(consumer.autoOffsetReset, 'earliest');
  assert.equal(consumer.maxBytes, 9);
  assert.equal(consumer.clientId, 'connector-consumer-c-3');
  assert.equal(sinkConsumer('c', 0, {}, worker).groupId, 'connect-c');
});

test('the override policy refuses in Kafka’s words', () => {
  const connector = { 'producer.override.acks': 'all', 'admin.override.x': '1' };
  const messages = (flags: Record<string, string>): string[] =>
    refusedOverrides(connector, workerConfig(flags)).map(e => e.message);
  const policy = 'connector.client.config.override.policy';
  assert.deepEqual(messages({}), []);
  assert.deepEqual(messages({ [policy]: 'None' }), [
    "The 'None' policy does not allow 'acks' to be overridden in the connector configuration.",
    "The 'None' policy does not allow 'x' to be overridden in the connector configuration.",
  ]);
  const allowlist = { [policy]: 'Allowlist', 'connector.client.config.override.allowlist': 'acks' };
  assert.equal(messages(allowlist).length, 1);
  assert.throws(() => sourceProducer('id', connector, workerConfig({ [policy]: 'None' })), { code: 'CONFIG_INVALID' });
});

test('retries back off, with a random wait above the limit', () => {
  assert.deepEqual(
    [0, 1, 2].map(n => backOffMs(n, 60000)),
    [300, 600, 1200],
  );
  assert.equal(
    backOffMs(20, 60000, () => 0.5),
    30000,
  );
});

test('topic rules name what is missing or wrong', () => {
  const rules = (config: Record<string, string>) => () => TopicCreationRules.fromConfig(config, true);
  assert.throws(rules({ 'topic.creation.default.partitions': '1' }), /"topic.creation.default.replication.factor"/);
  const defaults = { 'topic.creation.default.partitions': '1', 'topic.creation.default.replication.factor': '-1' };
  assert.throws(rules({ ...defaults, 'topic.creation.groups': 'a', 'topic.creation.a.include': '(' }), {
    code: 'CONFIG_INVALID',
  });
  assert.throws(rules({ ...defaults, 'topic.creation.default.partitions': '0' }), /must be a positive number/);
});
