import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { builtinPlugins } from '../../../runtime/cli/builtinPlugins.ts';
import { pluginModules } from '../../../runtime/cli/pluginModules.ts';
import { declareModule } from '../../../runtime/worker/pluginRegistry.ts';

const transform = (className: string): string =>
  `export const plugins = [{ kind: 'transformation', className: '${className}', aliases: [], version: '2.0.0',
     configDef: { keys: {}, parse: () => ({ values: {}, errors: [] }) }, create: () => ({ configure() {}, apply: r => r }) }];`;

async function folder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'plugin-path-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

const manifest = (millrace: unknown): string => JSON.stringify({ name: 'x', type: 'module', millrace });

test('what is said of the built-in modules is what they export', async () => {
  for (const declared of builtinPlugins) assert.deepEqual(declared, await declareModule(declared.url));
});

test('a folder of plugin.path that does not exist, or has none, is named and left out', async t => {
  const messages: string[] = [];
  const path = join(import.meta.dirname, 'no-such-folder');
  const jars = await folder(t, {
    'kafka.jar': '',
    'lib/other.jar': '',
    'left-pad/package.json': '{"name":"left-pad"}',
  });
  assert.deepEqual(await pluginModules([path, jars], message => messages.push(message)), builtinPlugins);
  assert.equal(messages.length, 2);
  assert.match(messages[0]!, /names .*no-such-folder, which does not exist/);
  assert.match(messages[1]!, /which holds no plugin/);
});

test('packages, scoped and linked ones, and module files are found', async t => {
  const root = await folder(t, {
    'node_modules/a/package.json': manifest({ apiVersion: 1 }),
    'node_modules/a/index.js': transform('acme.A'),
    'node_modules/@acme/b/package.json': manifest({ apiVersion: 1, module: 'dist/b.mjs' }),
    'node_modules/@acme/b/dist/b.mjs': transform('acme.B'),
    'node_modules/plain/package.json': JSON.stringify({ name: 'plain' }),
    'node_modules/plain/index.js': 'throw new Error("not to be loaded")',
    'linked/package.json': manifest({ apiVersion: 1 }),
    'linked/index.js': transform('acme.C'),
    'single.mjs': transform('acme.D'),
  });
  await symlink(join(root, 'linked'), join(root, 'node_modules/linked'));
  const found = await pluginModules([join(root, 'node_modules'), join(root, 'single.mjs')]);
  const names = found.slice(builtinPlugins.length).flatMap(module => module.plugins.map(p => p.className));
  assert.deepEqual(names, ['acme.B', 'acme.A', 'acme.C', 'acme.D']);
});

for (const [what, files, code, message] of [
  [
    'another version of the API',
    { 'package.json': manifest({ apiVersion: 99 }) },
    'PLUGIN_API_UNSUPPORTED',
    /for version 99 of the plugin API, and this Millrace has version 1/,
  ],
  [
    'no version',
    { 'package.json': manifest({}) },
    'PLUGIN_MODULE_INVALID',
    /has no "apiVersion"; this version of the API is 1/,
  ],
  [
    'a missing file',
    { 'package.json': manifest({ apiVersion: 1, module: 'lib/x.js' }) },
    'PLUGIN_MODULE_INVALID',
    /names the module lib\/x\.js, and there is no file .*lib\/x\.js/,
  ],
  [
    'an unknown key',
    { 'package.json': manifest({ apiVersion: 1, main: 'x.js' }) },
    'PLUGIN_MODULE_INVALID',
    /unknown key "main"/,
  ],
  [
    'a package.json that is none',
    { 'package.json': '{' },
    'PLUGIN_MODULE_INVALID',
    /package\.json is no plugin manifest: it cannot be read/,
  ],
  [
    'a module without a list',
    { 'package.json': manifest({ apiVersion: 1 }), 'index.js': 'export const plugin = 1' },
    'PLUGIN_MODULE_INVALID',
    /does not export a list named "plugins"/,
  ],
  [
    'a plugin without a kind',
    {
      'package.json': manifest({ apiVersion: 1 }),
      'index.js': "export const plugins = [{ className: 'acme.X', kind: 'sauce' }]",
    },
    'PLUGIN_MODULE_INVALID',
    /the kind of acme\.X is "sauce"; it must be one of source, sink/,
  ],
  [
    'a dependency that is not installed',
    { 'package.json': manifest({ apiVersion: 1 }), 'index.js': "import 'no-such-package-anywhere'" },
    'PLUGIN_MODULE_INVALID',
    /Run npm install in the folder/,
  ],
  [
    'a class that is built in',
    {
      'package.json': manifest({ apiVersion: 1 }),
      'index.js': transform('org.apache.kafka.connect.transforms.Filter'),
    },
    'PLUGIN_DUPLICATE',
    /Filter comes from Millrace itself and from /,
  ],
] as const) {
  test(`plugin.path with ${what} is told clearly`, async t => {
    const root = await folder(t, files as Record<string, string>);
    await assert.rejects(pluginModules([root]), { code, message });
  });
}

test('two packages with one class are both named', async t => {
  const root = await folder(t, {
    'a/package.json': manifest({ apiVersion: 1 }),
    'a/index.js': transform('acme.Same'),
    'b/package.json': manifest({ apiVersion: 1 }),
    'b/index.js': transform('acme.Same'),
  });
  await assert.rejects(pluginModules([root]), {
    code: 'PLUGIN_DUPLICATE',
    message: `acme.Same comes from ${join(root, 'a')} and from ${join(root, 'b')}; take one of them off plugin.path`,
  });
});
