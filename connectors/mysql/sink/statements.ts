/** The statements that write rows of one shape: multi-row lists of literals; updates one by one, since each has its own values. */
import type { RowLog } from '../../shared/rowLog.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import type { MysqlShape, MysqlShapeColumn } from './mysqlTypes.ts';
import { type ListStatement, type Script, writeField } from './script.ts';

/** MariaDB turns longer lists into a subquery, which it cannot look up by key. */
const MAX_DELETE_KEYS = 900;
/** Of the rows that an INSERT brings; MariaDB has VALUES() instead. */
const ROW_ALIAS = '`__millrace_row`';

const name = (c: MysqlShapeColumn): string => quoteIdentifier(c.column.name);
const keyOf = (shape: MysqlShape): readonly MysqlShapeColumn[] => shape.columns.slice(0, shape.keyCount);

const given = (shape: MysqlShape, c: MysqlShapeColumn): string =>
  shape.table.isMariaDb ? `values(${name(c)})` : `${ROW_ALIAS}.${name(c)}`;
const there = (shape: MysqlShape, c: MysqlShapeColumn): string => `${shape.table.sql}.${name(c)}`;

const insertHead = (shape: MysqlShape): string =>
  `insert into ${shape.table.sql} (${shape.columns.map(name).join(', ')}) values `;

export const insertStatement = (shape: MysqlShape): ListStatement => ({
  head: insertHead(shape),
  tail: '',
  counter: 'written',
  maxRows: Number.POSITIVE_INFINITY,
});

export function upsertStatement(shape: MysqlShape): ListStatement {
  const set = shape.columns.slice(shape.keyCount).map(c => `${name(c)} = ${given(shape, c)}`);
  if (shape.table.uniqueIndexes > 1) set.unshift(keyGuard(shape));
  // A row that has key columns only changes nothing.
  if (set.length === 0) set.push(`${name(shape.columns[0]!)} = ${there(shape, shape.columns[0]!)}`);
  const alias = shape.table.isMariaDb ? '' : ` as ${ROW_ALIAS}`;
  return {
    head: insertHead(shape),
    tail: `${alias} on duplicate key update ${set.join(', ')}`,
    counter: 'written',
    maxRows: Number.POSITIVE_INFINITY,
  };
}

/**
 * ON DUPLICATE KEY UPDATE fires on any unique index: a new row that takes a value of another row would change that one, under its own key. The
 * subquery of two rows makes it an error instead, which is looked into record by record.
 */
function keyGuard(shape: MysqlShape): string {
  const same = keyOf(shape).map(c => `${there(shape, c)} <=> ${given(shape, c)}`);
  const first = shape.columns[0]!;
  return `${name(first)} = if(${same.join(' and ')}, ${there(shape, first)}, (select 1 union all select 2))`;
}

export function deleteStatement(shape: MysqlShape): ListStatement {
  const key = keyOf(shape).map(name).join(', ');
  return {
    head: `delete from ${shape.table.sql} where (${key}) in (`,
    tail: ')',
    counter: 'deleted',
    maxRows: MAX_DELETE_KEYS,
  };
}

/** TRUNCATE would end the transaction. */
export const truncateSql = (shape: MysqlShape): string => `delete from ${shape.table.sql}`;

/** Touches nothing, but counts, where a row gives key columns only. */
export function addUpdates(script: Script, shape: MysqlShape, log: RowLog, rows: readonly number[]): void {
  const { columns, keyCount } = shape;
  const starts = new Int32Array(columns.length);
  const head = `update ${shape.table.sql} set `;
  const first = `${name(columns[0]!)} = ${name(columns[0]!)}`;
  const sets = columns.slice(keyCount).map((c, at) => `${at === 0 ? '' : ', '}${name(c)} = `);
  const wheres = keyOf(shape).map((c, at) => `${at === 0 ? ' where ' : ' and '}${name(c)} = `);
  for (const row of rows) {
    script.addRow('updated', out => {
      out.writeUtf8(head);
      let at = log.starts[row]! + 2;
      for (let c = 0; c < keyCount; c++) {
        starts[c] = at;
        at += 4 + Math.max(log.out.bytes.readInt32BE(at), 0);
      }
      if (sets.length === 0) out.writeUtf8(first);
      for (const set of sets) {
        out.writeUtf8(set);
        at = writeField(log, at, out);
      }
      for (let c = 0; c < keyCount; c++) {
        out.writeUtf8(wheres[c]!);
        writeField(log, starts[c]!, out);
      }
    });
  }
}
