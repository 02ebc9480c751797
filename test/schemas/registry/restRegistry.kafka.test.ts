import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { SchemaRegistry as ConfluentClient } from '@kafkajs/confluent-schema-registry';
import { registrySettings } from '../../../runtime/converters/registrySettings.ts';
import { AvroConverter, type AvroConverterSettings } from '../../../schemas/avro/avroConverter.ts';
import { parseAvroSchema } from '../../../schemas/avro/avroSchema.ts';
import { subjectNameStrategy } from '../../../schemas/avro/subjectName.ts';
import { toConnectSchema } from '../../../schemas/avro/toConnect.ts';
import {
  INT32,
  INT64,
  OPTIONAL_STRING,
  primitive,
  type Schema,
  STRING,
  Struct,
  type StructSchema,
  struct,
} from '../../../schemas/data/index.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { RestRegistry } from '../../../schemas/registry/restRegistry.ts';

const url = process.env.REGISTRY_URL ?? 'http://127.0.0.1:8081/apis/ccompat/v7';
const prefix = `schemas-test-${randomUUID().slice(0, 8)}`;
const used = new Set<string>();
let count = 0;

function newSubject(): string {
  const topic = `${prefix}-${count++}`;
  used.add(`${topic}-value`);
  return topic;
}

const registry = (at = url, more: Record<string, string> = {}): RestRegistry =>
  new RestRegistry(
    registrySettings({ 'schema.registry.url': at, 'retries.wait.ms': '20', 'max.retries': '3', ...more })!,
  );

const shared = registry();

after(async () => {
  for (const subject of [...used].reverse()) {
    for (const permanent of ['', '?permanent=true'])
      await fetch(`${url}/subjects/${encodeURIComponent(subject)}${permanent}`, { method: 'DELETE' });
  }
  await shared.close();
});

const settings: AvroConverterSettings = {
  isKey: false,
  subjectName: subjectNameStrategy('TopicNameStrategy')!,
  autoRegisterSchemas: true,
  useLatestVersion: false,
  replaceNullWithDefault: true,
  scrubInvalidNames: false,
};

function row(fields: readonly (readonly [string, Schema])[], name = 'shop.Item.Value') {
  return struct(fields, { name });
}

async function encode(converter: AvroConverter, topic: string, value: Struct): Promise<Buffer> {
  const out = new OutputBuffer();
  (await converter.encoder(topic, value.schema)).encode(value, out);
  return Buffer.from(out.written());
}

test('registers, finds and reads schemas; concurrent registrations are one', async () => {
  const subject = `${newSubject()}-value`;
  const text = '{"type":"record","name":"R","fields":[{"name":"id","type":"int"}],"connect.name":"R"}';
  const ids = await Promise.all(Array.from({ length: 5 }, () => shared.register(subject, text)));
  assert.equal(new Set(ids).size, 1);
  assert.equal(await registry().lookup(subject, text), ids[0]);
  assert.deepEqual(JSON.parse(await registry().schemaById(ids[0])), JSON.parse(text));
  const latest = await shared.latest(subject);
  assert.deepEqual([latest.id, latest.version, latest.subject, latest.schemaType], [ids[0], 1, subject, 'AVRO']);
});

test('what is not there is REGISTRY_SCHEMA_UNKNOWN', async () => {
  const subject = `${newSubject()}-value`;
  const unknown = { code: 'REGISTRY_SCHEMA_UNKNOWN' };
  await assert.rejects(shared.schemaById(2_000_000_000), unknown);
  await assert.rejects(shared.latest(subject), unknown);
  await assert.rejects(shared.lookup(subject, '"string"'), unknown);
});

test('an incompatible schema names subject, version and what differs', async () => {
  const topic = newSubject();
  const subject = `${topic}-value`;
  const converter = new AvroConverter(settings, shared);
  const before = row([
    ['id', INT32],
    ['name', STRING],
    ['note', OPTIONAL_STRING],
  ]);
  await encode(converter, topic, new Struct(before, [1, 'a', null]));
  const level = await fetch(`${url}/config/${encodeURIComponent(subject)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: '{"compatibility":"BACKWARD"}',
  });
  assert.ok(level.ok);
  const after = row([
    ['id', STRING],
    ['name', STRING],
    ['price', INT64],
  ]);
  await assert.rejects(
    encode(converter, topic, new Struct(after, ['1', 'a', 5n])),
    (error: Error & { code: string; retriable: boolean }) => {
      assert.equal(error.code, 'REGISTRY_INCOMPATIBLE');
      assert.equal(error.retriable, false);
      for (const part of [
        subject,
        'version 1',
        'field id changed its type from int to string',
        'field price was added without a default',
      ])
        assert.ok(error.message.includes(part), `${part} in: ${error.message}`);
      return true;
    },
  );
  // The refusal is not kept: once the operator has removed the old schema, the new one goes through.
  for (const permanent of ['', '?permanent=true'])
    await fetch(`${url}/subjects/${encodeURIComponent(subject)}${permanent}`, { method: 'DELETE' });
  await encode(converter, topic, new Struct(after, ['1', 'a', 5n]));
  const latest = parseAvroSchema((await shared.latest(subject)).schema);
  assert.equal((toConnectSchema(latest) as StructSchema).fields[0].schema.type, 'STRING');
});

test('records written here are read by the kafkajs client, and theirs by us', async () => {
  const topic = newSubject();
  const converter = new AvroConverter(settings, shared);
  const schema = row([
    ['id', INT32],
    ['name', OPTIONAL_STRING],
  ]);
  const bytes = await encode(converter, topic, new Struct(schema, [7, 'lamp']));
  const client = new ConfluentClient({ host: url });
  assert.deepEqual({ ...(await client.decode(bytes)) }, { id: 7, name: 'lamp' });
  const theirs = await client.encode(bytes.readUInt32BE(1), { id: 8, name: null });
  const decoder = await converter.decoder(topic, theirs, 0, theirs.length);
  assert.deepEqual((decoder.decode(theirs, 0, theirs.length) as Struct).values, [8, null]);
  assert.equal(decoder.schema!.name, 'shop.Item.Value');
});

test('the transcoder of an encoder writes the bytes that the encoder writes', async () => {
  const topic = newSubject();
  const schema = row([
    ['id', INT32],
    ['note', OPTIONAL_STRING],
    ['qty', primitive('INT64', { optional: true, defaultValue: 5n })],
  ]);
  for (const replaceNullWithDefault of [true, false]) {
    const converter = new AvroConverter({ ...settings, replaceNullWithDefault }, shared);
    const bytes = await encode(converter, topic, new Struct(schema, [7, 'x', null]));
    const fields = [{ kind: 'constant', value: 7 }, { kind: 'constant', value: 'x' }, { kind: 'null' }] as const;
    const transcoder = (await converter.encoder(topic, schema)).transcoder({ kind: 'struct', fields });
    const out = new OutputBuffer();
    transcoder!.begin({ bytes: Buffer.alloc(0), count: 1, positions: [], longs: [], choices: [], constants: [] });
    transcoder!.encode(0, out);
    assert.deepEqual(out.written(), bytes);
  }
});

test('encoders are made once; auto.register.schemas=false looks up, use.latest.version takes the newest', async () => {
  const topic = newSubject();
  const schema = row([['id', INT32]]);
  const value = new Struct(schema, [1]);
  const lookingUp = new AvroConverter({ ...settings, autoRegisterSchemas: false }, registry());
  await assert.rejects(encode(lookingUp, topic, value), { code: 'REGISTRY_SCHEMA_UNKNOWN', message: /does not exist/ });
  const registering = new AvroConverter(settings, shared);
  const first = await encode(registering, topic, value);
  assert.equal(registering.encoder(topic, schema), registering.encoder(topic, schema));
  assert.deepEqual(await encode(lookingUp, topic, value), first);
  const wider = row([
    ['more', OPTIONAL_STRING],
    ['id', INT64],
  ]);
  await encode(registering, topic, new Struct(wider, [null, 1n]));
  const latest = new AvroConverter({ ...settings, autoRegisterSchemas: false, useLatestVersion: true }, registry());
  const bytes = await encode(latest, topic, value);
  assert.notEqual(bytes.readUInt32BE(1), first.readUInt32BE(1));
  assert.deepEqual([...bytes.subarray(5)], [0, 2]);
});

test('trouble is retried for a bounded time, then retriable', async () => {
  let answers = 0;
  let authorization: string | undefined;
  let failing = 2;
  const server = createServer((request: IncomingMessage, response) => {
    answers++;
    authorization = request.headers.authorization;
    if (failing-- > 0) {
      response.writeHead(503).end('starting');
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"schema":"\\"string\\""}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const at = `http://127.0.0.1:${port}`;
  try {
    const recovering = registry(at, {
      'basic.auth.credentials.source': 'USER_INFO',
      'basic.auth.user.info': 'ann:secret',
    });
    assert.equal(await recovering.schemaById(1), '"string"');
    assert.equal(answers, 3);
    assert.equal(authorization, `Basic ${Buffer.from('ann:secret').toString('base64')}`);
    failing = Number.POSITIVE_INFINITY;
    await assert.rejects(
      registry(`http://bob:pw@127.0.0.1:${port}`).schemaById(2),
      (error: Error & { code: string; retriable: boolean }) => {
        assert.equal(error.code, 'REGISTRY_UNREACHABLE');
        assert.equal(error.retriable, true);
        assert.match(error.message, /503 starting/);
        assert.doesNotMatch(error.message, /pw/);
        return true;
      },
    );
    assert.equal(answers, 7);
    assert.equal(authorization, `Basic ${Buffer.from('bob:pw').toString('base64')}`);
  } finally {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  }
  // Nobody listens there now; with a second URL that answers, the first does not matter.
  await assert.rejects(registry(at).schemaById(3), { code: 'REGISTRY_UNREACHABLE', message: /ECONNREFUSED/ });
  await assert.rejects(registry(`${at},${url}`).schemaById(2_000_000_000), { code: 'REGISTRY_SCHEMA_UNKNOWN' });
});

test('closing ends a wait', async () => {
  const waiting = registry('http://127.0.0.1:9', { 'retries.wait.ms': '600000', 'retries.max.wait.ms': '600000' });
  const call = waiting.schemaById(1);
  await waiting.close();
  await assert.rejects(call, { code: 'REGISTRY_UNREACHABLE' });
});

test('a schema that refers to schemas of other subjects stands alone when read', async () => {
  const [inner, outer] = [`${newSubject()}-value`, `${newSubject()}-value`];
  const post = async (subject: string, body: object): Promise<number> => {
    const response = await fetch(`${url}/subjects/${encodeURIComponent(subject)}/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify(body),
    });
    assert.ok(response.ok, await response.clone().text());
    return ((await response.json()) as { id: number }).id;
  };
  await post(inner, {
    schema: '{"type":"record","name":"Address","namespace":"geo","fields":[{"name":"city","type":"string"}]}',
  });
  const id = await post(outer, {
    schema:
      '{"type":"record","name":"Person","namespace":"shop","fields":[{"name":"home","type":"geo.Address"},{"name":"work","type":["null","geo.Address"]}]}',
    references: [{ name: 'geo.Address', subject: inner, version: 1 }],
  });
  const schema = toConnectSchema(parseAvroSchema(await registry().schemaById(id))) as StructSchema;
  assert.deepEqual(
    schema.fields.map(f => [f.name, f.schema.name, f.schema.optional]),
    [
      ['home', 'geo.Address', false],
      ['work', 'geo.Address', true],
    ],
  );
});
