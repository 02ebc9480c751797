import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lackingActions } from '../../../connectors/mongodb/checkTarget.ts';
import { checkSinkConfig } from '../../../connectors/mongodb/config.ts';
import { hostsOf } from '../../../connectors/mongodb/connection.ts';
import { sinkPlugin } from '../../../connectors/mongodb/index.ts';
import { configOf, splitOverride } from '../../../connectors/mongodb/topicOverrides.ts';
import type { Config } from '../../../runtime/api/index.ts';

const base: Config = { 'connection.uri': 'mongodb://127.0.0.1:1', database: 'shop' };
const errors = (extra: Config): string[] =>
  checkSinkConfig({ ...base, ...extra }).map(({ key, message }) => `${key}: ${message}`);

test('takes configurations of the known connector', () => {
  assert.deepEqual(errors({}), []);
  assert.deepEqual(errors({ collection: 'c'.repeat(250) }), []);
  const known = 'com.mongodb.kafka.connect.sink';
  assert.deepEqual(
    errors({
      'connector.class': 'com.mongodb.kafka.connect.MongoSinkConnector',
      topics: 'a.b',
      'document.id.strategy': `${known}.processor.id.strategy.PartialValueStrategy`,
      'document.id.strategy.partial.value.projection.type': 'AllowList',
      'document.id.strategy.partial.value.projection.list': 'a,b',
      'writemodel.strategy': `${known}.writemodel.strategy.UpdateOneBusinessKeyTimestampStrategy`,
      'post.processor.chain': `${known}.processor.DocumentIdAdder,${known}.processor.KafkaMetaAdder`,
      'topic.override.a.b.collection': 'c',
      'topic.override.a.b.change.data.capture.handler': `${known}.cdc.debezium.rdbms.mysql.MysqlHandler`,
      'mongo.errors.tolerance': 'data',
      'errors.tolerance': 'all',
      'max.num.retries': '3',
    }),
    [],
  );
});

test('names what contradicts, and the key to change', () => {
  const cases: [Config, RegExp][] = [
    [{ database: '' }, /^database: .*must not be empty/],
    [
      { 'post.processor.chain': 'AllowListKeyProjector', 'key.projection.list': 'a' },
      /^key\.projection\.type: .*needs it to be allowlist/,
    ],
    [{ 'value.projection.type': 'allowlist' }, /^value\.projection\.type: .*post\.processor\.chain/],
    [{ 'key.projection.list': 'a' }, /^key\.projection\.list: .*post\.processor\.chain/],
    [{ 'post.processor.chain': 'BlockListValueProjector' }, /^value\.projection\.list: .*needs a list/],
    [
      {
        'post.processor.chain': 'BlockListValueProjector',
        'value.projection.type': 'allowlist',
        'value.projection.list': 'a',
      },
      /^value\.projection\.type: .*another type/,
    ],
    [{ database: 'a.b' }, /^database: .*none of/],
    [{ collection: 'system.x' }, /^collection: .*of the server/],
    [{ collection: 'c'.repeat(251) }, /^collection: .*longer than 255 bytes/],
    [{ 'document.id.strategy': 'FullKey' }, /^document\.id\.strategy: .*FullKeyStrategy/],
    [{ 'writemodel.strategy': 'Upsert' }, /^writemodel\.strategy: .*ReplaceOneDefaultStrategy/],
    [{ 'writemodel.strategy': 'ReplaceOneBusinessKeyStrategy' }, /^writemodel\.strategy: .*PartialKeyStrategy/],
    [
      { 'delete.on.null.values': 'true', 'document.id.strategy': 'BsonOidStrategy' },
      /^delete\.on\.null\.values: .*record key/,
    ],
    [
      { 'delete.on.null.values': 'true', 'delete.writemodel.strategy': 'DeleteOneBusinessKeyStrategy' },
      /^delete\.writemodel\.strategy: .*PartialKeyStrategy/,
    ],
    [{ 'change.data.capture.handler': 'ChangeStreamHandler' }, /^change\.data\.capture\.handler: .*RdbmsHandler/],
    [{ 'post.processor.chain': 'Blocklist' }, /^post\.processor\.chain: .*Blocklist is none of/],
    [{ 'field.renamer.mapping': '{}', 'post.processor.chain': 'RenameByMapping' }, /^field\.renamer\.mapping: /],
    [
      {
        'field.renamer.regexp': '[{"regexp":"(","pattern":"","replace":""}]',
        'post.processor.chain': 'RenameByRegex',
      },
      /^field\.renamer\.regexp: /,
    ],
    [{ 'mongo.errors.tolerance': 'data' }, /^mongo\.errors\.tolerance: .*set it to all/],
    [{ 'mongo.errors.tolerance': 'none', 'errors.tolerance': 'all' }, /^mongo\.errors\.tolerance: .*set it to none/],
    [{ 'connection.ssl.truststore': 'a.jks' }, /^connection\.ssl\.truststore: .*tlsCAFile/],
    [{ 'mongo.errors.deadletterqueue.topic.name': 'dlq' }, /errors\.deadletterqueue\.topic\.name/],
    [{ 'connection.uri': 'http://x' }, /^connection\.uri: /],
    [{ 'connection.uri': 'mongodb://127.0.0.1:1/?w=0' }, /^connection\.uri: .*w=majority/],
    [{ colection: 'x' }, /collection is probably meant/],
    [{ 'topic.override.a.b.colection': 'x' }, /^topic\.override\.a\.b\.colection: Unknown/],
    [{ 'topic.override.a.b.connection.uri': 'x' }, /^topic\.override\.a\.b\.connection\.uri: Unknown/],
    [
      { 'topic.override.a.b.writemodel.strategy': 'Upsert' },
      /^topic\.override\.a\.b\.writemodel\.strategy: .*ReplaceOneDefaultStrategy/,
    ],
  ];
  for (const [config, expected] of cases) {
    const found = errors(config);
    assert.equal(found.length, 1, JSON.stringify(config));
    assert.match(found[0]!, expected);
  }
});

test('does not show the password of a connection string that it cannot read', () => {
  const [error] = errors({ 'connection.uri': 'mongodb://user:s3cr3t@host:1:2/' });
  assert.match(error!, /^connection\.uri: /);
  assert.doesNotMatch(error!, /s3cr3t/);
  assert.equal(hostsOf('mongodb://user:s3cr3t@a:1,b:2/db?x=y'), 'a:1,b:2');
  assert.equal(hostsOf('mongodb+srv://cluster.example'), 'cluster.example');
});

test('finds the topic in a key of its own, though both have dots', () => {
  assert.deepEqual(splitOverride('topic.override.shop.public.orders.collection'), {
    topic: 'shop.public.orders',
    key: 'collection',
  });
  assert.deepEqual(splitOverride('topic.override.t.namespace.mapper.key.collection.field'), {
    topic: 't',
    key: 'namespace.mapper.key.collection.field',
  });
  assert.equal(splitOverride('topic.override.collection'), null);
  const config = { collection: 'all', 'topic.override.a.b.collection': 'own' };
  assert.deepEqual([configOf(config, 'a.b').collection, configOf(config, 'b').collection], ['own', 'all']);
});

test('speaks for keys of topics', () => {
  assert.equal(sinkPlugin.readsKey?.('topic.override.a.collection'), true);
  assert.equal(sinkPlugin.readsKey?.('topics.override'), false);
});

test('tells which rights are missing', () => {
  const actions = ['insert', 'update', 'remove'];
  const target = { database: 'shop', collection: 'orders', actions };
  const grant = (db: string, collection: string, given = actions) => ({ resource: { db, collection }, actions: given });
  assert.deepEqual(lackingActions([grant('shop', '')], target), []);
  assert.deepEqual(lackingActions([grant('', '')], target), []);
  assert.deepEqual(lackingActions([grant('shop', 'orders', ['insert'])], target), ['update', 'remove']);
  assert.deepEqual(lackingActions([grant('shop', 'orders', ['find']), grant('other', '')], target), actions);
  assert.deepEqual(lackingActions([grant('shop', 'items')], target), actions);
  assert.deepEqual(lackingActions([grant('shop', 'items')], { ...target, collection: null }), []);
  assert.deepEqual(lackingActions([{ resource: { anyResource: true }, actions: ['anyAction'] }], target), []);
  assert.deepEqual(lackingActions([{ resource: { cluster: true }, actions }], target), actions);
});
