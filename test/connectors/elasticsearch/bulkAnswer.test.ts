import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readItems } from '../../../connectors/elasticsearch/bulkAnswer.ts';
import type { RowKind } from '../../../connectors/elasticsearch/bulkRows.ts';
import { errorAnswer, reasonOf } from '../../../connectors/elasticsearch/elasticFailure.ts';

const item = (status: number, type?: string, reason = '') => ({
  index: { status, ...(type === undefined ? {} : { error: { type, reason } }) },
});
const read = (items: readonly object[], kind: RowKind = 'index') =>
  readItems(
    Buffer.from(JSON.stringify({ errors: true, items })),
    items.map((_, i) => i + 10),
    () => kind,
  );

describe('answers to bulk requests', () => {
  it('are not read where there are no errors', () => {
    const { busy, failed } = readItems(Buffer.from('{"errors":false,"items":[{'), [1, 2], () => 'index');
    assert.deepEqual([busy, failed], [[], []]);
  });

  it('tell what to send again, what is refused, and what is there already', () => {
    const conflict = (stored: number): string =>
      `[secret]: version conflict, current version [${stored}] is higher or equal to the one provided [5]`;
    const { busy, failed, reason } = read([
      item(201),
      item(429, 'rejected_execution_exception', 'queue'),
      item(
        400,
        'mapper_parsing_exception',
        "failed to parse field [qty] of type [integer] in document with id 'secret'. Preview of field's value: 'secret'",
      ),
      item(409, 'version_conflict_engine_exception', conflict(9)),
      item(409, 'version_conflict_engine_exception', conflict(5)),
      item(404),
      item(503, 'unavailable_shards_exception'),
    ]);
    assert.deepEqual(busy, [11, 16]);
    assert.match(reason, /queue/);
    assert.deepEqual(
      failed.map(f => [f.row, f.kind, f.field, f.versions]),
      [
        [12, 'malformed', 'qty', undefined],
        [13, 'stale', undefined, { stored: '9', offered: '5' }],
        [14, 'known', undefined, { stored: '5', offered: '5' }],
      ],
    );
    assert.ok(!JSON.stringify(failed).includes('secret'));
  });

  it('make an update that met another one again, and take a document that is only added for known', () => {
    assert.deepEqual(read([item(409, 'version_conflict_engine_exception')], 'update').busy, [10]);
    assert.equal(read([item(409, 'version_conflict_engine_exception')], 'create').failed[0]!.kind, 'known');
  });

  it('fail for what lies in no document', () => {
    assert.throws(() => read([item(403, 'security_exception', 'no')]), { status: 403 });
    assert.throws(() => read([item(404, 'index_not_found_exception', 'no such index [x]')]), {
      type: 'index_not_found_exception',
    });
  });
});

describe('reasons', () => {
  it('keep names and types, and lose values', () => {
    const cases: readonly (readonly [string, string])[] = [
      [
        "[1:23] failed to parse field [at] of type [date] in document with id 'a]b'. Preview of field's value: 'x\ny'",
        'e: [1:23] failed to parse field [at] of type [date]',
      ],
      ['For input string: "abc"', 'e: For input string: "…"'],
      ['object mapping for [o] tried to parse field [o] as object, but found a concrete value', ''],
      ['mapping set to strict, dynamic introduction of [x] within [_doc] is not allowed', ''],
    ];
    for (const [reason, expected] of cases)
      assert.equal(reasonOf({ type: 'e', reason }), expected === '' ? `e: ${reason}` : expected);
    assert.equal(reasonOf({ type: 'a', reason: 'r', caused_by: { type: 'b', reason: 'secret' } }), 'a: r (b)');
  });

  it('take answers that are no JSON', () => {
    const error = errorAnswer('GET /', { status: 502, body: Buffer.from('<html>Bad gateway</html>') });
    assert.equal(error.message, 'GET / was answered with 502');
  });
});
