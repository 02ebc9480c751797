import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configDef } from '../../../runtime/api/index.ts';

const def = configDef({
  'pk.mode': { type: 'STRING', default: 'none', oneOf: ['none', 'record_key'], importance: 'LOW', documentation: '' },
  'max.rows': { type: 'INT', default: 1, importance: 'LOW', documentation: '' },
});

test('an empty value is shown in quotes', () => {
  const { errors } = def.parse({ 'pk.mode': '', 'max.rows': ' ' });
  assert.deepEqual(
    errors.map(({ message }) => message),
    [
      'Invalid value "" for configuration pk.mode: String must be one of: none, record_key',
      'Invalid value " " for configuration max.rows: Not a number of type INT',
    ],
  );
});

test('other values are shown as they are', () => {
  assert.equal(
    def.parse({ 'max.rows': 'x' }).errors[0]?.message,
    'Invalid value x for configuration max.rows: Not a number of type INT',
  );
});
