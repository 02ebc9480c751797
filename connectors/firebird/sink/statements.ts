/** The statements that write rows of one shape, and the parameters of one row. */
import type { RowLog } from '../../shared/rowLog.ts';
import { fieldBytes } from '../../shared/tupleFields.ts';
import { quoteName } from '../connection.ts';
import type { FbShape } from './fbTypes.ts';

const names = (shape: FbShape): string => shape.columns.map(({ column }) => quoteName(column.name)).join(', ');
const parameters = (shape: FbShape): string => shape.columns.map(({ codec }) => codec.parameter).join(', ');
const keyMatch = (shape: FbShape): string =>
  shape.columns
    .slice(0, shape.keyCount)
    .map(({ column, codec }) => `${quoteName(column.name)} = ${codec.parameter}`)
    .join(' and ');

export const insertSql = (shape: FbShape): string =>
  `insert into ${shape.table.sql} (${names(shape)}) values (${parameters(shape)})`;

/** Also for rows that leave columns out: these stay as they are. */
export function upsertSql(shape: FbShape): string {
  const key = shape.columns.slice(0, shape.keyCount).map(({ column }) => quoteName(column.name));
  return `update or insert into ${shape.table.sql} (${names(shape)}) values (${parameters(shape)}) matching (${key.join(', ')})`;
}

/** Its parameters are those of a row with the key last. */
export function updateSql(shape: FbShape): string {
  const rest = shape.columns.slice(shape.keyCount);
  const [first] = shape.columns;
  const set = rest.map(({ column, codec }) => `${quoteName(column.name)} = ${codec.parameter}`);
  if (set.length === 0) set.push(`${quoteName(first!.column.name)} = ${quoteName(first!.column.name)}`);
  return `update ${shape.table.sql} set ${set.join(', ')} where ${keyMatch(shape)}`;
}

export const deleteSql = (shape: FbShape): string => `delete from ${shape.table.sql} where ${keyMatch(shape)}`;

export const truncateSql = (shape: FbShape): string => `delete from ${shape.table.sql}`;

export function rowParameters(shape: FbShape, log: RowLog, row: number, isKeyLast: boolean): unknown[] {
  const { bytes } = log.out;
  let at = log.starts[row]! + 2;
  const values = shape.columns.map(({ codec }) => {
    const length = fieldBytes(bytes, at);
    at += 4;
    if (length < 0) return null;
    const from = at;
    at += length;
    return codec.isBytes ? Buffer.from(bytes.subarray(from, at)) : bytes.toString('utf8', from, at);
  });
  return isKeyLast ? [...values.slice(shape.keyCount), ...values.slice(0, shape.keyCount)] : values;
}
