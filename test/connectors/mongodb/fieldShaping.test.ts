import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  allowFields,
  blockFields,
  type FieldStage,
  fieldShaping,
  renameByPattern,
  renameFields,
} from '../../../connectors/mongodb/fieldShaping.ts';

const named = (stage: FieldStage, path: string): string | null => stage(path, path.slice(path.lastIndexOf('.') + 1));
/** The names of `paths` that are kept. */
const kept = (stage: FieldStage, ...paths: string[]): string[] => paths.filter(path => named(stage, path) !== null);

test('keeps what is listed, and what leads to it', () => {
  const paths = ['_id', 'name', 'address', 'address.city', 'address.zip', 'visits', 'visits.2020', 'visits.2020.pages'];
  assert.deepEqual(kept(allowFields(['name', 'address.city']), ...paths), ['_id', 'name', 'address', 'address.city']);
  assert.deepEqual(kept(allowFields(['address.**']), ...paths), ['_id', 'address', 'address.city', 'address.zip']);
  assert.deepEqual(kept(allowFields(['visits.*.pages']), ...paths), [
    '_id',
    'visits',
    'visits.2020',
    'visits.2020.pages',
  ]);
  assert.deepEqual(kept(allowFields(['**']), ...paths), paths);
});

test('leaves out what is listed, never the id', () => {
  const paths = ['_id', 'name', 'address', 'address.city', 'address.zip'];
  assert.deepEqual(kept(blockFields(['_id', 'name', 'address.zip']), ...paths), ['_id', 'address', 'address.city']);
  assert.deepEqual(kept(blockFields(['*.city']), ...paths), ['_id', 'name', 'address', 'address.zip']);
});

test('names of fields are texts, not patterns', () => {
  assert.deepEqual(kept(blockFields(['a+b.*']), 'a+b.c', 'aab.c'), ['aab.c']);
});

test('applies stages in their order', () => {
  const rename = renameFields([{ oldName: 'value.old', newName: 'new' }]);
  assert.equal(fieldShaping([rename, allowFields(['new'])], false)?.nameAt('old', 'old'), 'new');
  assert.equal(fieldShaping([allowFields(['new']), rename], false)?.nameAt('old', 'old'), null);
  assert.equal(fieldShaping([], false), null);
});

test('renames by patterns', () => {
  const stage = renameByPattern([{ regexp: /^value\.my.*$/, pattern: /my|_/g, replace: '' }]);
  assert.deepEqual(
    ['my_field_x', 'other_x', 'a.my_x'].map(path => named(stage, path)),
    ['fieldx', 'other_x', 'my_x'],
  );
});

test('keeps names that have dots', () => {
  const rename = renameFields([{ oldName: 'value.a.b', newName: 'c.d' }]);
  for (const stage of [allowFields(['**']), blockFields([]), rename, renameByPattern([])]) {
    const shaping = fieldShaping([stage, blockFields(['a.z'])], false);
    for (const name of ['x.y', '.x', 'x.', '']) {
      assert.equal(shaping?.nameAt(name, name), name);
      assert.equal(shaping?.nameAt(`a.${name}`, name), name);
    }
  }
  assert.equal(fieldShaping([rename, blockFields(['a.c.d'])], false)?.nameAt('a.b', 'b'), null);
  assert.equal(fieldShaping([], true)?.nameAt('x.y', 'x.y'), 'x.y');
});
