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
