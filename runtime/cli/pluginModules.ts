/** The plugin modules of a worker: the built-in ones, and what is found on `plugin.path`. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { builtinPlugins } from './builtinPlugins.ts';

/** An entry of the path is a module, or a folder of modules and of packages (folders with an index.js or index.mjs). */
export function pluginModules(pluginPath: readonly string[], onMissing: (path: string) => void = () => {}): string[] {
  return [
    ...builtinPlugins,
    ...pluginPath.flatMap(entry => found(resolve(entry), onMissing).map(path => pathToFileURL(path).href)),
  ];
}

function found(path: string, onMissing: (path: string) => void): string[] {
  if (!existsSync(path)) {
    // As in Kafka Connect: its stock files name folders that are often not there.
    onMissing(path);
    return [];
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
