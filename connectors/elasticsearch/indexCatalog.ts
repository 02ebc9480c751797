/** The indices and data streams that are written to: there before the first document, with fields mapped before the first document that has them. */
import { ConnectError } from '../../runtime/api/index.ts';
import type { SinkSettings } from './config.ts';
import type { ElasticClient } from './elasticClient.ts';
import { type ErrorAnswer, errorAnswer, okAnswer } from './elasticFailure.ts';
import { type Mapping, missingFields } from './mapping.ts';

interface IndexMapping {
  readonly dynamic?: string | boolean;
  readonly properties?: Mapping;
}

export class IndexCatalog {
  readonly #client: ElasticClient;
  readonly #settings: SinkSettings;
  readonly #known = new Set<string>();

  constructor(client: ElasticClient, settings: SinkSettings) {
    this.#client = client;
    this.#settings = settings;
  }

  /** `wanted` is null where the target is to map fields by itself, as always in what others have made and in data streams, which have templates. */
  async prepare(name: string, wanted: Mapping | null): Promise<void> {
    if (!this.#known.has(name)) {
      if (this.#settings.resources !== null) await this.#require(name);
      else if (this.#settings.dataStream !== null) await this.#makeStream(name);
      else await this.#makeIndex(name);
      this.#known.add(name);
    }
    if (wanted !== null && this.#settings.resources === null && this.#settings.dataStream === null)
      await this.#addFields(name, wanted);
  }

  async #require(name: string): Promise<void> {
    if (await this.#exists(name)) return;
    throw new ConnectError(
      'SINK_INDEX_MISSING',
      `${name} is not there, and topic.to.external.resource.mapping names it; create it, or correct the name`,
      { place: { table: name } },
    );
  }

  async #makeStream(name: string): Promise<void> {
    if (await this.#exists(name)) return;
    const path = `/_data_stream/${encodeURIComponent(name)}`;
    const answer = await this.#client.send({ method: 'PUT', path });
    if (answer.status < 300) return;
    const error = errorAnswer(`PUT ${path}`, answer);
    if (error.type === 'resource_already_exists_exception') return;
    if (error.status !== 400) throw error;
    throw new ConnectError(
      'SINK_INDEX_MISSING',
      `the data stream ${name} could not be made: ${error.message}; make an index template with "data_stream": {} for it, or correct data.stream.type and data.stream.dataset`,
      { place: { table: name } },
    );
  }

  /** Without fields: templates that match have theirs first. */
  async #makeIndex(name: string): Promise<void> {
    if (await this.#exists(name)) return;
    const path = `/${encodeURIComponent(name)}`;
    const answer = await this.#client.send({ method: 'PUT', path });
    if (answer.status < 300) return;
    const error = errorAnswer(`PUT ${path}`, answer);
    // Another task was faster.
    if (error.type === 'resource_already_exists_exception') return;
    throw error.status === 400 ? notMade(name, error) : error;
  }

  async #addFields(name: string, wanted: Mapping): Promise<void> {
    const path = `/${encodeURIComponent(name)}/_mapping`;
    const answer = okAnswer(`GET ${path}`, await this.#client.send({ method: 'GET', path }));
    // An alias may stand for several.
    for (const { mappings } of Object.values(answer as Readonly<Record<string, { readonly mappings: IndexMapping }>>)) {
      // Somebody has decided which fields there are.
      if (/^(strict|false)$/.test(String(mappings.dynamic))) continue;
      const missing = missingFields(wanted, mappings.properties ?? {});
      if (missing === null) continue;
      const put = await this.#client.send({ method: 'PUT', path, body: JSON.stringify({ properties: missing }) });
      if (put.status < 300) continue;
      const error = errorAnswer(`PUT ${path}`, put);
      throw error.status === 400 ? notMade(name, error) : error;
    }
  }

  /** As index, alias or data stream. */
  async #exists(name: string): Promise<boolean> {
    const path = `/${encodeURIComponent(name)}`;
    const answer = await this.#client.send({ method: 'HEAD', path });
    if (answer.status === 404) return false;
    if (answer.status < 300) return true;
    throw errorAnswer(`HEAD ${path}`, answer);
  }
}

const notMade = (name: string, error: ErrorAnswer): ConnectError =>
  new ConnectError(
    'SINK_INDEX_FAILED',
    `the index or its fields could not be made: ${error.message}; make it by hand, or set schema.ignore=true to have its fields mapped by their first values`,
    { place: { table: name } },
  );
