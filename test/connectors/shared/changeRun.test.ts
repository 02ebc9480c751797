import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Change, readRuns } from '../../../connectors/shared/changeRun.ts';
import { parseJson } from '../../../schemas/json/exactJson.ts';
import { plainSinkBatch } from '../../contract/sinkBatches.ts';

test('members of JSON objects may be called as those of every object are', () => {
  const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
  for (const name of names) {
    const row = `{"id":1,"${name}":{"x":1}}`;
    const values = [row, `{"op":"u","source":{},"before":{"id":2},"after":${row}}`].map(text => parseJson(text, true));
    const batch = plainSinkBatch(
      { topic: 't', keySchema: null, valueSchema: null },
      values.map(value => ({ key: null, value })),
    );
    const [flat, event] = readRuns(batch, { key: false, before: true, sourceFields: [] });
    for (const run of [flat!, event!]) {
      assert.deepEqual(
        run.fields.map(field => field.name),
        ['id', name],
      );
      assert.deepEqual(run.values[1], [{ x: 1 }]);
    }
    assert.deepEqual([...flat!.changes, ...event!.changes], [Change.write, Change.update]);
    // An image that has no such member has none from elsewhere.
    assert.deepEqual(event!.befores, [[2], [null]]);
  }
});
