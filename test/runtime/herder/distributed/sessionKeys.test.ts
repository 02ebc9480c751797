import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSignedBy, newSessionKey, sign } from '../../../../runtime/herder/distributed/sessionKeys.ts';

test('a signature is that of Java’s HmacSHA256 over the body', () => {
  const key = { key: Buffer.alloc(32, 7), algorithm: 'HmacSHA256', createdMs: 0 };
  const body = Buffer.from('[{"task.class":"x"}]');
  // By javax.crypto.Mac
  assert.equal(sign(key, body), 'lpMpLJU8ZHbwrsy9cgc32Y+YyW51/lSUlPcNwHlNxs0=');
  assert.ok(isSignedBy(key, body, 'lpMpLJU8ZHbwrsy9cgc32Y+YyW51/lSUlPcNwHlNxs0='));
});

test('another body, another key and what is no signature are refused', () => {
  const key = newSessionKey(1);
  const body = Buffer.from('[]');
  assert.ok(isSignedBy(key, body, sign(key, body)));
  assert.ok(!isSignedBy(key, Buffer.from('[{}]'), sign(key, body)));
  assert.ok(!isSignedBy(newSessionKey(1), body, sign(key, body)));
  assert.ok(!isSignedBy(key, body, 'bm90IGEgc2lnbmF0dXJl'));
  assert.ok(!isSignedBy(key, body, ''));
});
