/**
 * Source that writes the columns of a row: finds each column's slice as the row format says, checks it against the end of the bytes, and writes
 * value, null or substitute. See generate.ts for the variables.
 */
import { decimalScale, isDecimal, type Schema } from '../data/index.ts';
import { columnSource, nullSource } from './columnSource.ts';
import type { ColumnLayout, RowFormat } from './layout.ts';
import {
  bitmapBytes,
  columnOrder,
  isRowOrder,
  nullSubstitute,
  type RowLayout,
  structOf,
  wantedColumns,
} from './rowColumns.ts';
import { layoutError, RowFault } from './rowErrors.ts';
import { changedSource, sameNulls } from './rowPair.ts';
import { int, type SourceWriter } from './sourceWriter.ts';
import { tupleKind } from './tupleKind.ts';

/** Tests of the kind byte k of a pgoutput column. */
const kindTests = { text: 'k===116', binary: 'k===98', any: 'k===116||k===98' } as const;

/** V8 does not optimise functions beyond some 60 kB of bytecode: wide rows are split into functions of this many columns. */
const COLUMNS_PER_FUNCTION = 48;
/** For rows as narrow as this the call of a function is a part of the price. */
const INLINE_COLUMNS = 8;

export class RowSource {
  private readonly writer: SourceWriter;
  /** Whether the ends of columns are noted. */
  private isNoting = false;

  constructor(writer: SourceWriter) {
    this.writer = writer;
  }

  /** Two rows of which the second mostly has the values of the first; `row` writes around each what a row has around it. */
  pair(schema: Schema, before: RowLayout, after: RowLayout, row: (layout: RowLayout, write: () => void) => void): void {
    const wanted = after.columns.slice(0, wantedColumns(after.columns));
    this.writer.notedColumns = Math.max(this.writer.notedColumns, wanted.length);
    row(before, () => {
      this.isNoting = true;
      this.write(schema, before);
      this.isNoting = false;
      this.writer.emit('mb=m;');
    });
    row(after, () => {
      this.head(schema, after);
      this.writer.emit(`if(${sameNulls(before, after.format)}){`);
      this.changed(schema, after.format, wanted);
      this.writer.emit('}else{');
      this.columns(schema, after);
      this.writer.emit('}');
    });
  }

  /** The columns of a row that starts at p. */
  write(schema: Schema, layout: RowLayout): void {
    this.head(schema, layout);
    this.columns(schema, layout);
  }

  private head(schema: Schema, { format, columns }: RowLayout): void {
    this.writer.valueBranch(schema);
    this.writer.emit(rowHead(format, columns.length));
  }

  /** What the row noted before has too is copied from the output; the other columns are written, each by itself. */
  private changed(schema: Schema, format: RowFormat, wanted: readonly ColumnLayout[]): void {
    const fields = structOf(schema).fields;
    const names = this.separated(wanted, (part, start) => {
      this.writer.emitRaw('switch(c){');
      part.forEach((column, n) => {
        const at = start + n;
        this.writer.emitRaw(`case ${int(at)}:{`);
        this.column(format, column, at, column.field === -1 ? null : fields[column.field].schema, 'read');
        this.writer.emit('break;}');
      });
      this.writer.emitRaw('}');
    });
    this.writer.emit('out.position=w;');
    this.writer.emit(
      `p=${this.writer.addChunk(changedSource(wanted.length, names, COLUMNS_PER_FUNCTION))}(s,i,out,p);`,
    );
    this.writer.emit('w=out.position;o=out.bytes;v=s.v;lim=o.length-s.fixed;');
  }

  private columns(schema: Schema, { format, columns }: RowLayout): void {
    const fields = structOf(schema).fields;
    const order = columnOrder(fields, columns);
    const wanted = columns.slice(0, wantedColumns(columns));
    const isInline = wanted.length <= INLINE_COLUMNS;
    if (!isInline) this.writer.emit('out.position=w;');
    if (this.isNoting) this.writer.emit('s.r0=p;s.e0=w;');
    if (isRowOrder(order)) {
      this.chunked(isInline, wanted, (column, at) => {
        this.column(format, column, at, column.field === -1 ? null : fields[column.field].schema, 'read');
      });
    } else {
      this.writer.scratchColumns = Math.max(this.writer.scratchColumns, columns.length);
      this.chunked(isInline, wanted, (column, at) => {
        this.column(format, column, at, null, 'find');
      });
      this.chunked(isInline, order, (columnAt, at) => {
        this.column(format, columns[columnAt], columnAt, fields[at].schema, 'found');
      });
    }
    if (!isInline) this.writer.emit('w=out.position;o=out.bytes;v=s.v;lim=o.length-s.fixed;');
  }

  private chunked<T>(isInline: boolean, items: readonly T[], emit: (item: T, at: number) => void): void {
    if (isInline) {
      items.forEach(emit);
      this.writer.flush();
      return;
    }
    const names = this.separated(items, (part, start) => {
      part.forEach((item, at) => {
        emit(item, start + at);
      });
    });
    for (const name of names) this.writer.emit(`p=${name}(s,i,out,p);`);
  }

  /** Names of functions, each of so many of the items; `start` is the place of the first. */
  private separated<T>(items: readonly T[], emit: (part: readonly T[], start: number) => void): string[] {
    const names: string[] = [];
    for (let start = 0; start < items.length; start += COLUMNS_PER_FUNCTION) {
      names.push(this.writer.separate(() => emit(items.slice(start, start + COLUMNS_PER_FUNCTION), start)));
    }
    return names;
  }

  /**
   * One column: `read` finds it at p and writes it, `find` only remembers where it lies, `found` writes it from there.
   * Where a slice is remembered, a length of -1 is null and -2 unchanged.
   */
  private column(
    format: RowFormat,
    column: ColumnLayout,
    at: number,
    schema: Schema | null,
    mode: 'read' | 'find' | 'found',
  ): void {
    const wire = column.column;
    const remember = mode === 'find' && column.field !== -1;
    if (mode === 'found') {
      this.writer.emit(`p=s.S[${int(at * 2)}];n=s.S[${int(at * 2 + 1)}];if(n>=0){q=p+n;`);
    } else if (format === 'pg-tuple') {
      const kinds = kindTests[column.field === -1 ? 'any' : tupleKind(wire)];
      this.writer.flush();
      this.writer.emitRaw(
        `k=b[p];if(${kinds}){if(p+5>end)fail(${RowFault.truncated},${int(at)},i);n=bv.getInt32(p+1);p+=5;q=p+n;if(n<0||q>end)fail(${RowFault.truncated},${int(at)},i);`,
      );
    } else if (format === 'mysql-binlog') {
      this.writer.flush();
      this.writer.emitRaw(imageColumn(column.extent ?? 0, at));
    } else if (format === 'mysql-text') {
      this.writer.flush();
      this.writer.emitRaw(
        `if(p+1>end)fail(${RowFault.truncated},${int(at)},i);k=b[p++];if(k!==251){n=k<251?k:textLength(b,bv,p,k,end);if(n<0)fail(n===-1?${RowFault.truncated}:${RowFault.columnKind},${int(at)},i);if(k>251)p+=k===252?2:k===253?3:8;q=p+n;if(q>end)fail(${RowFault.truncated},${int(at)},i);`,
      );
    } else {
      this.writer.flush();
      this.writer.emitRaw(
        `if(p+4>end)fail(${RowFault.truncated},${int(at)},i);n=bv.getInt32(p);p+=4;if(n!==-1){q=p+n;if(n<0||q>end)fail(${RowFault.truncated},${int(at)},i);`,
      );
    }
    if (remember) this.writer.emitRaw(`s.S[${int(at * 2)}]=p;s.S[${int(at * 2 + 1)}]=n;`);
    if (schema !== null && mode !== 'find') {
      const isNull = nullSource(wire, at);
      if (isNull !== null) {
        this.writer.emitRaw(`${isNull.check}if(${isNull.test}){`);
        this.columnNull(schema, column, at);
        this.writer.emit('}else{');
      }
      // a function may give null: its value is written with its branch
      if (wire.wire !== 'function') this.writer.valueBranch(schema);
      this.writer.flush();
      this.value(schema, column, at);
      if (isNull !== null) this.writer.emitRaw('}');
    }
    if (mode !== 'found') this.writer.emitRaw('p=q;');

    const onNull = (): void => {
      if (remember) this.writer.emitRaw(`s.S[${int(at * 2 + 1)}]=-1;`);
      else if (schema !== null) this.columnNull(schema, column, at);
      this.writer.flush();
    };
    const onUnchanged = (): void => {
      if (remember) this.writer.emitRaw(`s.S[${int(at * 2 + 1)}]=-2;`);
      else if (schema !== null) this.unchanged(schema, column, at);
      this.writer.flush();
    };
    if (mode === 'found') {
      this.writer.emitRaw('}else if(n===-1){');
      onNull();
      this.writer.emitRaw('}else{');
      onUnchanged();
      this.writer.emitRaw('}');
    } else if (format === 'pg-tuple') {
      this.writer.emitRaw('}else if(k===110){p++;');
      onNull();
      this.writer.emitRaw('}else if(k===117){p++;');
      onUnchanged();
      this.writer.emitRaw(`}else fail(p<end?${RowFault.columnKind}:${RowFault.truncated},${int(at)},i);`);
    } else {
      this.writer.emitRaw('}else{');
      onNull();
      this.writer.emitRaw('}');
    }
    if (this.isNoting) this.writer.emitRaw(`W[${int(at)}]=p;E[${int(at)}]=w;`);
  }

  private value(schema: Schema, column: ColumnLayout, at: number): void {
    const wire = column.column;
    if (wire.wire === 'function') {
      const { decode } = wire;
      const substitute = nullSubstitute(schema, column);
      const isFilled = substitute !== undefined;
      this.writer.functions.push({ schema, decode: isFilled ? (b, p, q) => decode(b, p, q) ?? substitute : decode });
      this.writer.emitRaw(
        `o=call(s,${int(this.writer.functions.length - 1)},out,w,p,q,${int(at)},i);v=s.v;w=out.position;lim=o.length-s.fixed;`,
      );
      return;
    }
    let linear = -1;
    if (wire.wire === 'int32be-linear' || wire.wire === 'int64be-linear') {
      linear = this.writer.linears.push(wire) - 1;
    }
    const names = wire.wire === 'name-le' ? this.writer.names.push(wire.names) - 1 : -1;
    const source = columnSource(wire, schema.type, isDecimal(schema) ? decimalScale(schema) : null, at, linear, names);
    if (source === null) throw layoutError(`a column of wire form ${wire.wire} cannot fill a ${schema.type}`);
    this.writer.fixedBytes += source.fixedBytes;
    this.writer.emitRaw(source.source);
  }

  private columnNull(schema: Schema, column: ColumnLayout, at: number): void {
    const substitute = nullSubstitute(schema, column);
    if (substitute !== undefined) {
      this.writer.pending.push({ part: 'value', schema, value: substitute });
    } else {
      this.writer.nullOrFail(schema, RowFault.nullNotAllowed, at);
    }
  }

  private unchanged(schema: Schema, column: ColumnLayout, at: number): void {
    const value = column.unchanged;
    if (value === undefined) this.writer.emit(`fail(${RowFault.unchangedNotAllowed},${int(at)},i);`);
    else if (value === null) this.columnNull(schema, column, at);
    else this.writer.pending.push({ part: 'value', schema, value });
  }
}

/** Checks that a row at p begins as its format says, and moves p to the first column. */
function rowHead(format: RowFormat, columnCount: number): string {
  switch (format) {
    case 'pg-tuple':
    case 'pg-copy':
      return `if(p<0||p+2>end)fail(${RowFault.truncated},-1,i);if(bv.getInt16(p)!==${int(columnCount)})fail(${RowFault.columnCount},-1,i);p+=2;`;
    case 'mysql-binlog': {
      const bytes = int(bitmapBytes(columnCount));
      return `if(p<0||p+${bytes}>end)fail(${RowFault.truncated},-1,i);s.m=m=p;p+=${bytes};`;
    }
    case 'mysql-text':
      return `if(p<0)fail(${RowFault.truncated},-1,i);`;
  }
}

/** Finds a column of a row image whose bitmap of nulls is at m. */
function imageColumn(extent: number, at: number): string {
  const notNull = `if((b[m+${int(at >> 3)}]&${int(1 << (at & 7))})===0){`;
  const cut = `fail(${RowFault.truncated},${int(at)},i);`;
  if (extent >= 0) return `${notNull}n=${int(extent)};q=p+n;if(q>end)${cut}`;
  const size = -extent;
  const length = ['b[p]', 'bv.getUint16(p,true)', 'bv.getUint16(p,true)|b[p+2]<<16', 'bv.getUint32(p,true)'][size - 1];
  if (length === undefined) throw layoutError(`a length of ${size} bytes`);
  return `${notNull}if(p+${int(size)}>end)${cut}n=${length};p+=${int(size)};q=p+n;if(q>end)${cut}`;
}
