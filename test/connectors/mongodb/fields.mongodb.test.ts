/** What is in a record is in its document, under its name; what cannot be is an error of that record. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Config } from '../../../runtime/api/index.ts';
import { envelopeSchema, event, item, tombstone } from '../../contract/sinkContract.ts';
import { type MongoTarget, type OpenSink, openMongoTarget, openSink, type SideSchemas } from './mongoTarget.ts';

const PLAIN: SideSchemas = { keySchema: null, valueSchema: null };

describe('fields', () => {
  let target: MongoTarget;
  before(async () => {
    target = await openMongoTarget();
  });
  after(() => target[Symbol.asyncDispose]());
  const open = (config?: Config): Promise<OpenSink> => openSink(target, config, { tolerate: true });
  const errants = ({ run }: OpenSink): unknown[] =>
    run.errants.map(({ record, error }) => [record.originalOffset, error.code]);

  it('keeps names with dots, and empty ones, whatever processors do', async () => {
    const value = { 'x.y': 1, y: 2, '': 3, '.z': 4, 'z.': 5, map: { 'a.b': 1, b: 2, '': { '': 1 } } };
    for (const chain of ['DocumentIdAdder', 'NullFieldValueRemover', 'RenameByMapping', 'RenameByRegex']) {
      await using sink = await open({ 'post.processor.chain': chain });
      await sink.deliver([{ key: { id: 1 }, value }], PLAIN);
      assert.deepEqual(await sink.documents(), { 1: value });
    }
  });

  it('refuses an empty name where fields are set, and keeps it in ids', async () => {
    await using sink = await open({ 'writemodel.strategy': 'UpdateOneDefaultStrategy' });
    await sink.deliver(
      [
        { key: { '': 1, a: 1 }, value: { v: 1 } },
        { key: { '': 2, a: 1 }, value: { v: 2 } },
        { key: { id: 3 }, value: { '': 1 } },
      ],
      PLAIN,
    );
    assert.deepEqual(await sink.documents(), { '{"":1,"a":1}': { v: 1 }, '{"":2,"a":1}': { v: 2 } });
    assert.deepEqual(errants(sink), [[2, 'SINK_VALUE_UNFIT']]);
  });

  it('refuses change events without the row that they tell of', async () => {
    await using sink = await open();
    const { key } = tombstone(1n);
    const typed = ['c', 'r', 'u'].map(op => ({ key, value: event(op, null) }));
    await sink.deliver([...typed, { key: tombstone(2n).key, value: event('c', item(2n)) }], {
      valueSchema: envelopeSchema,
    });
    const plain = [null, 5, 'x', [1], {}].map((row, i) => ({
      key: { id: 10 + i },
      value: { op: 'c', source: {}, before: null, after: row },
    }));
    await sink.deliver(plain, PLAIN);
    assert.deepEqual(await sink.documents(), { 2: item(2n), 14: {} });
    assert.deepEqual(
      errants(sink),
      [0, 1, 2, 4, 5, 6, 7].map(offset => [offset, 'SINK_VALUE_UNUSABLE']),
    );
    assert.match(sink.run.errants[0]!.error.message, /field after/);
  });
});
