import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadWorkerConfig } from '../../../runtime/config/loadWorkerConfig.ts';
import type { Herder } from '../../../runtime/herder/herder.ts';
import { LogLevels } from '../../../runtime/metrics/logLevels.ts';
import { WorkerMetrics } from '../../../runtime/metrics/workerMetrics.ts';
import { RestServer } from '../../../runtime/rest/server.ts';

/** Of a herder, what health asks. */
const busySince = (startedMs: number) =>
  ({ stage: () => ({ description: 'creating connector c', startedMs, completedMs: null }) }) as unknown as Herder;

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

test('before the worker is ready: health says so; other headers, CORS and the OpenAPI document are there', async t => {
  const { config } = loadWorkerConfig({
    flags: {
      listen: '127.0.0.1:0',
      'access.control.allow.origin': 'http://ui.example',
      'access.control.allow.methods': 'GET,PUT',
      'response.http.headers.config': 'set X-Frame-Options: DENY',
    },
  });
  const server = await RestServer.start({
    config,
    metrics: new WorkerMetrics(),
    levels: new LogLevels('INFO'),
    logger: silent,
    registry: [],
  });
  t.after(() => server.close());
  const get = (path: string, init?: RequestInit) => fetch(server.url + path, init);
  const health = await get('/health');
  assert.equal(health.status, 503);
  const { status, message } = (await health.json()) as { status: string; message: string };
  assert.equal(status, 'starting');
  assert.match(message, /^Worker is still starting up\. The worker is currently reading plugins, which began at 2/);
  server.starting('waiting for the broker');
  assert.match(await (await get('/health')).text(), /currently waiting for the broker, which began at 2/);
  const connectors = await get('/connectors', { headers: { origin: 'http://ui.example' } });
  assert.equal(connectors.status, 503);
  assert.deepEqual(await connectors.json(), { error_code: 503, message: 'Worker is still starting up.' });
  assert.equal(connectors.headers.get('retry-after'), '1');
  assert.equal(connectors.headers.get('x-frame-options'), 'DENY');
  assert.equal(connectors.headers.get('access-control-allow-origin'), 'http://ui.example');
  const preflight = await get('/connectors', {
    method: 'OPTIONS',
    headers: { origin: 'http://ui.example', 'access-control-request-method': 'PUT' },
  });
  assert.equal(preflight.status, 200);
  assert.equal(preflight.headers.get('access-control-allow-methods'), 'GET,PUT');
  const stranger = await get('/connectors', { headers: { origin: 'http://evil.example' } });
  assert.equal(stranger.headers.get('access-control-allow-origin'), null);
  const text = await get('/connectors', { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } });
  assert.equal(text.status, 415);
  assert.equal(text.headers.get('accept'), 'application/json');
  const document = (await (await get('/openapi.json')).json()) as { paths: Record<string, object> };
  assert.deepEqual(Object.keys(document.paths['/connectors/{name}/config']!).sort(), ['get', 'patch', 'put']);
  assert.equal(document.paths['/connectors/{name}/fence'], undefined);
  await assert.rejects(
    RestServer.start({
      config: { ...config, listen: new URL(server.url).host },
      metrics: new WorkerMetrics(),
      levels: new LogLevels('INFO'),
      logger: silent,
      registry: [],
    }),
    /cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/,
  );
});

test('health is lost where one operation takes very long, which is named', async t => {
  const { config } = loadWorkerConfig({ flags: { listen: '127.0.0.1:0' } });
  const options = { config, metrics: new WorkerMetrics(), levels: new LogLevels('INFO'), logger: silent, registry: [] };
  const server = await RestServer.start(options);
  t.after(() => server.close());
  const health = async (): Promise<[number, { status: string; message: string }]> => {
    const answer = await fetch(`${server.url}/health`);
    return [answer.status, (await answer.json()) as { status: string; message: string }];
  };
  server.ready(busySince(Date.now()));
  const [code, { status }] = await health();
  assert.deepEqual([code, status], [200, 'healthy']);
  server.ready(busySince(Date.now() - 60_000));
  const [lateCode, late] = await health();
  assert.deepEqual([lateCode, late.status], [500, 'unhealthy']);
  assert.match(
    late.message,
    /^Worker was unable to handle this request .* currently creating connector c, which began at /,
  );
});
