/** Masks, hashes, truncation and source types: what the options of Debezium say, without a server. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { parseSettings } from '../../../connectors/postgres/config.ts';
import type { ColumnType, TypeSettings } from '../../../connectors/postgres/types/columnType.ts';
import { textType } from '../../../connectors/postgres/types/scalarTypes.ts';
import { sourceTypeParameters } from '../../../connectors/postgres/types/sourceType.ts';
import { parseShaping } from '../../../connectors/shared/columnShaping.ts';

const text: ColumnType = textType({ placeholder: 'unavailable' } as TypeSettings);
const column = (length = 0) => ({ read: text.fromBinary!, unchanged: text.unchanged, length });

function shaped(key: string, value: string, length = 0): unknown {
  const { shaping, errors } = parseShaping({ [key]: 'public.t.a' });
  assert.deepEqual(errors, []);
  const layout = shaping.shape('public.t.a')!.layout(column(length));
  assert.equal(layout.column.wire, 'function');
  const bytes = Buffer.from(value);
  return layout.column.wire === 'function' && layout.column.decode(bytes, 0, bytes.length);
}

test('a column is masked, cut or hashed as its option says', () => {
  assert.equal(shaped('column.mask.with.3.chars', 'secret'), '***');
  assert.equal(shaped('column.truncate.to.2.chars', 'secret'), 'se');
  assert.equal(shaped('column.truncate.to.2.chars', 'a😀'), 'a');
  assert.equal(shaped('column.truncate.to.0.chars', 'a'), '');
  const v2 = createHash('sha512').update('salt').update('secret').digest('hex');
  assert.equal(shaped('column.mask.hash.v2.SHA-512.with.salt.salt', 'secret'), v2);
  assert.equal(shaped('column.mask.hash.v2.SHA-512.with.salt.salt', 'secret', 20), v2.slice(0, 20));
});

test('the first way of hashing is of the string as Java serializes it', () => {
  const hash = (head: string, content: string | Buffer): string =>
    createHash('md5').update('salt').update(Buffer.from(head, 'hex')).update(content).digest('hex');
  assert.equal(shaped('column.mask.hash.MD5.with.salt.salt', 'é'), hash('aced0005740002', 'é'));
  const pair = Buffer.from('eda0bdedb880', 'hex');
  assert.equal(shaped('column.mask.hash.MD5.with.salt.salt', '😀'), hash('aced0005740006', pair));
  const long = 'x'.repeat(70_000);
  assert.equal(shaped('column.mask.hash.MD5.with.salt.salt', long), hash('aced00057c0000000000011170', long));
});

test('a mask also hides which values are null, a hash keeps null and the placeholder of unchanged values', () => {
  const { shaping } = parseShaping({
    'column.mask.with.2.chars': 'public.t.m',
    'column.mask.hash.SHA-256.with.salt.x': 'public.t.h',
  });
  const mask = shaping.shape('public.t.m')!.layout(column());
  assert.deepEqual([mask.whenNull, mask.unchanged], ['**', '**']);
  const hash = shaping.shape('public.t.h')!.layout(column());
  assert.deepEqual([hash.whenNull, hash.unchanged], [undefined, 'unavailable']);
  assert.equal(shaping.shape('public.t.other'), null);
});

test('source types are told by column or by type', () => {
  const { shaping } = parseShaping({
    'column.propagate.source.type': 'public\\.t\\.a',
    'datatype.propagate.source.type': '.*\\.NUMERIC',
  });
  assert.equal(shaping.tellsSourceType('public.t.a', 'public.t', 'text'), true);
  assert.equal(shaping.tellsSourceType('public.t.b', 'public.t', 'text'), false);
  assert.equal(shaping.tellsSourceType('public.t.b', 'public.t', 'numeric'), true);
  assert.deepEqual(sourceTypeParameters({ name: 'timestamp' }, 0, 'c'), {
    '__debezium.source.column.type': 'TIMESTAMP',
    '__debezium.source.column.length': '22',
    '__debezium.source.column.scale': '0',
    '__debezium.source.column.name': 'c',
  });
});

test('a malformed option is an error of the configuration', () => {
  for (const key of [
    'column.mask.with.many.chars',
    'column.mask.hash.SHA-257.with.salt.x',
    'column.mask.hash.SHA-256',
    'column.truncate.to.chars',
  ]) {
    assert.equal(parseShaping({ [key]: 'public.t.a' }).errors[0]?.key, key);
    assert.ok(parseSettings({ [key]: 'public.t.a' }).errors.some(error => error.key === key));
  }
  assert.equal(parseShaping({ 'column.mask.with.2.chars': 'public.(t' }).errors.length, 1);
});
