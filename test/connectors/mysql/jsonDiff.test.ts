/** Diffs of JSON documents, made by hand as the log has them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyJsonDiffs } from '../../../connectors/mysql/protocol/jsonDiff.ts';

const packed = (bytes: Buffer): Buffer => Buffer.concat([Buffer.of(bytes.length), bytes]);
const number = (value: number): Buffer => Buffer.of(0x05, value & 0xff, value >> 8);
const text = (value: string): Buffer => Buffer.concat([Buffer.of(0x0c), packed(Buffer.from(value))]);
const diff = (operation: 0 | 1 | 2, path: string, value?: Buffer): Buffer =>
  Buffer.concat([Buffer.of(operation), packed(Buffer.from(path)), ...(value === undefined ? [] : [packed(value)])]);

test('parts are replaced, inserted and removed, and numbers stay as they are written', () => {
  const before = '{"a":1,"b":[1.10,2,3],"long":"x"}';
  assert.equal(applyJsonDiffs(before, diff(0, '$.a', number(7))), '{"a":7,"b":[1.10,2,3],"long":"x"}');
  assert.equal(applyJsonDiffs(before, diff(2, '$.b[1]')), '{"a":1,"b":[1.10,3],"long":"x"}');
  assert.equal(applyJsonDiffs(before, diff(1, '$.b[0]', text('é'))), '{"a":1,"b":["é",1.10,2,3],"long":"x"}');
  assert.equal(applyJsonDiffs(before, diff(2, '$.long')), '{"a":1,"b":[1.10,2,3]}');
  assert.equal(applyJsonDiffs('[1,[2]]', diff(0, '$[1][0]', number(3))), '[1,[3]]');
  const both = Buffer.concat([diff(0, '$.a', number(2)), diff(2, '$.b[0]')]);
  assert.equal(applyJsonDiffs(before, both), '{"a":2,"b":[2,3],"long":"x"}');
});

test('a new key is put where the server has it: shorter keys first, then by their bytes', () => {
  const insert = (key: string): string => applyJsonDiffs('{"b":1,"dd":2}', diff(1, key, number(5)));
  assert.equal(insert('$.a'), '{"a":5,"b":1,"dd":2}');
  assert.equal(insert('$.c'), '{"b":1,"c":5,"dd":2}');
  assert.equal(insert('$.zzz'), '{"b":1,"dd":2,"zzz":5}');
  assert.equal(insert('$."a \\"q"'), '{"b":1,"dd":2,"a \\"q":5}');
});

test('quotes, braces and escapes inside of texts do not end them', () => {
  const before = '{"k":"a\\"}],{[b","n":null}';
  assert.equal(applyJsonDiffs(before, diff(0, '$.n', text('"'))), '{"k":"a\\"}],{[b","n":"\\""}');
});

test('a diff that does not fit the document is an error', () => {
  assert.throws(() => applyJsonDiffs('{"a":1}', diff(0, '$.b', number(1))), /names "b", which the document has not/);
  assert.throws(() => applyJsonDiffs('[1]', diff(2, '$[4]')), /names "4"/);
  assert.throws(() => applyJsonDiffs('{}', diff(0, '$.a..b', number(1))), /malformed/);
});
