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

/** The names of `paths` that are kept. */
const kept = (stage: FieldStage, ...paths: string[]): string[] => paths.filter(path => stage(path) !== null);

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
  assert.equal(fieldShaping([rename, allowFields(['new'])], false)?.nameAt('old'), 'new');
  assert.equal(fieldShaping([allowFields(['new']), rename], false)?.nameAt('old'), null);
  assert.equal(fieldShaping([], false), null);
});

test('renames by patterns', () => {
  const stage = renameByPattern([{ regexp: /^value\.my.*$/, pattern: /my|_/g, replace: '' }]);
  assert.deepEqual([stage('my_field_x'), stage('other_x'), stage('a.my_x')], ['fieldx', 'other_x', 'my_x']);
});
