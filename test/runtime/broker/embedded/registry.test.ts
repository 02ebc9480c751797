import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EmbeddedRegistry } from '../../../../runtime/broker/embedded/embeddedRegistry.ts';
import { type RegistryRequest, registryApi } from '../../../../runtime/broker/embedded/registryApi.ts';
import { hasCode } from '../../../contract/contractTools.ts';
import { quietLogger, temporaryDir } from './embeddedTools.ts';

async function open(context: TestContext): Promise<EmbeddedRegistry> {
  const registry = EmbeddedRegistry.open(await temporaryDir(context), quietLogger);
  context.after(() => registry.close());
  return registry;
}

type Call = (
  line: string,
  body?: unknown,
  query?: Record<string, string>,
) => Promise<{ readonly status: number; readonly body: unknown }>;

/** Calls the handler of `GET /subjects/a/versions`, for instance. */
async function api(context: TestContext): Promise<Call> {
  const routes = registryApi(await open(context));
  return (line, body, query = {}) => {
    const [method, path] = line.split(' ');
    const parts = path.split('/');
    for (const route of routes) {
      const pattern = route.path.split('/');
      if (route.method !== method || pattern.length !== parts.length) continue;
      if (!pattern.every((part, i) => part.startsWith(':') || part === parts[i])) continue;
      const params: Record<string, string> = {};
      for (const [i, part] of pattern.entries()) if (part.startsWith(':')) params[part.slice(1)] = parts[i];
      return route.handle({ params, query, body } satisfies RegistryRequest);
    }
    throw new Error(`no route for ${line}`);
  };
}

function record(...fields: readonly (readonly [name: string, type: unknown, fallback?: unknown])[]): string {
  return JSON.stringify({
    type: 'record',
    name: 'R',
    fields: fields.map(([name, type, fallback]) => ({
      name,
      type,
      ...(fallback === undefined ? {} : { default: fallback }),
    })),
  });
}

const one = record(['a', 'int']);
const two = record(['a', 'int'], ['b', 'string', '']);

test('ids are shared by equal schemas, versions counted per subject, white space means nothing', async context => {
  const registry = await open(context);
  const id = await registry.register('s', one);
  assert.equal(await registry.register('s', JSON.stringify(JSON.parse(one), null, 2)), id);
  assert.equal(await registry.register('other', one), id);
  const next = await registry.register('s', two);
  assert.notEqual(next, id);
  assert.deepEqual(await registry.latest('s'), { id: next, subject: 's', version: 2, schema: two, schemaType: 'AVRO' });
  assert.equal(await registry.schemaById(id), one);
  assert.equal(await registry.lookup('s', one), id);
});

test('digits of 64-bit defaults are kept', async context => {
  const registry = await open(context);
  const schema = '{"type":"record","name":"R","fields":[{"name":"a","type":"long","default":9007199254740993}]}';
  assert.equal(await registry.schemaById(await registry.register('s', schema)), schema);
});

test('what is not there is said to be unknown', async context => {
  const registry = await open(context);
  await assert.rejects(registry.latest('none'), hasCode('REGISTRY_SCHEMA_UNKNOWN'));
  await assert.rejects(registry.schemaById(77), hasCode('REGISTRY_SCHEMA_UNKNOWN'));
  await registry.register('s', one);
  await assert.rejects(registry.lookup('s', two), hasCode('REGISTRY_SCHEMA_UNKNOWN'));
});

test('an incompatible schema is refused, naming subject, version and field', async context => {
  const registry = await open(context);
  await registry.register('s', one);
  await assert.rejects(registry.register('s', record(['a', 'int'], ['c', 'string'])), error => {
    assert.equal((error as { code: string }).code, 'REGISTRY_INCOMPATIBLE');
    assert.match((error as Error).message, /version 1 of s: field c has no default and is missing/);
    return true;
  });
});

test('registering at once from several sides gives one version a schema', async context => {
  const registry = await open(context);
  const schemas = Array.from({ length: 12 }, (_, i) => record(['a', 'int'], [`f${i % 4}`, 'string', '']));
  const ids = await Promise.all(schemas.map(schema => registry.register('s', schema)));
  assert.equal(new Set(ids).size, 4);
  const store = await registry.store();
  assert.deepEqual(store.versions('s'), [1, 2, 3, 4]);
});

test('schemas outlive the process that registered them', async context => {
  const dir = await temporaryDir(context);
  const first = EmbeddedRegistry.open(dir, quietLogger);
  const id = await first.register('s', one);
  const beside = EmbeddedRegistry.reader(dir);
  assert.equal(await beside.schemaById(id), one);
  await assert.rejects(beside.register('s', two), hasCode('BROKER_READ_ONLY'));
  await beside.close();
  await first.close();
  const second = EmbeddedRegistry.open(dir, quietLogger);
  assert.equal(await second.lookup('s', one), id);
  await second.close();
});

const levels: readonly {
  readonly level: string;
  readonly accepted: readonly string[];
  readonly refused: readonly string[];
}[] = [
  { level: 'NONE', accepted: ['"string"', one], refused: [] },
  { level: 'BACKWARD', accepted: [record(['a', 'long']), record()], refused: [record(['a', 'string'])] },
  { level: 'FORWARD', accepted: [record(['a', 'int'], ['c', 'int'])], refused: [record(), record(['a', 'long'])] },
  { level: 'FULL', accepted: [two], refused: [record(['a', 'long']), record(['a', 'int'], ['c', 'int']), record()] },
];
for (const { level, accepted, refused } of levels)
  test(`compatibility ${level}`, async context => {
    const call = await api(context);
    assert.equal((await call('PUT /config/s', { compatibility: level })).status, 200);
    await call('POST /subjects/s/versions', { schema: one });
    for (const schema of refused) {
      assert.equal((await call('POST /subjects/s/versions', { schema })).status, 409, schema);
      const check = await call('POST /compatibility/subjects/s/versions/latest', { schema }, { verbose: 'true' });
      assert.equal((check.body as { is_compatible: boolean }).is_compatible, false);
      assert.ok((check.body as { messages: string[] }).messages.length > 0);
    }
    for (const schema of accepted) {
      const check = await call('POST /compatibility/subjects/s/versions/1', { schema });
      assert.deepEqual(check.body, { is_compatible: true }, schema);
    }
    assert.equal((await call('POST /subjects/s/versions', { schema: accepted[0] })).status, 200);
  });

test('transitive levels look at all versions', async context => {
  const call = await api(context);
  const versions = [record(['a', 'int']), record(), record(['a', 'string', ''])];
  for (const schema of versions) assert.equal((await call('POST /subjects/s/versions', { schema })).status, 200);
  await call('PUT /config', { compatibility: 'BACKWARD_TRANSITIVE' });
  for (const schema of versions.slice(0, 2)) await call('POST /subjects/t/versions', { schema });
  const answer = await call('POST /subjects/t/versions', { schema: versions[2] });
  assert.equal(answer.status, 409);
  assert.match((answer.body as { message: string }).message, /version 1 of t/);
});

test('the REST API answers with Confluent’s shapes and codes', async context => {
  const call = await api(context);
  const fails = async (line: string, code: number, body?: unknown, query?: Record<string, string>) => {
    const answer = await call(line, body, query);
    assert.equal((answer.body as { error_code: number }).error_code, code, JSON.stringify(answer));
    assert.equal(answer.status, Number(String(code).slice(0, 3)));
  };
  assert.deepEqual(await call('GET /subjects'), { status: 200, body: [] });
  assert.deepEqual((await call('GET /config')).body, { compatibilityLevel: 'BACKWARD' });
  await fails('GET /subjects/s/versions', 40401);
  await fails('GET /schemas/ids/1', 40403);
  await fails('POST /subjects/s/versions', 42201, { schema: '{"type":"nonsense"}' });
  await fails('POST /subjects/s/versions', 42201, { schema: '{}', schemaType: 'PROTOBUF' });
  await fails('PUT /config', 42203, { compatibility: 'SIDEWAYS' });
  await fails('GET /config/s', 40408);

  assert.deepEqual((await call('POST /subjects/s/versions', { schema: one })).body, { id: 1 });
  await call('POST /subjects/s/versions', { schema: two });
  await fails('POST /subjects/s', 40403, { schema: record(['z', 'int', 0]) });
  await fails('GET /subjects/s/versions/3', 40402);
  await fails('GET /subjects/s/versions/x', 42202);
  assert.deepEqual((await call('GET /subjects/s/versions/latest')).body, {
    subject: 's',
    version: 2,
    id: 2,
    schema: two,
  });
  assert.deepEqual((await call('POST /subjects/s', { schema: one })).body, {
    subject: 's',
    version: 1,
    id: 1,
    schema: one,
  });
  assert.deepEqual((await call('GET /schemas/ids/2')).body, { schema: two });
  assert.deepEqual((await call('GET /schemas/ids/2/versions')).body, [{ subject: 's', version: 2 }]);

  assert.deepEqual((await call('DELETE /subjects/s/versions/1')).body, 1);
  await fails('DELETE /subjects/s/versions/1', 40406);
  assert.deepEqual((await call('GET /subjects/s/versions')).body, [2]);
  assert.deepEqual((await call('GET /subjects/s/versions', undefined, { deleted: 'true' })).body, [1, 2]);
  await fails('DELETE /subjects/s', 40405, undefined, { permanent: 'true' });
  assert.deepEqual((await call('DELETE /subjects/s')).body, [2]);
  await fails('DELETE /subjects/s', 40404);
  assert.deepEqual((await call('GET /subjects')).body, []);
  assert.deepEqual((await call('GET /subjects', undefined, { deleted: 'true' })).body, ['s']);
  assert.deepEqual((await call('GET /schemas/ids/2')).body, { schema: two }, 'messages can still be read');
  assert.deepEqual((await call('DELETE /subjects/s', undefined, { permanent: 'true' })).body, [1, 2]);
  await fails('GET /subjects/s/versions', 40401, undefined, { deleted: 'true' });
});
