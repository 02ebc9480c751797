import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../../runtime/api/index.ts';
import { loadWorkerConfig } from '../../../runtime/config/loadWorkerConfig.ts';
import type { Herder } from '../../../runtime/herder/herder.ts';
import { configBody, createBody, offsetsBody } from '../../../runtime/rest/body.ts';
import { listenersOf } from '../../../runtime/rest/listeners.ts';
import { accepts, isBrowser } from '../../../runtime/rest/negotiation.ts';
import { withTimeout } from '../../../runtime/rest/requestTimeout.ts';
import { parseHeaderRules } from '../../../runtime/rest/responseHeaders.ts';

test('numbers of a config keep their text, digit by digit', () => {
  const body = Buffer.from('{"a":1.50,"b":12345678901234567890,"c":true,"d":"x\\"1.50","e":-1e3}');
  assert.deepEqual(configBody(body, false), {
    a: '1.50',
    b: '12345678901234567890',
    c: 'true',
    d: 'x"1.50',
    e: '-1e3',
  });
  assert.deepEqual(configBody(Buffer.from('{"a":null}'), true), { a: null });
  assert.throws(() => configBody(Buffer.from('{"a":null}'), false), /configuration a must be a string; it is null/);
});

test('malformed requests say what is expected', () => {
  assert.throws(() => createBody(undefined), /no body/);
  assert.throws(() => createBody(Buffer.from('{"name":"c","config":{},"x":1}')), /Unknown field "x"/);
  assert.throws(() => offsetsBody(Buffer.from('{"offsets":{}}')), /"offsets" must be an array/);
});

test('offsets beyond 2^53 stay exact', () => {
  const [entry] = offsetsBody(Buffer.from('{"offsets":[{"partition":{"p":1},"offset":{"lsn":9223372036854775807}}]}'));
  assert.deepEqual(entry, { partition: { p: 1 }, offset: { lsn: 9223372036854775807n } });
});

test('media types', () => {
  assert.equal(accepts(undefined, 'application/json'), true);
  assert.equal(accepts('text/html, application/json;q=0.5', 'application/json'), true);
  assert.equal(accepts('application/json;q=0, text/html', 'application/json'), false);
  assert.equal(isBrowser('text/html'), false);
  assert.equal(isBrowser('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'), true);
});

test('response headers', () => {
  assert.deepEqual(parseHeaderRules('set X-Frame-Options: DENY, "add Cache-Control: no-cache, no-store"'), [
    { add: false, name: 'X-Frame-Options', value: 'DENY' },
    { add: true, name: 'Cache-Control', value: 'no-cache, no-store' },
  ]);
  assert.throws(() => parseHeaderRules('put X:1'), { code: 'CONFIG_INVALID' });
});

test('addresses to listen on', () => {
  const of = (flags: Config) => listenersOf(loadWorkerConfig({ flags }).config);
  const [scheme, shown] = ['http', '127.0.0.1'] as const;
  assert.deepEqual(of({}).main, [{ scheme, host: '127.0.0.1', port: 8083, shown }]);
  assert.deepEqual(of({ listeners: 'http://:8084' }).main, [{ scheme, host: '0.0.0.0', port: 8084, shown }]);
  assert.deepEqual(of({ listen: '[::1]:0' }).main, [{ scheme, host: '::1', port: 0, shown: '[::1]' }]);
  const several = { listeners: 'https://a:1,HTTP://b:2/', 'admin.listeners': 'http://c:3' };
  assert.equal(of(several).advertised.host, 'b');
  assert.equal(of(several).admin[0]!.host, 'c');
  assert.equal(of({ ...several, 'rest.advertised.listener': 'https' }).advertised.host, 'a');
  const wrongs: Config[] = [
    { listeners: 'ftp://:1' },
    { listeners: 'host' },
    { listeners: 'http://a:b' },
    { listeners: 'http://a:1,https://a:1' },
    { listeners: 'http://a:1', 'rest.advertised.listener': 'https' },
    { 'admin.listeners': 'a:1' },
  ];
  for (const wrong of wrongs) assert.throws(() => of(wrong), { code: 'CONFIG_INVALID' });
  assert.throws(() => of({ listen: 'nowhere' }), /Invalid value nowhere for configuration listen: expected host:port/);
});

test('a request that takes too long tells what the worker does', async () => {
  const herder = { stage: () => ({ description: 'creating connector c', startedMs: 0, completedMs: null }) } as Herder;
  await assert.rejects(
    withTimeout(herder, new Promise<void>(() => {}), 1),
    /^ConnectError: Request timed out\. The worker is currently creating connector c, which began at 1970-01-01T00:00:00\.000Z\.$/,
  );
  assert.equal(await withTimeout(herder, Promise.resolve(5)), 5);
});
