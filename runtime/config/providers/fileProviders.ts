/** FileConfigProvider (`${file:/path/x.properties:key}`) and DirectoryConfigProvider (`${dir:/path:file}`): secrets kept in files. */
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type Config, type ConfigData, type ConfigProvider, ConnectError, configDef } from '../../api/index.ts';
import { parseProperties } from '../properties.ts';

const allowedPathsKey = {
  type: 'LIST',
  default: [],
  importance: 'HIGH',
  documentation: 'Folders and files that may be read; empty = all that the worker may read.',
} as const;
export const fileProviderDef = configDef({ 'allowed.paths': allowedPathsKey });

/** Reads below the allowed paths only, links followed first. */
class AllowedFiles {
  #allowed: readonly string[] = [];

  constructor(config: Config) {
    this.#allowed = fileProviderDef.parse(config).values['allowed.paths'];
  }

  async #check(path: string): Promise<void> {
    if (this.#allowed.length === 0) return;
    const real = await realpath(path);
    for (const allowed of this.#allowed) {
      const root = await realpath(allowed);
      if (real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)) return;
    }
    throw new Error('the path is not under allowed.paths');
  }

  async reading<T>(path: string, read: () => Promise<T>): Promise<T> {
    try {
      await this.#check(path);
      return await read();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new ConnectError('CONFIG_PROVIDER_FAILED', `cannot read ${path} for a config placeholder: ${why}`, {
        cause: error,
      });
    }
  }
}

export class FileConfigProvider implements ConfigProvider {
  #files = new AllowedFiles({});

  configure(config: Config): void {
    this.#files = new AllowedFiles(config);
  }

  async get(path: string, keys: readonly string[]): Promise<ConfigData> {
    const properties = await this.#files.reading(path, async () => parseProperties(await readFile(path, 'utf8')));
    return { values: new Map([...properties].filter(([key]) => keys.includes(key))) };
  }
}

export class DirectoryConfigProvider implements ConfigProvider {
  #files = new AllowedFiles({});

  configure(config: Config): void {
    this.#files = new AllowedFiles(config);
  }

  /** Keys are file names; a value is the whole content. */
  async get(path: string, keys: readonly string[]): Promise<ConfigData> {
    return this.#files.reading(path, async () => {
      const names = new Set(await readdir(path));
      const found = new Map<string, string>();
      for (const key of keys) {
        const file = join(path, key);
        if (names.has(key) && (await stat(file)).isFile()) found.set(key, await readFile(file, 'utf8'));
      }
      return { values: found };
    });
  }
}
