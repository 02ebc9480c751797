/** Indices of a test on each server that the tests know, dropped at the end. */
import { randomBytes } from 'node:crypto';
import type { Config } from '../../../runtime/api/index.ts';
import { type JsonValue, parseJson } from '../../../schemas/json/exactJson.ts';

export const servers: readonly (readonly [string, string])[] = [
  ['OpenSearch 2.19', process.env.OPENSEARCH_URL ?? 'http://127.0.0.1:9200'],
  ...(process.env.ELASTICSEARCH_URL ? [['Elasticsearch', process.env.ELASTICSEARCH_URL] as const] : []),
];

export type PlainDocument = Readonly<Record<string, JsonValue>>;

export class ElasticTarget implements AsyncDisposable {
  readonly url: string;
  readonly #prefix = `sink${randomBytes(5).toString('hex')}`;
  #names = 0;

  constructor(url: string) {
    this.url = url;
  }

  get connection(): Config {
    return { 'connection.url': this.url, 'behavior.on.null.values': 'delete' };
  }

  /** A name for a topic and its index. */
  newName(): string {
    return `${this.#prefix}_${++this.#names}`;
  }

  async ask(method: string, path: string, body?: unknown): Promise<{ status: number; json: JsonValue }> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? null : parseJson(text) };
  }

  /** What must succeed. */
  async run(method: string, path: string, body?: unknown): Promise<JsonValue> {
    const { status, json } = await this.ask(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
    return json;
  }

  /** By id, in the order of ids. */
  async documents(index: string): Promise<ReadonlyMap<string, PlainDocument>> {
    if ((await this.ask('POST', `/${index}/_refresh`)).status === 404) return new Map();
    const found = (await this.run('GET', `/${index}/_search?size=10000`)) as {
      hits: { hits: { _id: string; _source: PlainDocument }[] };
    };
    const hits = found.hits.hits.map(hit => [hit._id, hit._source] as const);
    return new Map(hits.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** How its fields are mapped. */
  async properties(index: string): Promise<Readonly<Record<string, { type?: string; properties?: object }>>> {
    const answer = (await this.run('GET', `/${index}/_mapping`)) as Record<
      string,
      { mappings: { properties?: Record<string, { type?: string; properties?: object }> } }
    >;
    return Object.values(answer)[0]!.mappings.properties ?? {};
  }

  async version(index: string, id: string): Promise<number> {
    const { _version } = (await this.run('GET', `/${index}/_doc/${encodeURIComponent(id)}`)) as { _version: number };
    return _version;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Wildcards may be forbidden for deletions.
    const indices = (await this.run('GET', `/_cat/indices/${this.#prefix}*?format=json&h=index`)) as {
      index: string;
    }[];
    for (const { index } of indices) await this.run('DELETE', `/${index}`);
  }
}
