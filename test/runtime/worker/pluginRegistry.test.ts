import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asConnectError, ConnectError } from '../../../runtime/api/index.ts';
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
  assert.throws(() => plugins.connector('FileStreamSorce'), /\. FileStreamSource is probably meant$/);
  await assert.rejects(plugins.load('nope', 'converter'), { message: 'Class nope could not be found.' });
});

test('a module that is none is named', async () => {
  await assert.rejects(PluginRegistry.open(['file:///no/such.js']), { code: 'PLUGIN_MODULE_INVALID' });
  const module = 'data:text/javascript,export const plugin = 1';
  await assert.rejects(PluginRegistry.open([module]), /does not export a list named "plugins"/);
});

test('an error of another copy of the API, which a plugin may bring, counts as an error of ours', async () => {
  const copy = (await import(`${new URL('../../../schemas/errors.ts', import.meta.url).href}?copy`)) as {
    ConnectError: typeof ConnectError;
  };
  assert.notEqual(copy.ConnectError, ConnectError);
  const error = new copy.ConnectError('TASK_FAILED', 'the system is away', { retriable: true });
  assert.ok(error instanceof ConnectError);
  const located = asConnectError(error, 'CONVERTER_FAILED', { place: { connector: 'c' } });
  assert.equal(located.describe(), '[TASK_FAILED] the system is away (connector c)');
  for (const stranger of [new Error('x'), { code: 'TASK_FAILED' }, null, 'TASK_FAILED']) {
    assert.ok(!((stranger as unknown) instanceof ConnectError));
  }
});
