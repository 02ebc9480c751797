/** Signals, and the state of incremental snapshots in offsets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOTHING, stateOf, stateOffset } from '../../../connectors/shared/incrementalState.ts';
import { namesTable, parseSignal } from '../../../connectors/shared/signals.ts';

test('signals are read from the rows of their table', () => {
  const data =
    '{"data-collections":["public.a"],"additional-conditions":[{"data-collection":"public.a","filter":"x > 1"}]}';
  assert.deepEqual(parseSignal('1', 'execute-snapshot', data), {
    type: 'execute-snapshot',
    id: '1',
    kind: 'incremental',
    collections: ['public.a'],
    conditions: [{ collection: 'public.a', filter: 'x > 1' }],
    surrogateKey: null,
  });
  assert.deepEqual(parseSignal('2', 'stop-snapshot', null), { type: 'stop-snapshot', id: '2', collections: [] });
  assert.deepEqual(parseSignal('3', 'resume-snapshot', '{"type":"incremental"}'), { type: 'resume-snapshot', id: '3' });
  assert.equal(parseSignal('4', 'snapshot-window-open', ''), null);
  assert.throws(() => parseSignal('5', 'execute-snapshots', '{}'), /no signals of type "execute-snapshots"/);
  for (const malformed of [
    '',
    '[]',
    '{"data-collections":"public.a"}',
    '{"data-collections":[]}',
    '{"type":"blocking"}',
    '{"type":"partial","data-collections":["public.a"]}',
  ]) {
    assert.throws(() => parseSignal('5', 'execute-snapshot', malformed));
  }
});

test('tables are named by their name or by an expression', () => {
  assert.equal(namesTable('public.a', 'public.a'), true);
  assert.equal(namesTable('PUBLIC\\..*', 'public.a'), true);
  assert.equal(namesTable('public', 'public.a'), false);
  assert.equal(namesTable('public.a(b', 'public.a(b'), true);
  assert.equal(namesTable('public.a(b', 'public.a'), false);
});

test('the state comes back from an offset; an offset of Debezium begins its table again', () => {
  const collections = [
    { id: 'public.a', filter: null, surrogateKey: null },
    { id: 'public.b', filter: 'x > 1', surrogateKey: 'n' },
  ];
  const state = { correlationId: 's', collections, lastKey: ['a"b', '1'], maximumKey: ['z', '2'], isPaused: true };
  assert.deepEqual(stateOf(stateOffset(state)), state);
  assert.deepEqual(stateOffset(NOTHING), {});
  assert.deepEqual(stateOf({ lsn: 1n }), NOTHING);
  assert.deepEqual(stateOf(null), NOTHING);
  const java = {
    ...stateOffset({ ...state, isPaused: false }),
    incremental_snapshot_primary_key: 'aced0005757200135b',
  };
  assert.deepEqual(stateOf(java), { ...state, isPaused: false, lastKey: null, maximumKey: null });
});
