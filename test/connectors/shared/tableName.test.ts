import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseMapping, splitName, type TableNameRules, tableNameOf } from '../../../connectors/shared/tableName.ts';

const rules: TableNameRules = { format: '${topic}', mapping: new Map(), normalize: false, dotsToUnderscores: false };
const none = () => undefined;

describe('table names', () => {
  it('come from topics as users write them', () => {
    assert.deepEqual(tableNameOf('orders', none, rules), { schema: null, table: 'orders' });
    assert.deepEqual(tableNameOf('sales.orders', none, rules), { schema: 'sales', table: 'orders' });
    assert.deepEqual(tableNameOf('shop1.sales.orders', none, rules), { schema: 'sales', table: 'orders' });
    assert.deepEqual(tableNameOf('a.b', none, { ...rules, format: 'kafka_${topic}', normalize: true }), {
      schema: null,
      table: 'kafka_a_b',
    });
    assert.deepEqual(tableNameOf('a.b-c', none, { ...rules, dotsToUnderscores: true }), {
      schema: null,
      table: 'a_b-c',
    });
    assert.deepEqual(tableNameOf('t', none, { ...rules, mapping: new Map([['t', 'x.y']]) }), {
      schema: 'x',
      table: 'y',
    });
  });

  it('come from the source block of change events', () => {
    const source = (field: string) => ({ schema: 'public', table: 'item' })[field];
    const format = '${source.schema}.copy_of_${source.table}';
    assert.deepEqual(tableNameOf('t', source, { ...rules, format }), { schema: 'public', table: 'copy_of_item' });
    assert.throws(() => tableNameOf('t', none, { ...rules, format }), { code: 'SINK_TABLE_NAME' });
  });

  it('may be quoted where they have dots', () => {
    assert.deepEqual(splitName('"my.schema"."a ""b"""'), { schema: 'my.schema', table: 'a "b"' });
    assert.equal(parseMapping(['a:b', 'c']), '"c" is not topic:table');
  });
});
