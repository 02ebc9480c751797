/**
 * Confluent's schema registry REST API over the embedded registry, as a table of handlers that know no HTTP framework: what a server needs is method, path
 * (parameters as `:name`) and `handle`. Answers are JSON with the content type `application/vnd.schemaregistry.v1+json`.
 */
import type { RegisteredSchema } from '../../../schemas/registry/schemaRegistry.ts';
import type { EmbeddedRegistry } from './embeddedRegistry.ts';
import { RegistryFault, registryCodes } from './registryFault.ts';
import type { RegistryStore, VersionSelector } from './registryStore.ts';

export interface RegistryRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** The parsed JSON body; undefined if there is none. */
  readonly body: unknown;
}

export interface RegistryAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface RegistryRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  handle(request: RegistryRequest): Promise<RegistryAnswer>;
}

type Handler = (store: RegistryStore, request: RegistryRequest) => Promise<unknown> | unknown;

export function registryApi(registry: EmbeddedRegistry): readonly RegistryRoute[] {
  const routes: RegistryRoute[] = [];
  const add = (method: RegistryRoute['method'], path: string, summary: string, handler: Handler) => {
    const handle = async (request: RegistryRequest): Promise<RegistryAnswer> => {
      try {
        return { status: 200, body: await handler(await registry.store(), request) };
      } catch (error) {
        if (!(error instanceof RegistryFault)) throw error;
        return { status: error.status, body: { error_code: error.code, message: error.message } };
      }
    };
    routes.push({ method, path, summary, handle });
  };

  add('GET', '/schemas/types', 'Schema types that can be registered.', () => ['AVRO']);
  add('GET', '/schemas/ids/:id', 'The schema of an id.', (store, { params }) => ({
    schema: store.schemaById(idOf(params)),
  }));
  add('GET', '/schemas/ids/:id/schema', 'The schema of an id, by itself.', (store, { params }) =>
    JSON.parse(store.schemaById(idOf(params))),
  );
  add('GET', '/schemas/ids/:id/subjects', 'Subjects that have the schema of an id.', (store, { params, query }) => [
    ...new Set(store.versionsOfId(idOf(params), isTrue(query.deleted)).map(({ subject }) => subject)),
  ]);
  add('GET', '/schemas/ids/:id/versions', 'Subjects and versions that have the schema of an id.', (store, request) =>
    store.versionsOfId(idOf(request.params), isTrue(request.query.deleted)),
  );

  add('GET', '/subjects', 'All subjects.', (store, { query }) => {
    const prefix = typeof query.subjectPrefix === 'string' ? query.subjectPrefix : '';
    return store.subjects(isTrue(query.deleted)).filter(subject => subject.startsWith(prefix));
  });
  add('POST', '/subjects/:subject', 'Looks a schema up under a subject.', (store, { params, query, body }) =>
    versionBody(store.find(params.subject, schemaOf(body), isTrue(query.deleted))),
  );
  add('DELETE', '/subjects/:subject', 'Deletes a subject.', (store, { params, query }) =>
    store.deleteSubject(params.subject, isTrue(query.permanent)),
  );
  add('GET', '/subjects/:subject/versions', 'Versions of a subject.', (store, { params, query }) =>
    store.versions(params.subject, isTrue(query.deleted)),
  );
  add(
    'POST',
    '/subjects/:subject/versions',
    'Registers a schema under a subject.',
    async (store, { params, body }) => ({
      id: (await store.register(params.subject, schemaOf(body))).id,
    }),
  );
  add('GET', '/subjects/:subject/versions/:version', 'A version of a subject.', (store, { params, query }) =>
    versionBody(store.version(params.subject, selectorOf(params), isTrue(query.deleted))),
  );
  add('GET', '/subjects/:subject/versions/:version/schema', 'The schema of a version, by itself.', (store, request) =>
    JSON.parse(store.version(request.params.subject, selectorOf(request.params), isTrue(request.query.deleted)).schema),
  );
  add('GET', '/subjects/:subject/versions/:version/referencedby', 'Schemas that refer to a version.', () => []);
  add('DELETE', '/subjects/:subject/versions/:version', 'Deletes a version.', (store, { params, query }) =>
    store.deleteVersion(params.subject, selectorOf(params), isTrue(query.permanent)),
  );

  add('GET', '/config', 'The global compatibility level.', store => ({ compatibilityLevel: store.globalLevel() }));
  add('PUT', '/config', 'Sets the global compatibility level.', async (store, { body }) => {
    await store.setGlobalLevel(levelOf(body));
    return { compatibility: levelOf(body) };
  });
  add('GET', '/config/:subject', 'The compatibility level of a subject.', (store, { params, query }) => {
    const level = store.subjectLevel(params.subject) ?? (isTrue(query.defaultToGlobal) ? store.globalLevel() : null);
    if (level === null) throw levelNotFound(params.subject);
    return { compatibilityLevel: level };
  });
  add('PUT', '/config/:subject', 'Sets the compatibility level of a subject.', async (store, { params, body }) => {
    await store.setSubjectLevel(params.subject, levelOf(body));
    return { compatibility: levelOf(body) };
  });
  add('DELETE', '/config/:subject', 'Takes the compatibility level of a subject away.', async (store, { params }) => {
    const level = store.subjectLevel(params.subject);
    if (level === null) throw levelNotFound(params.subject);
    await store.setSubjectLevel(params.subject, null);
    return { compatibilityLevel: level };
  });

  const check = (store: RegistryStore, { params, query, body }: RegistryRequest, selector: VersionSelector | 'all') => {
    const messages = store.incompatibilities(params.subject, schemaOf(body), selector);
    return { is_compatible: messages.length === 0, ...(isTrue(query.verbose) ? { messages } : {}) };
  };
  const byVersion = '/compatibility/subjects/:subject/versions/:version';
  add('POST', byVersion, 'Checks a schema against a version.', (store, request) =>
    check(store, request, selectorOf(request.params)),
  );
  add('POST', '/compatibility/subjects/:subject/versions', 'Checks a schema against a subject.', (store, request) =>
    check(store, request, 'all'),
  );

  add('GET', '/mode', 'The mode of the registry.', () => ({ mode: 'READWRITE' }));
  return routes;
}

function versionBody({ subject, version, id, schema }: RegisteredSchema): object {
  return { subject, version, id, schema };
}

function idOf({ id }: Readonly<Record<string, string>>): number {
  if (!/^\d{1,10}$/.test(id)) throw new RegistryFault(registryCodes.schemaNotFound, `Schema ${id} not found`);
  return Number(id);
}

function selectorOf({ version }: Readonly<Record<string, string>>): VersionSelector {
  if (version === 'latest' || version === '-1') return 'latest';
  if (/^[1-9]\d{0,9}$/.test(version)) return Number(version);
  throw new RegistryFault(
    registryCodes.invalidVersion,
    `The specified version '${version}' is not a valid version id. Allowed values are between [1, 2^31-1] and the string "latest"`,
  );
}

function schemaOf(body: unknown): string {
  const { schema, schemaType, references } = (body ?? {}) as Record<string, unknown>;
  if (schemaType !== undefined && schemaType !== 'AVRO')
    throw new RegistryFault(registryCodes.invalidSchema, `Invalid schema: schema type ${schemaType} is not supported`);
  if (Array.isArray(references) && references.length > 0)
    throw new RegistryFault(registryCodes.invalidSchema, 'Invalid schema: references are not supported');
  if (typeof schema !== 'string' || schema === '')
    throw new RegistryFault(registryCodes.invalidSchema, 'Invalid schema: the body needs a "schema", a string');
  return schema;
}

function levelOf(body: unknown): string {
  const { compatibility } = (body ?? {}) as { compatibility?: unknown };
  return String(compatibility);
}

function levelNotFound(subject: string): RegistryFault {
  return new RegistryFault(
    registryCodes.levelNotFound,
    `Subject '${subject}' does not have subject-level compatibility configured`,
  );
}

function isTrue(value: unknown): boolean {
  return value === 'true';
}
