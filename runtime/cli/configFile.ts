/** Reads configuration files by their extension: .properties, .json, .yaml, .yml. Nested keys are joined by dots, lists by commas. */
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { type Config, ConnectError } from '../api/index.ts';
import { parseProperties } from '../config/properties.ts';
import type { InitialState } from '../herder/herder.ts';

/** null where the file has none of the extensions. */
async function parseFile(path: string): Promise<unknown> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConnectError('CONFIG_INVALID', `cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
  try {
    switch (extname(path).toLowerCase()) {
      case '.json':
        return JSON.parse(text);
      case '.yaml':
      case '.yml':
        return (await import('yaml')).parse(text);
      default:
        return Object.fromEntries(parseProperties(text));
    }
  } catch (error) {
    throw new ConnectError('CONFIG_INVALID', `${path} cannot be parsed: ${(error as Error).message}`, { cause: error });
  }
}

export async function readWorkerFile(path: string): Promise<Config> {
  return flat(requireMap(await parseFile(path), path), path);
}

export interface ConnectorFile {
  readonly path: string;
  readonly name: string;
  readonly config: Config;
  /** Only for a connector that is not there yet. */
  readonly initialState: InitialState | null;
}

/** Flat keys with `name` among them, or the form of POST /connectors. */
export async function readConnectorFile(path: string): Promise<ConnectorFile> {
  const map = requireMap(await parseFile(path), path);
  const isRequest = map.config !== null && typeof map.config === 'object';
  const config = flat(isRequest ? requireMap(map.config, path) : map, path);
  const name = isRequest && map.name !== undefined ? String(map.name) : config.name;
  if (name === undefined || name === '') {
    throw new ConnectError('CONFIG_INVALID', `${path} has no key "name"; a connector file must give one`);
  }
  const state = isRequest ? initialState(map.initial_state, path) : null;
  return { path, name, config: { ...config, name }, initialState: state };
}

const initialStates: readonly InitialState[] = ['RUNNING', 'PAUSED', 'STOPPED'];

function initialState(value: unknown, path: string): InitialState | null {
  if (value === undefined || value === null) return null;
  const state = initialStates.find(known => known === String(value).toUpperCase());
  if (state === undefined) {
    const message = `${path}: initial_state must be one of ${initialStates.join(', ')}; it is ${String(value)}`;
    throw new ConnectError('CONFIG_INVALID', message);
  }
  return state;
}

function requireMap(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new ConnectError('CONFIG_INVALID', `${path} must hold a map of keys to values`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function flat(map: Readonly<Record<string, unknown>>, path: string, prefix = ''): Record<string, string> {
  const config: Record<string, string> = {};
  for (const [key, value] of Object.entries(map)) {
    if (value === null) continue;
    if (Array.isArray(value)) config[prefix + key] = value.map(String).join(',');
    else if (typeof value === 'object') Object.assign(config, flat(requireMap(value, path), path, `${prefix}${key}.`));
    else config[prefix + key] = String(value);
  }
  return config;
}
