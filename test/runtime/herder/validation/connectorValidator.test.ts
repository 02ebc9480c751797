/** What a request for validation says of keys by their names, whatever the values are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigResolver } from '../../../../runtime/config/configResolver.ts';
import { loadWorkerConfig } from '../../../../runtime/config/loadWorkerConfig.ts';
import { ConnectorValidator } from '../../../../runtime/herder/validation/connectorValidator.ts';
import { PluginRegistry } from '../../../../runtime/worker/pluginRegistry.ts';

test('a misspelt or outdated name of a required key is told beside the key that is missing', async () => {
  const { config: worker } = loadWorkerConfig({ flags: {} });
  const modules = ['connectors/postgres/index.ts', 'runtime/converters/index.ts'];
  const plugins = await PluginRegistry.open(modules.map(path => new URL(`../../../../${path}`, import.meta.url).href));
  const resolver = await ConfigResolver.create(worker, name => plugins.loadIfFound(name, 'config_provider'));
  const validator = new ConnectorValidator(worker, plugins, resolver);
  const config = {
    name: 'shop',
    'connector.class': 'PostgresConnector',
    'database.hostname': '127.0.0.1',
    'database.user': 'u',
    'database.dbname': 'd',
  };
  const errors = async (more: Record<string, string>): Promise<string[]> =>
    (await validator.validate({ ...config, ...more })).configs.flatMap(info => info.value.errors);
  const missing = 'Missing required configuration "topic.prefix" which has no default value.';
  assert.deepEqual(await errors({ 'topic.prefx': 'shop' }), [
    missing,
    'Unknown configuration topic.prefx: topic.prefix is probably meant',
  ]);
  assert.deepEqual(await errors({ 'database.server.name': 'shop' }), [
    missing,
    'Unknown configuration database.server.name: Debezium calls it topic.prefix now; use that name',
  ]);
  // Each once, also where the connector's own check says it again.
  assert.deepEqual(await errors({ 'topic.prefix': 'shop', 'table.whitelist': 'public.item' }), [
    'Unknown configuration table.whitelist: Debezium calls it table.include.list now; use that name',
  ]);
});

test('what a source cannot do of exactly-once delivery is told in the words of Kafka Connect', async () => {
  const modules = [
    'connectors/file/index.ts',
    'connectors/datagen/index.ts',
    'runtime/converters/index.ts',
    'test/runtime/herder/scriptedPlugin.ts',
  ];
  const plugins = await PluginRegistry.open(modules.map(path => new URL(`../../../../${path}`, import.meta.url).href));
  const errorsOn =
    (support: string) =>
    async (config: Record<string, string>): Promise<string[]> => {
      const { config: worker } = loadWorkerConfig({ flags: { 'exactly.once.source.support': support } });
      const resolver = await ConfigResolver.create(worker, name => plugins.loadIfFound(name, 'config_provider'));
      const { configs } = await new ConnectorValidator(worker, plugins, resolver).validate({ name: 'c', ...config });
      return configs.flatMap(({ value }) => value.errors.map(error => `${value.name}: ${error}`));
    };
  const [enabled, preparing] = [errorsOn('enabled'), errorsOn('preparing')];
  const required = { 'exactly.once.support': 'Required' };
  const file = { 'connector.class': 'FileStreamSource', topic: 't' };
  assert.deepEqual(await enabled({ ...file, ...required, file: '/f' }), []);
  assert.deepEqual(await preparing({ ...file, ...required, file: '/f' }), [
    'exactly.once.support: This worker does not have exactly-once source support enabled.',
  ]);
  assert.deepEqual(await preparing({ ...file, 'exactly.once.support': 'requested', file: '/f' }), []);
  assert.deepEqual(await enabled({ ...file, ...required }), [
    'exactly.once.support: The connector does not support exactly-once semantics with the provided configuration.',
  ]);
  const [unknown] = await enabled({ 'connector.class': 'Scripted', ...required });
  assert.match(unknown!, /^exactly\.once\.support: The connector does not implement the API required for preflight/);
  assert.deepEqual(
    await enabled({ 'connector.class': 'DatagenSource', topic: 't', 'transaction.boundary': 'Connector' }),
    [
      'transaction.boundary: The connector does not support connector-defined transaction boundaries with the given configuration. Please reconfigure it to use a different transaction boundary definition.',
    ],
  );
  const [wrong, ...others] = await enabled({ ...file, file: '/f', 'exactly.once.support': 'perhaps' });
  assert.match(wrong!, /^exactly\.once\.support: Invalid value perhaps .* requested, required/);
  assert.deepEqual(others, []);
});

test('what a task would refuse of transforms and rules for topics is told beforehand', async () => {
  const modules = ['connectors/file/index.ts', 'runtime/converters/index.ts', 'runtime/transforms/index.ts'];
  const plugins = await PluginRegistry.open(modules.map(path => new URL(`../../../../${path}`, import.meta.url).href));
  const { config: worker } = loadWorkerConfig({ flags: {} });
  const resolver = await ConfigResolver.create(worker, name => plugins.loadIfFound(name, 'config_provider'));
  const file = { name: 'c', 'connector.class': 'FileStreamSource', topic: 't', file: '/f' };
  const route = { transforms: 'r', 'transforms.r.type': 'org.apache.kafka.connect.transforms.RegexRouter' };
  const whole = { ...route, 'transforms.r.regex': '(.*)', 'transforms.r.replacement': '$1' };
  const creation = { 'topic.creation.default.partitions': '1', 'topic.creation.default.replication.factor': '1' };
  const errors = async (more: Record<string, string>): Promise<string[]> => {
    const { configs } = await new ConnectorValidator(worker, plugins, resolver).validate({ ...file, ...more });
    return configs.flatMap(({ value }) => value.errors.map(error => `${value.name}: ${error}`));
  };
  assert.deepEqual(await errors({ ...whole, ...creation }), []);
  const [predicate] = await errors({ ...whole, 'transforms.r.predicate': 'p' });
  assert.match(predicate!, /^transforms\.r\.predicate: .*no predicate named p/);
  const [pattern] = await errors({ ...whole, 'transforms.r.regex': '(' });
  assert.match(pattern!, /^transforms(\.r\.regex)?: /);
  const group = { ...creation, 'topic.creation.groups': 'g', 'topic.creation.g.include': '(' };
  assert.match((await errors(group)).join(), /^topic\.creation\.g\.include: Invalid value \( for/);
  assert.match(
    (await errors({ 'topic.creation.default.partitions': '1' })).join(),
    /^topic\.creation\.default\.replication\.factor: Missing required/,
  );
});
