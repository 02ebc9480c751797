import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signatureAlgorithms } from '../../../../runtime/config/signatureAlgorithms.ts';
import { isSignedBy, newSessionKey, sign } from '../../../../runtime/herder/distributed/sessionKeys.ts';

/** By javax.crypto.Mac. */
const javas = {
  HmacSHA1: '+vW+GeM79TYMQBwQKPRUSXhketo=',
  HmacSHA256: 'lpMpLJU8ZHbwrsy9cgc32Y+YyW51/lSUlPcNwHlNxs0=',
  HmacSHA384: 'SsgMwmO0CJ4DEfC9aKM2XP/8lxdtgSvCCcZI9iXEUsZIu/gGr8x/LE/a95USxFNd',
  HmacSHA512: 'jThdxjVf2Bi4GlN4aJPGmkREWMmYPaYq5IVanjUIsfTrh1L57rcElpEVtOzEGu3Dsaty7TtkCLVOFcalVOwmeQ==',
};

test('signatures are those of Java over the body, whatever the algorithm of the key', () => {
  const key = { key: Buffer.alloc(32, 7), algorithm: 'HmacSHA256', createdMs: 0 };
  const body = Buffer.from('[{"task.class":"x"}]');
  for (const algorithm of signatureAlgorithms) {
    assert.equal(sign(key, algorithm, body), javas[algorithm]);
    assert.ok(isSignedBy(key, algorithm, body, javas[algorithm]));
  }
});

test('another body, another key, another algorithm and what is no signature are refused', () => {
  const algorithm = 'HmacSHA512';
  const key = newSessionKey(algorithm, null, 1);
  assert.equal(key.key.length, 64);
  assert.equal(key.algorithm, algorithm);
  assert.equal(newSessionKey(algorithm, 256, 1).key.length, 32);
  const body = Buffer.from('[]');
  assert.ok(isSignedBy(key, algorithm, body, sign(key, algorithm, body)));
  assert.ok(!isSignedBy(key, algorithm, Buffer.from('[{}]'), sign(key, algorithm, body)));
  assert.ok(!isSignedBy(newSessionKey(algorithm, null, 1), algorithm, body, sign(key, algorithm, body)));
  assert.ok(!isSignedBy(key, 'HmacSHA256', body, sign(key, algorithm, body)));
  assert.ok(!isSignedBy(key, algorithm, body, 'bm90IGEgc2lnbmF0dXJl'));
  assert.ok(!isSignedBy(key, algorithm, body, ''));
});
