import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { builtinPlugins } from '../../../runtime/cli/builtinPlugins.ts';
import { pluginModules } from '../../../runtime/cli/pluginModules.ts';

test('a folder of plugin.path that does not exist is named and left out', () => {
  const missing: string[] = [];
  const path = join(import.meta.dirname, 'no-such-folder');
  assert.deepEqual(
    pluginModules([path], entry => missing.push(entry)),
    builtinPlugins,
  );
  assert.deepEqual(missing, [path]);
});
