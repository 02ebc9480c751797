/** Decodes request bodies. Malformed ones get 400 with what is expected, where the Java worker answers 500. */

import { parseJson } from '../../schemas/json/exactJson.ts';
import type { Config } from '../api/index.ts';
import { ConnectError } from '../api/index.ts';
import type { CreateRequest, InitialState, OffsetEntry } from '../herder/herder.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

function invalid(message: string): ConnectError {
  return new ConnectError('REQUEST_INVALID', message);
}

function parsed(body: unknown, parse: (text: string) => unknown): unknown {
  const text = Buffer.isBuffer(body) ? body.toString('utf8') : '';
  if (text.trim() === '') throw invalid('The request has no body; a JSON object is expected.');
  try {
    return parse(text);
  } catch (error) {
    throw invalid(`The request body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function object(value: unknown, what: string): JsonObject {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw invalid(`${what} must be a JSON object.`);
  }
  return value as JsonObject;
}

const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** JSON whose numbers become their text, digit by digit: config values are texts, and 1.50 is not 1.5. */
function parseWithNumbersAsText(text: string): unknown {
  JSON.parse(text);
  return JSON.parse(text.replace(token, found => (found[0] === '"' ? found : `"${found}"`)));
}

export function jsonObject(body: unknown): JsonObject {
  return object(parsed(body, JSON.parse), 'The request body');
}

/** A config: texts, numbers and booleans become texts; `allowNull` for changes, where null removes a key. */
export function configBody(body: unknown, allowNull: true): Readonly<Record<string, string | null>>;
export function configBody(body: unknown, allowNull: false): Config;
export function configBody(body: unknown, allowNull: boolean): Readonly<Record<string, string | null>> {
  return configMap(object(parsed(body, parseWithNumbersAsText), 'The request body'), allowNull);
}

function configMap(map: JsonObject, allowNull: boolean): Readonly<Record<string, string | null>> {
  const config: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(map)) {
    if (typeof value === 'object' && !(value === null && allowNull)) {
      const found = value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object';
      throw invalid(`The value of configuration ${key} must be a string; it is ${found}.`);
    }
    config[key] = value === null ? null : String(value);
  }
  return config;
}

const createFields = ['name', 'config', 'initial_state'];
const initialStates: readonly InitialState[] = ['RUNNING', 'PAUSED', 'STOPPED'];

/** The config gets the name, which is trimmed. */
export function createBody(body: unknown): CreateRequest {
  const request = object(parsed(body, parseWithNumbersAsText), 'The request body');
  const stranger = Object.keys(request).find(key => !createFields.includes(key));
  if (stranger !== undefined) throw invalid(`Unknown field "${stranger}"; known are: ${createFields.join(', ')}.`);
  const name = request.name ?? '';
  if (typeof name !== 'string') throw invalid('The field "name" must be a string.');
  if (request.config === undefined || request.config === null) throw invalid('The field "config" is missing.');
  const config = configMap(object(request.config, 'The field "config"'), false) as Config;
  return { name: name.trim(), config: named(config, name.trim()), initialState: initialState(request.initial_state) };
}

function initialState(value: unknown): InitialState {
  if (value === undefined || value === null) return 'RUNNING';
  const state = initialStates.find(known => typeof value === 'string' && value.toUpperCase() === known);
  if (state === undefined) {
    throw invalid(
      `The field "initial_state" must be one of ${initialStates.join(', ')}; it is ${JSON.stringify(value)}.`,
    );
  }
  return state;
}

/** A list of configs, as workers of a cluster send it. */
export function taskConfigsBody(body: unknown): Config[] {
  const list = parsed(body, parseWithNumbersAsText);
  if (!Array.isArray(list)) throw invalid('The request body must be a JSON array.');
  return list.map((item: unknown) => configMap(object(item, 'Each task config'), false) as Config);
}

/** The config with its name in it. Throws where it has another. */
export function named(config: Config, name: string): Config {
  const own = config.name;
  if (own !== undefined && own !== name) throw otherName(own, name);
  return { ...config, name };
}

export function otherName(own: string | null, name: string): ConnectError {
  return new ConnectError(
    'CONFIG_INVALID',
    `Connector name configuration (${own}) doesn't match connector name in the URL (${name})`,
  );
}

/** `{"offsets":[{"partition":{…},"offset":{…}}]}`; integers beyond 2^53 stay exact. An absent list is an empty one. */
export function offsetsBody(body: unknown): OffsetEntry[] {
  const request = object(parsed(body, parseJson), 'The request body');
  const stranger = Object.keys(request).find(key => key !== 'offsets');
  if (stranger !== undefined) throw invalid(`Unknown field "${stranger}"; known is: offsets.`);
  const list = request.offsets ?? [];
  if (!Array.isArray(list)) throw invalid('The field "offsets" must be an array.');
  return list.map((item: unknown) => {
    const entry = object(item, 'Each of "offsets"');
    return {
      partition: nullableObject(entry.partition, 'partition') as OffsetEntry['partition'],
      offset: nullableObject(entry.offset, 'offset') as OffsetEntry['offset'],
    };
  });
}

function nullableObject(value: unknown, field: string): JsonObject | null {
  return value === undefined || value === null ? null : object(value, `The field "${field}"`);
}
