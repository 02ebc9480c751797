/**
 * A schema registry over Confluent's REST API (Confluent, Apicurio's ccompat, Karapace, Redpanda). Answers are kept: an id never changes its
 * schema. Trouble of the network and of the server is retried with back-off for a bounded time, then reported as retriable.
 *
 * Not on @kafkajs/confluent-schema-registry: its `register` sets the compatibility level of new subjects, which is the operator's choice; it
 * keeps no schema text (attributes are lost), and does not tell an unreachable registry from one that refuses. Tests read with it what we write.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseAvroSchema } from '../avro/avroSchema.ts';
import { schemaDifferences } from '../avro/compatibility.ts';
import { inlineReferences } from '../avro/inlineReferences.ts';
import { ConnectError } from '../errors.ts';
import type { RegisteredSchema, SchemaRegistry } from './schemaRegistry.ts';

export interface RestRegistrySettings {
  /** Base URLs; tried in turn. */
  readonly urls: readonly string[];
  /** `user:password` for basic authentication, or null. */
  readonly userInfo: string | null;
  readonly bearerToken: string | null;
  readonly normalizeSchemas: boolean;
  readonly maxRetries: number;
  readonly retryWaitMs: number;
  readonly retryMaxWaitMs: number;
  readonly requestTimeoutMs: number;
}

/** Codes of the registry's error bodies. */
const SUBJECT_NOT_FOUND = 40401;
const VERSION_NOT_FOUND = 40402;
const SCHEMA_NOT_FOUND = 40403;

interface SchemaReference {
  readonly name: string;
  readonly subject: string;
  readonly version: number;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly url: string;
}

export class RestRegistry implements SchemaRegistry {
  readonly #settings: RestRegistrySettings;
  readonly #closed = new AbortController();
  readonly #registered = new Map<string, Promise<number>>();
  readonly #lookedUp = new Map<string, Promise<number>>();
  readonly #texts = new Map<number, Promise<string>>();
  #preferred = 0;

  constructor(settings: RestRegistrySettings) {
    if (settings.urls.length === 0) throw new ConnectError('CONFIG_INVALID', 'schema.registry.url names no URL');
    this.#settings = { ...settings, urls: settings.urls.map(url => url.replace(/\/+$/, '')) };
  }

  register(subject: string, schema: string): Promise<number> {
    return once(this.#registered, key(subject, schema), () => this.#register(subject, schema));
  }

  lookup(subject: string, schema: string): Promise<number> {
    return once(this.#lookedUp, key(subject, schema), async () => {
      const answer = await this.#call('POST', `/subjects/${encodeURIComponent(subject)}${this.#normalize()}`, {
        schema,
      });
      if (answer.status === 200) return numberOf(answer, 'id');
      const code = errorCode(answer);
      if (code === SUBJECT_NOT_FOUND || code === SCHEMA_NOT_FOUND) {
        throw new ConnectError(
          'REGISTRY_SCHEMA_UNKNOWN',
          `subject ${subject} ${code === SUBJECT_NOT_FOUND ? 'does not exist' : 'does not have this schema'} in ${answer.url}. Register it, or set auto.register.schemas=true or use.latest.version=true`,
        );
      }
      throw unexpected(answer, `looking up a schema of subject ${subject}`);
    });
  }

  async latest(subject: string): Promise<RegisteredSchema> {
    const answer = await this.#call('GET', `/subjects/${encodeURIComponent(subject)}/versions/latest`);
    if (answer.status === 200) {
      const { schemaType } = answer.body as { schemaType?: string };
      return {
        id: numberOf(answer, 'id'),
        subject,
        version: numberOf(answer, 'version'),
        schema: await this.#standalone(answer),
        schemaType: schemaType === 'JSON' || schemaType === 'PROTOBUF' ? schemaType : 'AVRO',
      };
    }
    const code = errorCode(answer);
    if (code === SUBJECT_NOT_FOUND || code === VERSION_NOT_FOUND)
      throw new ConnectError('REGISTRY_SCHEMA_UNKNOWN', `subject ${subject} does not exist in ${answer.url}`);
    throw unexpected(answer, `reading the latest schema of subject ${subject}`);
  }

  schemaById(id: number): Promise<string> {
    return once(this.#texts, id, async () => {
      const answer = await this.#call('GET', `/schemas/ids/${id}`);
      if (answer.status === 200) {
        const { schemaType = 'AVRO' } = answer.body as { schemaType?: string };
        if (schemaType === 'AVRO') return this.#standalone(answer);
        throw new ConnectError(
          'CONVERTER_FAILED',
          `schema id ${id} is ${schemaType}, not Avro; use the converter for it`,
        );
      }
      if (answer.status === 404) {
        throw new ConnectError(
          'REGISTRY_SCHEMA_UNKNOWN',
          `there is no schema with id ${id} in ${answer.url}. Check that the topic was written with this registry`,
        );
      }
      throw unexpected(answer, `reading schema ${id}`);
    });
  }

  /** The schema of an answer, with the schemas that it refers to. */
  async #standalone(answer: Answer): Promise<string> {
    const schema = textOf(answer, 'schema');
    const references = member(answer, 'references');
    if (!Array.isArray(references) || references.length === 0) return schema;
    const texts = new Map<string, string>();
    await this.#collect(references as readonly SchemaReference[], texts);
    return inlineReferences(schema, texts);
  }

  async #collect(references: readonly SchemaReference[], texts: Map<string, string>): Promise<void> {
    for (const { name, subject, version } of references) {
      if (texts.has(name)) continue;
      const answer = await this.#call('GET', `/subjects/${encodeURIComponent(subject)}/versions/${version}`);
      if (answer.status === 404)
        throw new ConnectError(
          'REGISTRY_SCHEMA_UNKNOWN',
          `subject ${subject} has no version ${version}, which a schema refers to as ${name}`,
        );
      if (answer.status !== 200) throw unexpected(answer, `reading version ${version} of subject ${subject}`);
      texts.set(name, textOf(answer, 'schema'));
      const further = member(answer, 'references');
      if (Array.isArray(further)) await this.#collect(further as readonly SchemaReference[], texts);
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
  }

  #normalize(): string {
    return this.#settings.normalizeSchemas ? '?normalize=true' : '';
  }

  async #register(subject: string, schema: string): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions${this.#normalize()}`;
    const answer = await this.#call('POST', path, { schema });
    if (answer.status === 200) return numberOf(answer, 'id');
    if (answer.status === 409) throw await this.#incompatible(subject, schema, answer);
    throw unexpected(answer, `registering a schema for subject ${subject}`);
  }

  /** The registry says that it refuses, seldom why: the difference is worked out here. */
  async #incompatible(subject: string, schema: string, refusal: Answer): Promise<ConnectError> {
    let what: string;
    try {
      const latest = await this.latest(subject);
      const found = schemaDifferences(parseAvroSchema(latest.schema), parseAvroSchema(schema));
      const shown = found.slice(0, 5).join('; ') + (found.length > 5 ? `; and ${found.length - 5} more` : '');
      what = `with version ${latest.version}${found.length > 0 ? `: ${shown}` : ` or an earlier one: ${messageOf(refusal)}`}`;
    } catch (error) {
      what = `(${messageOf(refusal)}; its versions could not be read: ${(error as Error).message})`;
    }
    return new ConnectError(
      'REGISTRY_INCOMPATIBLE',
      `the registry refused the new schema of subject ${subject} as incompatible ${what}. Set the compatibility level of the subject to one that allows it (PUT /config/${encodeURIComponent(subject)} of the registry), or write to a new topic (topic.prefix, or a RegexRouter transform), and restart the task; no change is lost`,
    );
  }

  /** One request; retried while there is no answer or one that says "later". */
  async #call(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const { urls, maxRetries, retryWaitMs, retryMaxWaitMs } = this.#settings;
    let trouble: unknown;
    for (let attempt = 0; attempt <= maxRetries; attempt++) {
      if (attempt > 0)
        await this.#wait(Math.min(retryMaxWaitMs, retryWaitMs * 2 ** (attempt - 1)) * (0.75 + Math.random() / 4));
      for (let turn = 0; turn < urls.length; turn++) {
        const index = (this.#preferred + turn) % urls.length;
        try {
          const answer = await this.#request(urls[index], method, path, body);
          if (answer.status < 500 && answer.status !== 408 && answer.status !== 429) {
            this.#preferred = index;
            return answer;
          }
          trouble = new Error(`${answer.status} ${messageOf(answer)}`);
        } catch (error) {
          if (this.#closed.signal.aborted) throw this.#unreachable(error);
          trouble = error;
        }
      }
    }
    throw this.#unreachable(trouble);
  }

  async #request(base: string, method: string, path: string, body?: object): Promise<Answer> {
    const { userInfo, bearerToken, requestTimeoutMs } = this.#settings;
    const url = new URL(base + path);
    const user =
      url.username === '' ? userInfo : `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    url.username = '';
    url.password = '';
    const headers: Record<string, string> = { accept: 'application/vnd.schemaregistry.v1+json, application/json' };
    if (user !== null) headers.authorization = `Basic ${Buffer.from(user).toString('base64')}`;
    else if (bearerToken !== null) headers.authorization = `Bearer ${bearerToken}`;
    if (body) headers['content-type'] = 'application/vnd.schemaregistry.v1+json';
    const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(requestTimeoutMs)]);
    const response = await fetch(url, { method, headers, signal, body: body && JSON.stringify(body) });
    const text = await response.text();
    return {
      status: response.status,
      body: parse(text),
      url: url.origin + url.pathname.slice(0, -path.split('?')[0].length),
    };
  }

  #unreachable(trouble: unknown): ConnectError {
    const cause = trouble instanceof Error && trouble.cause instanceof Error ? trouble.cause : trouble;
    const why =
      cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || cause.name : String(cause);
    const where = this.#settings.urls.map(shown).join(', ');
    return new ConnectError(
      'REGISTRY_UNREACHABLE',
      `the schema registry at ${where} did not answer: ${why}. Check schema.registry.url`,
      {
        cause: trouble,
        retriable: true,
      },
    );
  }

  async #wait(ms: number): Promise<void> {
    try {
      await delay(ms, undefined, { signal: this.#closed.signal });
    } catch (error) {
      throw this.#unreachable(error);
    }
  }
}

const key = (subject: string, schema: string): string => `${subject}\n${schema}`;

/** The same promise for the same key, also while under way; a failure is forgotten, so that it is tried again. */
function once<K, V>(cache: Map<K, Promise<V>>, at: K, make: () => Promise<V>): Promise<V> {
  const known = cache.get(at);
  if (known) return known;
  const made = make().catch(error => {
    cache.delete(at);
    throw error;
  });
  cache.set(at, made);
  return made;
}

/** A URL without credentials, for messages. */
function shown(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const member = (answer: Answer, name: string): unknown =>
  typeof answer.body === 'object' && answer.body !== null ? (answer.body as Record<string, unknown>)[name] : undefined;

const errorCode = (answer: Answer): unknown =>
  member(answer, 'error_code') ?? (answer.status === 404 ? SUBJECT_NOT_FOUND : null);

function messageOf(answer: Answer): string {
  const message =
    member(answer, 'message') ?? (typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  return String(message).slice(0, 500);
}

function numberOf(answer: Answer, name: string): number {
  const value = member(answer, name);
  if (typeof value === 'number') return value;
  throw unexpected(answer, `reading "${name}"`);
}

function textOf(answer: Answer, name: string): string {
  const value = member(answer, name);
  if (typeof value === 'string') return value;
  throw unexpected(answer, `reading "${name}"`);
}

function unexpected(answer: Answer, doing: string): ConnectError {
  const denied = answer.status === 401 || answer.status === 403;
  const advice = denied ? '. Check basic.auth.user.info and the rights of this user' : '';
  return new ConnectError(
    denied ? 'CONFIG_INVALID' : 'CONVERTER_FAILED',
    `${doing}: the registry at ${answer.url} answered ${answer.status}: ${messageOf(answer)}${advice}`,
  );
}
