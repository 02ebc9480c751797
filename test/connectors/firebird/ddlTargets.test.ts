import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ddlTargets } from '../../../connectors/firebird/source/ddlTargets.ts';

const targets = (sql: string): string[] =>
  ddlTargets(sql).map(({ verb, kind, name, added }) => `${verb} ${kind} ${name}: ${added.join(', ')}`);

test('tables and domains of a statement, and the columns it adds', () => {
  assert.deepEqual(
    targets('alter table t drop a, add "b c" numeric(18, 2) default 1 not null, add c date check (c > 1)'),
    ['alter table T: b c, C'],
  );
  assert.deepEqual(targets('/* drop table X */ CREATE TABLE "a""b" (a int, -- b int\n "B" char(3), primary key (a))'), [
    'create table a"b: A, B',
  ]);
  assert.deepEqual(targets('alter table T add constraint C primary key (A), alter D type bigint'), ['alter table T: ']);
  assert.deepEqual(targets('recreate table Ж (x int)'), ['recreate table Ж: X']);
  assert.deepEqual(targets("comment on table T is 'alter table X add Y int'"), []);
  assert.deepEqual(targets('drop table T'), ['drop table T: ']);
  assert.deepEqual(targets('alter domain d type bigint'), ['alter domain D: ']);
  assert.deepEqual(targets('create index T_I on T (A)'), []);
});

test('columns that a statement drops, alters and renames', () => {
  const [target] = ddlTargets(
    'alter table T drop A, alter column "b" type varchar(9), alter COLUMN x to NEW, alter C to "d", add E int, drop constraint X',
  );
  assert.deepEqual(target, {
    verb: 'alter',
    kind: 'table',
    name: 'T',
    added: ['E'],
    dropped: ['A'],
    changed: ['b', 'X', 'C'],
    renamed: [
      ['X', 'NEW'],
      ['C', 'd'],
    ],
  });
});
