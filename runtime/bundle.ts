/**
 * Bundles the program into `dist`: one file for each entry and shared chunks, since loading hundreds of small modules takes most of a start. A module's
 * `import.meta.url` stays that of its place below `dist`, so that what it names beside itself is found from a chunk too.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { builtinPluginPaths } from './cli/builtinPlugins.ts';

const root = resolve(import.meta.dirname, '..');
const command = 'runtime/cli/main';
const tsc = resolve(root, 'node_modules/typescript/bin/tsc');
const entries = [
  command,
  'runtime/worker/threads/taskThreadMain',
  'runtime/broker/embedded/logThread',
  'runtime/api/public',
  ...builtinPluginPaths.map(path => relative(root, resolve(import.meta.dirname, 'cli', path))),
];
/** Native, or for development only. */
const external = ['@mongodb-js/zstd', '@node-rs/crc32', 'lmdb', 'lz4-napi', 'pg-native', 'snappy', 'tsx'];

const ownUrls: Plugin = {
  name: 'own-urls',
  setup(bundler) {
    bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      if (path.includes('/node_modules/') || !source.includes('import.meta.url')) return null;
      const place = relative(root, path).replace(/\.ts$/, '.js');
      const url = `(import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/') + 6) + ${JSON.stringify(place)})`;
      return { contents: source.replaceAll('import.meta.url', url), loader: 'ts' };
    });
  },
};

/** Packages that are imported when they are needed stay what they are: bundled, a CommonJS one would have no names to import. */
const latePackages: Plugin = {
  name: 'late-packages',
  setup(bundler) {
    bundler.onResolve({ filter: /^[^./]/ }, ({ kind }) => (kind === 'dynamic-import' ? { external: true } : null));
  },
};

rmSync(resolve(root, 'dist'), { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: entries.map(entry => `${entry}.ts`),
  outdir: 'dist',
  outbase: '.',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external,
  plugins: [ownUrls, latePackages],
  // What CommonJS packages expect to be there.
  banner: {
    js: "import { createRequire as $createRequire } from 'node:module'; import { fileURLToPath as $path } from 'node:url'; const require = $createRequire(import.meta.url), __filename = $path(import.meta.url), __dirname = $path(new URL('.', import.meta.url));",
  },
  logLevel: 'warning',
});
chmodSync(resolve(root, 'dist', `${command}.js`), 0o755);
// Types for those who write plugins.
execFileSync(process.execPath, [tsc, '-p', resolve(root, 'runtime/api')], { stdio: 'inherit' });
