import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alignSrpChallenge } from '../../../connectors/firebird/srpChallenge.ts';

function challenge(salt: string, key: string): Buffer {
  const length = (text: string): Buffer => Buffer.from([text.length & 255, text.length >> 8]);
  return Buffer.concat([length(salt), Buffer.from(salt), length(key), Buffer.from(key)]);
}

/** As the client takes it apart. */
function read(bytes: Buffer): [salt: string, key: string] {
  const saltLength = bytes.readUInt16LE(0);
  const keyStart = (saltLength + 2 + 3) & ~3;
  return [bytes.toString('latin1', 2, 2 + saltLength), bytes.toString('latin1', keyStart)];
}

for (const length of [64, 63, 62, 61, 60, 59, 1])
  test(`a challenge with a salt of ${length} digits is read whole`, () => {
    const salt = '761E73B44290767A8C54A11245002E341582CF1F5C3A4F15FBB9C7A03CE695D4'.slice(0, length);
    const key = '64f089b422d52bb03403faff2c83d24d428f96cfa947d18e324eb4412ab03028';
    assert.deepEqual(read(alignSrpChallenge(challenge(salt, key))), [salt, key]);
  });

test('other bytes stay as they are', () => {
  const proof = Buffer.from('2701407221c2229749969d0954e4fcc4c0dadbb4');
  for (const bytes of [Buffer.alloc(0), Buffer.from([3, 0]), proof, Buffer.from([1, 0, 65, 9, 0, 1])])
    assert.equal(alignSrpChallenge(bytes), bytes);
});
