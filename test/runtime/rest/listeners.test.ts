/** Listeners over TLS, with basic authentication, for /admin alone and read-only; as a client sees them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../../runtime/api/index.ts';
import { loadWorkerConfig } from '../../../runtime/config/loadWorkerConfig.ts';
import { WorkerClient } from '../../../runtime/herder/workerClient.ts';
import { LogLevels } from '../../../runtime/metrics/logLevels.ts';
import { WorkerMetrics } from '../../../runtime/metrics/workerMetrics.ts';
import { RestServer } from '../../../runtime/rest/server.ts';

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const fixture = (name: string): string => join(import.meta.dirname, '../../fixtures/tls', name);
const trust = { 'listeners.https.ssl.truststore.location': fixture('ca.pem') };
const pem = { ...trust, 'listeners.https.ssl.keystore.location': fixture('server.pem') };

async function serve(t: TestContext, flags: Config): Promise<RestServer> {
  const server = await RestServer.start({
    config: loadWorkerConfig({ flags }).config,
    metrics: new WorkerMetrics(),
    levels: new LogLevels('INFO'),
    logger: silent,
    registry: [],
  });
  t.after(() => server.close());
  return server;
}

/** As another worker with these keys. */
function client(flags: Config): (method: string, url: string, headers?: Record<string, string>) => Promise<number> {
  const own = new WorkerClient(loadWorkerConfig({ flags }).config);
  return async (method, url, headers = {}) =>
    (await own.request(url, { method, headers, body: null, signal: AbortSignal.timeout(waitMs) })).status;
}

const starting = 503;
/** On a busy machine. */
const waitMs = 60_000;

test('https with a PEM file, and with a PKCS12 file of keytool; beside http on another address', async t => {
  const stores: Config[] = [
    pem,
    {
      ...trust,
      'listeners.https.ssl.keystore.location': fixture('server.p12'),
      'listeners.https.ssl.keystore.password': 'changeit',
    },
    // Without a key under listeners.https. the worker's own count.
    { 'ssl.keystore.location': fixture('server.pem'), 'ssl.truststore.location': fixture('ca.pem') },
  ];
  for (const store of stores) {
    const server = await serve(t, { ...store, listeners: 'https://localhost:0,http://127.0.0.1:0' });
    const [https, http] = server.urls;
    assert.match(https!, /^https:/);
    assert.equal(server.url, http);
    const request = client(store);
    assert.equal(await request('GET', `${https}/health`), starting);
    assert.equal(await request('GET', `${http}/health`), starting);
    await assert.rejects(client({})('GET', `${https}/health`), /self-signed|unable to (get|verify)/);
  }
});

test('a client without a certificate is refused where one is required', async t => {
  const server = await serve(t, {
    ...pem,
    listeners: 'https://localhost:0',
    'listeners.https.ssl.client.auth': 'required',
  });
  assert.match(server.url, /^https:/);
  assert.equal(await client(pem)('GET', `${server.url}/health`), starting);
  await assert.rejects(client(trust)('GET', `${server.url}/health`));
});

test('admin listeners have keys of their own where there are any', async t => {
  const listeners = { listeners: 'https://localhost:0', 'admin.listeners': 'https://localhost:0' };
  const shared = await serve(t, { ...pem, ...listeners });
  const [, sharedAdmin] = shared.urls;
  assert.equal(await client(trust)('GET', `${sharedAdmin}/admin/loggers`), 200);

  const own = Object.fromEntries(Object.entries(pem).map(([key, value]) => [`admin.${key}`, value]));
  const flags = { ...pem, ...own, ...listeners, 'admin.listeners.https.ssl.client.auth': 'required' };
  assert.deepEqual(loadWorkerConfig({ flags }).ignored, []);
  const [main, admin] = (await serve(t, flags)).urls;
  assert.equal(await client(trust)('GET', `${main}/health`), starting);
  await assert.rejects(client(trust)('GET', `${admin}/admin/loggers`));
  assert.equal(await client(pem)('GET', `${admin}/admin/loggers`), 200);
});

test('what cannot be served is told with the key to change', async () => {
  const cases: readonly (readonly [Config, RegExp])[] = [
    [{}, /needs a certificate: set listeners\.https\.ssl\.keystore\.location/],
    [{ 'listeners.https.ssl.keystore.location': fixture('server.jks') }, /not JKS; convert it by keytool/],
    [{ 'listeners.https.ssl.keystore.location': '/no/such.pem' }, /cannot read \/no\/such\.pem/],
    [
      {
        'listeners.https.ssl.keystore.location': fixture('server.p12'),
        'listeners.https.ssl.keystore.password': 'wrong',
      },
      /cannot be used: .*check ssl\.keystore\.location and its passwords/,
    ],
    [{ ...pem, 'listeners.https.ssl.enabled.protocols': 'SSLv3' }, /each must be one of TLSv1\.2, TLSv1\.3/],
    [{ ...pem, 'listeners.https.ssl.client.auth': 'maybe' }, /must be one of: none, requested, required/],
    [{ 'rest.extension.classes': 'com.acme.Other' }, /only .*BasicAuthSecurityRestExtension is known/],
    [
      { 'rest.extension.classes': 'org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension' },
      /set rest\.basic\.auth\.file/,
    ],
    [{ 'rest.basic.auth.file': '/no/such.properties' }, /cannot read \/no\/such\.properties/],
  ];
  for (const [flags, message] of cases) {
    const { config } = loadWorkerConfig({ flags: { ...flags, listeners: 'https://localhost:0' } });
    const options = { config, metrics: new WorkerMetrics(), levels: new LogLevels('INFO'), logger: silent };
    await assert.rejects(RestServer.start({ ...options, registry: [] }), { code: 'CONFIG_INVALID', message });
  }
});

test('basic authentication: users of the file, on every listener; requests between workers have their signature', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'rest-auth-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const file = join(dir, 'users.properties');
  await writeFile(file, '# users\nalice=s3cret: with=signs\nbob=\\u00fcber\n');
  const server = await serve(t, {
    listen: '127.0.0.1:0',
    'admin.listeners': 'http://127.0.0.1:0',
    'rest.basic.auth.file': file,
  });
  const [main, admin] = server.urls;
  const get = async (url: string, user?: string, password?: string): Promise<Response> => {
    const given = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    return fetch(url, user === undefined ? {} : { headers: { authorization: given } });
  };
  const refused = await get(`${main}/health`);
  assert.equal(refused.status, 401);
  assert.match(refused.headers.get('www-authenticate')!, /^Basic realm=/);
  assert.deepEqual(await refused.json(), { error_code: 401, message: 'User cannot access the resource.' });
  assert.equal((await get(`${main}/health`, 'alice', 's3cret: with=signs')).status, starting);
  assert.equal((await get(`${main}/health`, 'bob', 'über')).status, starting);
  for (const [user, password] of [
    ['alice', 'wrong'],
    ['nobody', ''],
    ['alice', ''],
  ]) {
    assert.equal((await get(`${main}/health`, user, password)).status, 401);
  }
  assert.equal((await get(`${admin}/admin/loggers`)).status, 401);
  assert.equal((await get(`${admin}/admin/loggers`, 'alice', 's3cret: with=signs')).status, 200);
  assert.equal((await get(`${main}/admin/loggers`, 'alice', 's3cret: with=signs')).status, 404);
  assert.equal((await get(`${admin}/connectors`, 'alice', 's3cret: with=signs')).status, 404);
  // Not asked for a password, but for a signature, once the worker is up.
  const internal = await fetch(`${main}/connectors/c/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '[]',
  });
  assert.equal(internal.status, starting);
  assert.equal((await fetch(`${main}/connectors/c/tasks/0/restart`, { method: 'POST' })).status, 401);
});

test('a read-only listener serves what changes nothing', async t => {
  const server = await serve(t, { listen: '127.0.0.1:0', 'read.only.listeners': 'http://127.0.0.1:0' });
  const [main, readOnly] = server.urls;
  const status = async (url: string, method = 'GET'): Promise<number> =>
    (
      await fetch(url, {
        method,
        headers: { 'content-type': 'application/json' },
        body: method === 'GET' ? null : '{}',
      })
    ).status;
  assert.equal(await status(`${readOnly}/connectors`), starting);
  assert.equal(await status(`${readOnly}/metrics`), 200);
  assert.equal(await status(`${readOnly}/admin/loggers`), 404);
  assert.equal(await status(`${readOnly}/connector-plugins/x/config/validate`, 'PUT'), starting);
  assert.equal(await status(`${readOnly}/connectors`, 'POST'), 403);
  assert.equal(await status(`${readOnly}/connectors/c/pause`, 'PUT'), 403);
  assert.equal(await status(`${main}/connectors`, 'POST'), starting);
});
