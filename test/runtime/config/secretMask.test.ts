import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SecretMask, secretsOf } from '../../../runtime/config/secretMask.ts';

test('passwords, what providers gave, and passwords in URLs and JAAS entries are secrets', () => {
  const raw = {
    'database.user': 'alice',
    'database.password': 'pass-1',
    'connection.url': 'postgres://bob:pass-2@db/shop',
    'producer.override.sasl.jaas.config': 'x.PlainLoginModule required username="u" password="pass-3";',
    'schema.registry.basic.auth.user.info': 'user:pass-4',
    host: 'db-${file:/s:host}.example',
    name: 'shop',
  };
  const resolved = { ...raw, host: 'db-inner7.example' };
  const secrets = secretsOf(raw, resolved, key => key === 'database.password');
  for (const secret of ['pass-1', 'pass-2', 'pass-3', 'pass-4', 'inner7']) assert.ok(secrets.includes(secret), secret);
  for (const shown of ['alice', 'shop', raw['connection.url']]) assert.ok(!secrets.includes(shown), shown);
});

test('a password that is also the user, or very short, is no secret', () => {
  const config = { 'database.user': 'postgres', 'database.password': 'postgres', 'ssl.password': 'abc' };
  assert.deepEqual(secretsOf(config, config), []);
});

test('secrets are hidden as words of their own, in JSON too, until their owner forgets them', () => {
  const mask = new SecretMask();
  assert.equal(mask.mask('a secret'), 'a secret');
  mask.set('a', ['se"cret', 'a+b.c']);
  mask.set('b', ['se"cret-longer']);
  assert.equal(
    mask.mask('login with se"cret failed: a+b.c, xa+b.c, aab.c'),
    'login with [hidden] failed: [hidden], xa+b.c, aab.c',
  );
  assert.equal(mask.mask(JSON.stringify({ url: 'p://u:se"cret-longer@h' })), '{"url":"p://u:[hidden]@h"}');
  mask.set('a', []);
  assert.equal(mask.mask('se"cret, se"cret-longer'), 'se"cret, [hidden]');
});
