/**
 * What `plugin.path` names: module files, npm packages whose package.json has a "millrace" key, and folders of those, `node_modules` too. Other packages, and
 * the JARs that stock files name, are passed over; a package with the key that is wrong is an error.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConnectError, PLUGIN_API_VERSION } from '../api/index.ts';

export interface FoundModule {
  readonly url: string;
  /** Where a user finds it: a file, or the folder of its package. */
  readonly place: string;
}

/** `onEmpty`: told of what is not there (as in Kafka Connect, whose stock files name folders that often are not) or holds no plugin. */
export function findModules(
  pluginPath: readonly string[],
  onEmpty: (message: string) => void = () => {},
): FoundModule[] {
  return pluginPath.flatMap(entry => {
    const path = resolve(entry);
    if (!existsSync(path)) {
      onEmpty(`plugin.path names ${path}, which does not exist; it is left out`);
      return [];
    }
    if (!statSync(path).isDirectory()) return [moduleFile(path)];
    const found = inFolder(path);
    if (found.length === 0) {
      onEmpty(
        `plugin.path names ${path}, which holds no plugin: neither module files (.js, .mjs) nor packages with a "millrace" key in package.json`,
      );
    }
    return found;
  });
}

const moduleFile = (path: string): FoundModule => ({ url: pathToFileURL(path).href, place: path });

function inFolder(path: string): FoundModule[] {
  if (existsSync(join(path, 'package.json'))) return packageModule(path);
  return readdirSync(path)
    .sort()
    .flatMap(name => {
      const child = join(path, name);
      // Links too, as package managers make them.
      if (!statSync(child, { throwIfNoEntry: false })?.isDirectory()) {
        return /\.m?js$/.test(name) ? moduleFile(child) : [];
      }
      if (existsSync(join(child, 'package.json'))) return packageModule(child);
      return name.startsWith('@') ? inFolder(child) : [];
    });
}

function packageModule(folder: string): FoundModule[] {
  const file = join(folder, 'package.json');
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw invalid(file, `it cannot be read: ${(error as Error).message}`);
  }
  const manifest = (content as { millrace?: unknown } | null)?.millrace;
  if (manifest === undefined) return [];
  if (manifest === null || typeof manifest !== 'object') throw invalid(file, '"millrace" must be an object');
  const { apiVersion, module = './index.js', ...others } = manifest as Record<string, unknown>;
  const [stranger] = Object.keys(others);
  if (stranger !== undefined)
    throw invalid(file, `"millrace" has an unknown key "${stranger}"; known are apiVersion and module`);
  if (apiVersion === undefined) {
    throw invalid(file, `"millrace" has no "apiVersion"; this version of the API is ${PLUGIN_API_VERSION}`);
  }
  if (apiVersion !== PLUGIN_API_VERSION) {
    throw new ConnectError(
      'PLUGIN_API_UNSUPPORTED',
      `${file} is for version ${JSON.stringify(apiVersion)} of the plugin API, and this Millrace has version ${PLUGIN_API_VERSION}; install a release of the package that fits`,
    );
  }
  if (typeof module !== 'string') throw invalid(file, '"module" of "millrace" must be the path of a file');
  const path = resolve(folder, module);
  if (!existsSync(path)) throw invalid(file, `"millrace" names the module ${module}, and there is no file ${path}`);
  return [{ url: pathToFileURL(path).href, place: folder }];
}

const invalid = (file: string, why: string): ConnectError =>
  new ConnectError('PLUGIN_MODULE_INVALID', `${file} is no plugin manifest: ${why}`);
