import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Assignment,
  configMismatch,
  decodeAssignment,
  decodeMetadata,
  encodeAssignment,
  encodeMetadata,
  offeredVersions,
  protocolName,
} from '../../../../runtime/herder/distributed/connectProtocol.ts';
import { workKey } from '../../../../runtime/herder/distributed/workIds.ts';

/** Written by Kafka Connect 4.3.1's own serializers. */
const java = {
  metadata0: '0000000e687474703a2f2f613a383038332f0000000000000007',
  empty1: '0001000e687474703a2f2f613a383038332fffffffffffffffffffffffff',
  metadata2:
    '0002000e687474703a2f2f613a383038332f0000000000000007000000660002000000086c65616465722d31000e687474703a2f2f613a383038332f0000000000000007000000020002633100000002ffffffff00000000000263320000000100000003000000020002633300000001ffffffff000263340000000100000001000009c4',
  assignment0:
    '0000000000086c65616465722d31000e687474703a2f2f613a383038332f0000000000000007000000020002633100000002ffffffff00000000000263320000000100000003',
  assignment1:
    '0001000000086c65616465722d31000e687474703a2f2f613a383038332f0000000000000007000000020002633100000002ffffffff00000000000263320000000100000003000000020002633300000001ffffffff000263340000000100000001000009c4',
  assignment2:
    '0002000000086c65616465722d31000e687474703a2f2f613a383038332f0000000000000007000000020002633100000002ffffffff00000000000263320000000100000003000000020002633300000001ffffffff000263340000000100000001000009c4',
  mismatch1: '0001000100086c65616465722d31000e687474703a2f2f613a383038332f0000000000000007000000000000000000000000',
};
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
const keys = (...ids: (readonly [string, number])[]): Set<string> =>
  new Set(ids.map(([connector, task]) => workKey({ connector, task })));

const assigned = keys(['c1', -1], ['c1', 0], ['c2', 3]);
const full: Assignment = {
  error: 0,
  leader: 'leader-1',
  leaderUrl: 'http://a:8083/',
  configOffset: 7,
  assigned,
  revoked: keys(['c3', -1], ['c4', 1]),
  delayMs: 2500,
};
const url = 'http://a:8083/';

test('assignments are written as Java workers write them, in every version', () => {
  assert.equal(encodeAssignment(full, 0).toString('hex'), java.assignment0);
  assert.equal(encodeAssignment(full, 1).toString('hex'), java.assignment1);
  assert.equal(encodeAssignment(full, 2).toString('hex'), java.assignment2);
  const mismatch = {
    ...full,
    error: configMismatch,
    assigned: new Set<string>(),
    revoked: new Set<string>(),
    delayMs: 0,
  };
  assert.equal(encodeAssignment(mismatch, 1).toString('hex'), java.mismatch1);
});

test('assignments of Java workers are read, in every version', () => {
  assert.deepEqual(decodeAssignment(bytes(java.assignment1)), full);
  assert.deepEqual(decodeAssignment(bytes(java.assignment2)), full);
  assert.deepEqual(decodeAssignment(bytes(java.assignment0)), { ...full, revoked: new Set(), delayMs: 0 });
  assert.equal(decodeAssignment(bytes(java.mismatch1)).error, configMismatch);
});

test('the fields that version 1 adds may be missing or null', () => {
  const short = Buffer.from(java.assignment0, 'hex');
  short.writeInt16BE(1);
  assert.deepEqual(decodeAssignment(short), { ...full, revoked: new Set(), delayMs: 0 });
  const nulls = bytes(`${java.mismatch1.slice(0, -24)}ffffffffffffffff00000000`);
  assert.deepEqual(decodeAssignment(nulls).assigned, new Set());
});

test('metadata is written and read as by Java workers', () => {
  assert.equal(encodeMetadata({ url, configOffset: 7, held: assigned }, 0, full).toString('hex'), java.metadata0);
  assert.equal(encodeMetadata({ url, configOffset: -1, held: new Set() }, 1, null).toString('hex'), java.empty1);
  assert.deepEqual(decodeMetadata(bytes(java.metadata0)), { url, configOffset: 7, held: new Set() });
  assert.deepEqual(decodeMetadata(bytes(java.metadata2)), { url, configOffset: 7, held: assigned });
  assert.deepEqual(decodeMetadata(encodeMetadata({ url, configOffset: 9, held: assigned }, 2, full)), {
    url,
    configOffset: 9,
    held: assigned,
  });
});

test('a cut-off encoding is refused', () => {
  assert.throws(() => decodeAssignment(bytes(java.assignment1).subarray(0, 60)), /cut off/);
});

test('each protocol offers what older workers understand as well', () => {
  assert.deepEqual(offeredVersions('sessioned').map(protocolName), ['sessioned', 'compatible', 'default']);
  assert.deepEqual(offeredVersions('compatible').map(protocolName), ['compatible', 'default']);
  assert.deepEqual(offeredVersions('eager').map(protocolName), ['default']);
});
