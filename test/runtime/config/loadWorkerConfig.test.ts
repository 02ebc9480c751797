import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { loadWorkerConfig } from '../../../runtime/config/loadWorkerConfig.ts';

test('without any source: embedded broker and registry, topics by group.id', () => {
  const { config, ignored } = loadWorkerConfig({});
  const dataDir = resolve('./millrace-data');
  assert.deepEqual(config.broker, { kind: 'embedded', dataDir, flush: 'os' });
  assert.deepEqual(config.registry, { kind: 'embedded', dataDir });
  assert.equal(config['offset.storage.topic'], 'millrace-offsets');
  assert.equal(config['config.storage.topic'], 'millrace-configs');
  assert.equal(config['status.storage.topic'], 'millrace-status');
  assert.equal(config['value.converter'], 'io.confluent.connect.avro.AvroConverter');
  assert.equal(config['offset.flush.interval.ms'], 60000);
  assert.deepEqual(ignored, []);
  structuredClone(config);
});

test('a stock connect-standalone.properties works; keys without meaning are named', () => {
  const { config, ignored } = loadWorkerConfig({
    file: {
      'bootstrap.servers': 'localhost:9092',
      'key.converter': 'org.apache.kafka.connect.json.JsonConverter',
      'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
      'key.converter.schemas.enable': 'true',
      'offset.storage.file.filename': '/tmp/connect.offsets',
      'offset.flush.interval.ms': '10000',
      'security.protocol': 'SSL',
      'producer.compression.type': 'lz4',
      'plugin.discovery': 'hybrid_warn',
    },
  });
  assert.deepEqual(config.broker, {
    kind: 'kafka',
    settings: { 'bootstrap.servers': 'localhost:9092', 'security.protocol': 'SSL' },
  });
  assert.deepEqual(config.registry, { kind: 'rest', config: {} });
  assert.equal(config.raw['producer.compression.type'], 'lz4');
  assert.deepEqual(ignored, [
    { key: 'offset.storage.file.filename', meant: null },
    { key: 'plugin.discovery', meant: null },
  ]);
});

test('of an unknown key that nearly is a known one, that one is named', () => {
  const { ignored } = loadWorkerConfig({ flags: { 'offset.flush.intervall.ms': '1', 'something.else.entirely': 'x' } });
  assert.deepEqual(ignored, [
    { key: 'offset.flush.intervall.ms', meant: 'offset.flush.interval.ms' },
    { key: 'something.else.entirely', meant: null },
  ]);
});

test('flags win over environment, environment over file', () => {
  const { config } = loadWorkerConfig({
    file: { 'group.id': 'file', 'task.threads': '1', 'offset.flush.interval.ms': '1' },
    environment: { CONNECT_GROUP_ID: 'env', CONNECT_TASK_THREADS: '2', CONNECT_PRODUCER_A__B___C: 'x', OTHER: 'y' },
    flags: { 'group.id': 'flag' },
  });
  assert.equal(config['group.id'], 'flag');
  assert.equal(config['task.threads'], 2);
  assert.equal(config['offset.flush.interval.ms'], 1);
  assert.equal(config.raw['producer.a_b-c'], 'x');
  assert.equal(config['status.storage.topic'], 'flag-status');
});

test('the registry of a converter serves where the worker names none', () => {
  const { config } = loadWorkerConfig({
    file: { 'bootstrap.servers': 'k:9092', 'value.converter.schema.registry.url': 'http://r:8081' },
  });
  assert.deepEqual(config.registry, { kind: 'rest', config: { 'schema.registry.url': 'http://r:8081' } });
});

test('algorithms of signatures are known ones, and a worker accepts its own', () => {
  const load = (algorithm: string, accepted: string): unknown =>
    loadWorkerConfig({
      file: { 'inter.worker.signature.algorithm': algorithm, 'inter.worker.verification.algorithms': accepted },
    });
  assert.ok(load('HmacSHA512', 'HmacSHA256, HmacSHA512'));
  assert.throws(() => load('HmacSHA512', 'HmacSHA256'), {
    code: 'CONFIG_INVALID',
    message: /verification\.algorithms: HmacSHA512, which is inter\.worker\.signature\.algorithm, is missing/,
  });
  assert.throws(() => load('HmacSHA256', 'HmacSHA256,HmacMD5'), /HmacMD5 is none of: HmacSHA1, HmacSHA256/);
  assert.throws(() => load('None', 'HmacSHA256'), /inter\.worker\.signature\.algorithm: String must be one of/);
});

test('every invalid key is named in one error', () => {
  assert.throws(
    () => loadWorkerConfig({ file: { 'task.threads': 'many', 'exactly.once.source.support': 'maybe' } }),
    (error: { code?: string; message?: string }) => {
      assert.equal(error.code, 'CONFIG_INVALID');
      assert.match(error.message!, /Invalid value many for configuration task\.threads: Not a number of type INT/);
      assert.match(error.message!, /exactly\.once\.source\.support: String must be one of/);
      return true;
    },
  );
});
