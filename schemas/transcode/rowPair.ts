/**
 * Two rows of one record that have the same columns, such as those before and after an update: most values are the same in both. While the first is written,
 * the ends of its columns are noted, in the wire bytes (W) and in the output (E). Of the second, what has the same wire bytes is copied from the output,
 * whatever it costs to write it; only the columns that differ are written. This pays for rows of many columns.
 */
import type { Field } from '../data/index.ts';
import type { ColumnLayout, Layout, RowFormat } from './layout.ts';
import { bitmapBytes, columnOrder, isRowOrder, type RowLayout, structOf, wantedColumns } from './rowColumns.ts';
import { int } from './sourceWriter.ts';

const FEWEST_COLUMNS = 9;
/** Bytes of a bitmap that are compared one by one. */
const MOST_BITMAP_BYTES = 64;

/** The rows of the fields at `at` and behind it, where they are such a pair. */
export function rowPair(
  fields: readonly Field[],
  layouts: readonly Layout[],
  at: number,
): readonly [before: RowLayout, after: RowLayout] | null {
  const [before, after] = [layouts[at], layouts[at + 1]];
  if (before?.kind !== 'row' || after?.kind !== 'row' || fields[at].schema !== fields[at + 1].schema) return null;
  const { columns, format } = after;
  if (before.format !== format || before.columns.length !== columns.length) return null;
  if (wantedColumns(columns) < FEWEST_COLUMNS || bitmapBytes(columns.length) > MOST_BITMAP_BYTES) return null;
  if (!columns.every((column, i) => isSame(column, before.columns[i]))) return null;
  const order = columnOrder(structOf(fields[at].schema).fields, columns);
  return isRowOrder(order) ? [before, after] : null;
}

function isSame(a: ColumnLayout, b: ColumnLayout): boolean {
  return (
    a.field === b.field &&
    (a.column === b.column || (a.column.wire === 'skip' && b.column.wire === 'skip')) &&
    a.extent === b.extent &&
    a.nullValue === b.nullValue &&
    a.whenNull === b.whenNull &&
    a.unchanged === b.unchanged
  );
}

/** Whether there is a row before, of which the same columns are null: where that is not said at each column. */
export function sameNulls({ slot, columns }: RowLayout, format: RowFormat): string {
  const tests = [`P[${int(slot)}][i]!==-1`];
  if (format === 'mysql-binlog') {
    for (let i = 0; i < bitmapBytes(columns.length); i++) tests.push(`b[m+${int(i)}]===b[mb+${int(i)}]`);
  }
  return tests.join('&&');
}

/** A function that writes the columns of the second row, with those that write one of them; `columns` of each, in turn. */
export const changedSource =
  (count: number, columns: readonly string[], perFunction: number) =>
  (name: string): string => {
    const calls = columns.map((column, n) =>
      n === columns.length - 1 ? `${column}(s,i,out,p,c)` : `c<${int((n + 1) * perFunction)}?${column}(s,i,out,p,c):`,
    );
    return [
      `function ${name}(s,i,out,p){`,
      'const b=s.b,bv=s.bv,end=b.length,W=s.W,E=s.E;',
      'let o=out.bytes,w=out.position,v=s.v,lim=o.length-s.fixed,c=0,k=0,n=0,at=s.r0,from=s.e0;',
      'for(;;){',
      `n=at+sameBytes(b,bv,at,p,W[${int(count - 1)}]-at,end);`,
      `for(k=c;k<${int(count)}&&W[k]<=n;)k++;`,
      'if(k>c){',
      'n=E[k-1]-from;if(w+n>lim){o=grow(s,out,w,n);v=s.v;lim=o.length-s.fixed;}',
      'w=putAgain(o,v,w,from,n);',
      'from=E[k-1];p+=W[k-1]-at;at=W[k-1];c=k;',
      '}',
      `if(c===${int(count)})break;`,
      `out.position=w;p=${calls.join('')};w=out.position;o=out.bytes;v=s.v;lim=o.length-s.fixed;`,
      'from=E[c];at=W[c];c++;',
      '}',
      'out.position=w;return p;}',
    ].join('\n');
  };
