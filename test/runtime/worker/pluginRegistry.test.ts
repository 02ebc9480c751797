import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PluginRegistry } from '../../../runtime/worker/pluginRegistry.ts';
import { pluginModules } from './testWorker.ts';

test('plugins are found by full, simple and short name', async () => {
  const plugins = await PluginRegistry.open(pluginModules);
  const full = 'org.apache.kafka.connect.file.FileStreamSourceConnector';
  for (const name of [full, 'FileStreamSourceConnector', 'FileStreamSource', ' FileStreamSource ']) {
    assert.equal(plugins.connector(name).className, full);
  }
  assert.equal(plugins.find('FileStreamSource', 'sink'), undefined);
  assert.equal(plugins.find('FileStreamSink', 'source', 'sink')?.kind, 'sink');
  assert.equal(plugins.find('Suffix$Value', 'transformation')?.className, 'test.Suffix$Value');
  assert.throws(() => plugins.connector('nope'), {
    code: 'PLUGIN_NOT_FOUND',
    message:
      /^Failed to find any class that implements Connector and which name matches nope, available connectors are: /,
  });
  await assert.rejects(plugins.load('nope', 'converter'), { message: 'Class nope could not be found.' });
});

test('a module that is none is named', async () => {
  await assert.rejects(PluginRegistry.open(['file:///no/such.js']), { code: 'PLUGIN_MODULE_INVALID' });
  const module = 'data:text/javascript,export const plugin = 1';
  await assert.rejects(PluginRegistry.open([module]), /does not export a list named "plugins"/);
});
