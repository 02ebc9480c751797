import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MongoNetworkError, MongoServerError } from 'mongodb';
import { asSinkError, classifyMongoFailure, documentReason } from '../../../connectors/mongodb/mongoFailure.ts';

const server = (code: number, errmsg: string, errorLabels: string[] = []): MongoServerError =>
  new MongoServerError({ ok: 0, code, errmsg, message: errmsg, errorLabels });

test('tells what passes by itself from what does not', () => {
  for (const code of [10107, 11602, 91, 189, 112]) assert.equal(classifyMongoFailure(server(code, 'x')), 'transient');
  assert.equal(classifyMongoFailure(server(4711, 'x', ['RetryableWriteError'])), 'transient');
  assert.equal(classifyMongoFailure(new MongoNetworkError('connection closed')), 'transient');
  for (const code of [13, 18, 4711]) assert.equal(classifyMongoFailure(server(code, 'x')), 'fatal');
  for (const code of [11000, 121, 10334]) assert.equal(classifyMongoFailure(server(code, 'x')), 'record');
  assert.equal(classifyMongoFailure(new TypeError('a defect')), 'fatal');
});

test('names the code, and what to change', () => {
  assert.equal(asSinkError(server(18, 'Authentication failed.')).code, 'SINK_LOGIN_FAILED');
  assert.match(asSinkError(server(18, 'Authentication failed.')).message, /connection\.uri/);
  assert.equal(asSinkError(server(13, 'not authorized')).code, 'SINK_PRIVILEGE');
  assert.equal(asSinkError(server(10107, 'not primary')).code, 'SINK_UNAVAILABLE');
  assert.equal(asSinkError(server(20, 'no')).code, 'SINK_WRITE_FAILED');
  assert.equal(asSinkError(new TypeError('a defect')).code, 'TASK_FAILED');
});

test('never repeats values of documents', () => {
  const duplicate = 'E11000 duplicate key error collection: a.b index: email_1 dup key: { email: "secret" }';
  const cases: [number, string, RegExp][] = [
    [11000, duplicate, /unique index email_1/],
    [121, 'Document failed validation: secret', /validation/],
    [28, 'Cannot create field \'x\' in element {a: "secret"}', /^Cannot create field … in element … \[28/],
    [53, 'The \'_id\' value cannot be of type array: ["secret"]', /^The … value cannot be of type array: \[…\] \[53/],
    [53, 'The dotted field a.b is not valid', /^The dotted field a\.b is not valid \[53\]$/],
    [2, `can't use it: 'secret, it's "secret"' and more`, /^can't use it: … and more \[2/],
    [2, 'in {a: "secret", b: {c: "}"}, d: secret} of the update', /^in … of the update \[2/],
    [2, 'truncated {a: "secret', /^truncated … \[2/],
    [2, 'unknown top level operator: "secret"', /^unknown top level operator/],
  ];
  for (const [code, errmsg, expected] of cases) {
    assert.match(documentReason({ code, errmsg }), expected);
    assert.doesNotMatch(documentReason({ code, errmsg }), /secret/);
    assert.doesNotMatch(JSON.stringify(asSinkError(server(code, errmsg)).message), /secret/);
  }
  assert.doesNotMatch(
    asSinkError(server(13, 'not authorized on a to execute command { x: "secret" }')).message,
    /secret/,
  );
});
