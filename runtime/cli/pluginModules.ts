/** The plugin modules of a worker: the built-in ones, and what is found on `plugin.path`. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConnectError } from '../api/index.ts';
import { builtinPlugins } from './builtinPlugins.ts';

/** An entry of the path is a module, or a folder of modules and of packages (folders with an index.js or index.mjs). */
export function pluginModules(pluginPath: readonly string[]): string[] {
  return [
    ...builtinPlugins,
    ...pluginPath.flatMap(entry => found(resolve(entry)).map(path => pathToFileURL(path).href)),
  ];
}

function found(path: string): string[] {
  if (!existsSync(path)) {
    throw new ConnectError('CONFIG_INVALID', `Invalid value ${path} for configuration plugin.path: it does not exist`);
  }
  if (!statSync(path).isDirectory()) return [path];
  const own = packageIndex(path);
  if (own !== null) return [own];
  return readdirSync(path, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(entry => {
      const child = join(path, entry.name);
      if (entry.isDirectory()) return packageIndex(child) ?? [];
      return /\.m?js$/.test(entry.name) ? child : [];
    });
}

function packageIndex(folder: string): string | null {
  return ['index.js', 'index.mjs'].map(name => join(folder, name)).find(path => existsSync(path)) ?? null;
}
