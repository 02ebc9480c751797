/**
 * Turns (schema, layout) into the source of one function that writes a record's Avro bytes, and the list of what that function is given besides:
 * blocks of constant bytes and column functions. Source holds numbers and fixed text only, so that equal shapes give equal source and share
 * machine code; every name and value of a schema is in the lists.
 *
 * Inside the source: b, bv wire bytes and their DataView; o, v, w output bytes, DataView, position; lim the position up to which the
 * record's fixed-size parts still fit; i the record; p, q the slice of the column at hand; s the run state.
 */
import { nullBranch } from '../avro/unionOrder.ts';
import { decimalScale, type Field, isDecimal, type Schema, type StructSchema } from '../data/index.ts';
import { columnSource } from './columnSource.ts';
import type { ColumnLayout, ColumnWire, Layout, RowFormat } from './layout.ts';
import { layoutError, RowFault } from './rowErrors.ts';
import { tupleKind } from './tupleKind.ts';
import { MAX_TEXT_BYTES } from './write.ts';

/** A part of a block: bytes of the structure, a constant, or a value of the batch; values are written as their schema says, union branch included. */
export type BlockPart =
  | { readonly part: 'byte'; readonly byte: number }
  | { readonly part: 'bytes'; readonly bytes: Buffer }
  | { readonly part: 'value'; readonly schema: Schema; readonly value: unknown }
  | { readonly part: 'batch'; readonly schema: Schema; readonly slot: number };

export type Decode = Extract<ColumnWire, { wire: 'function' }>['decode'];

/** Everything a generated function needs that is not in its source. */
export interface Program {
  readonly source: string;
  readonly blocks: readonly (readonly BlockPart[])[];
  readonly functions: readonly { readonly schema: Schema; readonly decode: Decode }[];
  readonly linears: readonly Extract<ColumnWire, { wire: 'int32be-linear' | 'int64be-linear' }>[];
  /** Upper bound of all bytes of a record that are not in blocks, slices or values of functions. */
  readonly fixedBytes: number;
  /** Columns of the widest row whose slices have to be remembered. */
  readonly scratchColumns: number;
  readonly slots: {
    readonly positions: ReadonlySet<number>;
    readonly longs: ReadonlySet<number>;
    readonly choices: ReadonlySet<number>;
  };
}

const kindTests = { text: 'k===116', binary: 'k===98', any: 'k===116||k===98' } as const;

/** V8 does not optimise functions beyond some 60 kB of bytecode: wide rows are split into functions of this many columns. */
const COLUMNS_PER_FUNCTION = 48;

export function generate(schema: Schema, layout: Layout, framing: Buffer, replaceNullWithDefault: boolean): Program {
  return new Generator(replaceNullWithDefault).program(schema, layout, framing);
}

class Generator {
  private readonly replaceNullWithDefault: boolean;
  private readonly blocks: BlockPart[][] = [];
  private readonly functions: Program['functions'][number][] = [];
  private readonly linears: Program['linears'][number][] = [];
  private readonly positions = new Set<number>();
  private readonly longs = new Set<number>();
  private readonly choices = new Set<number>();
  private readonly chunks: string[] = [];
  /** Row functions made, by columns and fields: `before` and `after` share them. */
  private readonly rowFunctions = new Map<readonly ColumnLayout[], Map<readonly Field[], string[]>>();
  private scratchColumns = 0;
  private pending: BlockPart[] = [];
  private lines: string[] = [];
  private fixedBytes = 16;

  constructor(replaceNullWithDefault: boolean) {
    this.replaceNullWithDefault = replaceNullWithDefault;
  }

  program(schema: Schema, layout: Layout, framing: Buffer): Program {
    this.pending.push({ part: 'bytes', bytes: framing });
    this.root(schema, layout);
    this.flush();
    const source = [
      "'use strict';",
      'const {putBlock,putSlice,writeLength,writeInt,writeLong,writeSafe,writeDigits,closeText,writeUnscaled,shortInteger,longInteger,floatText,shortDecimal,longDecimal,shortNumeric,longNumeric,putBig,hexLength,unhex,uuidText,fail,grow,call,linear,pair}=R;',
      ...this.chunks,
      'return function(s,i,out){',
      'const b=s.b,bv=s.bv,end=b.length,B=s.B,P=s.P,L=s.L,N=s.N,C=s.C;',
      'let o=out.bytes,w=out.position,v=s.viewOf(o),lim=o.length-s.fixed,p=0,q=0,n=0,k=0,t=0,x=0,y=0;',
      'if(w>lim){o=grow(s,out,w,0);v=s.v;lim=o.length-s.fixed;}',
      ...this.lines,
      'out.position=w;return true;',
      '}',
    ].join('\n');
    return {
      source,
      blocks: this.blocks,
      functions: this.functions,
      linears: this.linears,
      fixedBytes: this.fixedBytes,
      scratchColumns: this.scratchColumns,
      slots: { positions: this.positions, longs: this.longs, choices: this.choices },
    };
  }

  /** A null at the root is no bytes at all, not a null branch. */
  private root(schema: Schema, layout: Layout): void {
    switch (layout.kind) {
      case 'null':
        this.emit('return false;');
        return;
      case 'row':
        this.positions.add(layout.slot);
        this.emit(`p=P[${int(layout.slot)}][i];if(p===-1)return false;`);
        this.row(schema, layout);
        return;
      case 'long':
        this.longs.add(layout.slot);
        this.emit(`if(N[${int(layout.slot)}]!==null&&N[${int(layout.slot)}][i]===1)return false;`);
        this.node(schema, layout);
        return;
      case 'choice':
        this.choice(layout, inner => this.root(schema, inner));
        return;
      case 'constant':
        if (layout.value === null) this.emit('return false;');
        else this.node(schema, layout);
        return;
      case 'batch':
        throw layoutError('a value of the batch cannot be a whole record');
      case 'struct':
      case 'text':
        this.node(schema, layout);
        return;
    }
  }

  private node(schema: Schema, layout: Layout): void {
    switch (layout.kind) {
      case 'struct': {
        const fields = structOf(schema).fields;
        if (fields.length !== layout.fields.length)
          throw layoutError(
            `${schema.name ?? 'a struct'} has ${fields.length} fields, its layout ${layout.fields.length}`,
          );
        this.valueBranch(schema);
        fields.forEach((field, at) => {
          this.node(field.schema, layout.fields[at]);
        });
        return;
      }
      case 'null':
        this.nullValue(schema);
        return;
      case 'constant':
        if (layout.value === null) this.nullValue(schema);
        else this.pending.push({ part: 'value', schema, value: layout.value });
        return;
      case 'batch':
        this.pending.push({ part: 'batch', schema, slot: layout.slot });
        return;
      case 'long':
        this.long(schema, layout.slot);
        return;
      case 'text':
        this.text(schema, layout.parts);
        return;
      case 'choice':
        this.choice(layout, inner => this.node(schema, inner));
        return;
      case 'row':
        this.positions.add(layout.slot);
        this.emit(`p=P[${int(layout.slot)}][i];`);
        this.emit('if(p===-1){');
        this.nullOrFail(schema, RowFault.nullNotAllowed, -1);
        this.emit('}else{');
        this.row(schema, layout);
        this.emit('}');
        return;
    }
  }

  private choice(layout: Extract<Layout, { kind: 'choice' }>, branch: (inner: Layout) => void): void {
    this.choices.add(layout.slot);
    const before = this.pending;
    this.pending = [];
    this.emit(`switch(C[${int(layout.slot)}][i]){`);
    layout.of.forEach((inner, at) => {
      // what came before is written in each branch, so that it joins the branch's own constants
      this.pending = [...before];
      this.emitRaw(`case ${int(at)}:{`);
      branch(inner);
      this.emit('break;}');
    });
    this.emitRaw(`default:fail(${RowFault.badChoice},-1,i);}`);
  }

  private long(schema: Schema, slot: number): void {
    this.longs.add(slot);
    const at = int(slot);
    const canBeNull = schema.optional || hasDefault(schema);
    this.emit(`if(N[${at}]!==null&&N[${at}][i]===1){`);
    if (canBeNull) this.nullOrFail(schema, RowFault.longNotAllowed, -1);
    else this.emit(`fail(${RowFault.longNotAllowed},-1,i);`);
    this.emit('}else{');
    this.valueBranch(schema);
    this.fixedBytes += 10;
    switch (schema.type) {
      case 'INT64':
        this.emit(`w=writeLong(o,w,L[${at}][i*2],L[${at}][i*2+1]);`);
        break;
      case 'INT32':
      case 'INT16':
      case 'INT8': {
        const shift = { INT32: 0, INT16: 16, INT8: 24 }[schema.type];
        this.emit(
          `x=L[${at}][i*2];if(L[${at}][i*2+1]!==x>>31||x!==x<<${shift}>>${shift})fail(${RowFault.longNotAllowed},-1,i);w=writeInt(o,w,x);`,
        );
        break;
      }
      default:
        throw layoutError(`an integer of the record cannot be a ${schema.type}`);
    }
    this.emit('}');
  }

  private text(schema: Schema, parts: Extract<Layout, { kind: 'text' }>['parts']): void {
    if (schema.type !== 'STRING') throw layoutError(`a text cannot be a ${schema.type}`);
    let size = 5;
    this.valueBranch(schema);
    this.emit('t=w++;');
    for (const part of parts) {
      if (typeof part === 'string') {
        size += Buffer.byteLength(part);
        this.pending.push({ part: 'bytes', bytes: Buffer.from(part) });
      } else {
        size += 20;
        this.longs.add(part.slot);
        const at = int(part.slot);
        this.emit(`w=writeDigits(o,w,L[${at}][i*2],L[${at}][i*2+1]);`);
      }
    }
    if (size > MAX_TEXT_BYTES) throw layoutError('a text is longer than it may be');
    this.fixedBytes += size;
    this.emit('w=closeText(o,t,w);');
  }

  /** The columns of a row that starts at p. */
  private row(schema: Schema, layout: Extract<Layout, { kind: 'row' }>): void {
    const { columns, format } = layout;
    const fields = structOf(schema).fields;
    const columnOf = new Map<number, number>();
    columns.forEach((column, at) => {
      if (column.field === -1) return;
      if (columnOf.has(column.field)) throw layoutError(`two columns fill field ${column.field}`);
      columnOf.set(column.field, at);
    });
    const order = fields.map((field, at) => {
      const column = columnOf.get(at);
      if (column === undefined) throw layoutError(`no column fills field "${field.name}"`);
      return column;
    });
    if (columnOf.size !== fields.length) throw layoutError('a column fills a field that the schema does not have');

    this.valueBranch(schema);
    this.emit(
      `if(p<0||p+2>end)fail(${RowFault.truncated},-1,i);if(bv.getInt16(p)!==${int(columns.length)})fail(${RowFault.columnCount},-1,i);p+=2;`,
    );
    const inOrder = order.every((column, at) => at === 0 || order[at - 1] < column);
    const known = this.rowFunctions.get(columns)?.get(fields);
    const names =
      known ?? (inOrder ? this.readFunctions : this.findFunctions).call(this, format, columns, fields, order);
    if (known === undefined) {
      this.rowFunctions.set(columns, (this.rowFunctions.get(columns) ?? new Map()).set(fields, names));
    }
    this.emit('out.position=w;');
    for (const name of names) this.emit(`p=${name}(s,i,out,p);`);
    this.emit('w=out.position;o=out.bytes;v=s.v;lim=o.length-s.fixed;');
  }

  /** Columns in the order of their fields: each is written as it is found. Those behind the last one wanted are not looked at. */
  private readFunctions(
    format: RowFormat,
    columns: readonly ColumnLayout[],
    fields: readonly Field[],
    order: number[],
  ): string[] {
    return this.chunked(columns.slice(0, Math.max(-1, ...order) + 1), (column, at) => {
      this.column(format, column, at, column.field === -1 ? null : fields[column.field].schema, 'read');
    });
  }

  private findFunctions(
    format: RowFormat,
    columns: readonly ColumnLayout[],
    fields: readonly Field[],
    order: number[],
  ): string[] {
    this.scratchColumns = Math.max(this.scratchColumns, columns.length);
    const find = this.chunked(columns.slice(0, Math.max(...order) + 1), (column, at) => {
      this.column(format, column, at, null, 'find');
    });
    const write = this.chunked(order, (columnAt, at) => {
      this.column(format, columns[columnAt], columnAt, fields[at].schema, 'found');
    });
    return [...find, ...write];
  }

  /** Functions that do `emit` for a number of items each; returns their names. */
  private chunked<T>(items: readonly T[], emit: (item: T, at: number) => void): string[] {
    const names: string[] = [];
    for (let start = 0; start < items.length; start += COLUMNS_PER_FUNCTION) {
      this.flush();
      const outer = this.lines;
      this.lines = [];
      items.slice(start, start + COLUMNS_PER_FUNCTION).forEach((item, at) => {
        emit(item, start + at);
      });
      this.flush();
      const name = `c${int(this.chunks.length)}`;
      this.chunks.push(
        [
          `function ${name}(s,i,out,p){`,
          'const b=s.b,bv=s.bv,end=b.length,B=s.B;',
          'let o=out.bytes,w=out.position,v=s.v,lim=o.length-s.fixed,q=0,n=0,k=0,x=0,y=0;',
          ...this.lines,
          'out.position=w;return p;}',
        ].join('\n'),
      );
      this.lines = outer;
      names.push(name);
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
      this.emit(`p=s.S[${int(at * 2)}];n=s.S[${int(at * 2 + 1)}];if(n>=0){q=p+n;`);
    } else if (format === 'pg-tuple') {
      const kinds = kindTests[column.field === -1 ? 'any' : tupleKind(wire)];
      this.flush();
      this.emitRaw(
        `k=b[p];if(${kinds}){if(p+5>end)fail(${RowFault.truncated},${int(at)},i);n=bv.getInt32(p+1);p+=5;q=p+n;if(n<0||q>end)fail(${RowFault.truncated},${int(at)},i);`,
      );
    } else {
      this.flush();
      this.emitRaw(
        `if(p+4>end)fail(${RowFault.truncated},${int(at)},i);n=bv.getInt32(p);p+=4;if(n!==-1){q=p+n;if(n<0||q>end)fail(${RowFault.truncated},${int(at)},i);`,
      );
    }
    if (remember) this.emitRaw(`s.S[${int(at * 2)}]=p;s.S[${int(at * 2 + 1)}]=n;`);
    if (schema !== null && mode !== 'find') {
      // a function may give null: its value is written with its branch
      if (wire.wire !== 'function') this.valueBranch(schema);
      this.flush();
      this.value(schema, wire, at);
    }
    if (mode !== 'found') this.emitRaw('p=q;');

    const onNull = (): void => {
      if (remember) this.emitRaw(`s.S[${int(at * 2 + 1)}]=-1;`);
      else if (schema !== null) this.columnNull(schema, column, at);
      this.flush();
    };
    const onUnchanged = (): void => {
      if (remember) this.emitRaw(`s.S[${int(at * 2 + 1)}]=-2;`);
      else if (schema !== null) this.substitute(schema, column.unchanged, RowFault.unchangedNotAllowed, at);
      this.flush();
    };
    if (mode === 'found') {
      this.emitRaw('}else if(n===-1){');
      onNull();
      this.emitRaw('}else{');
      onUnchanged();
      this.emitRaw('}');
    } else if (format === 'pg-tuple') {
      this.emitRaw('}else if(k===110){p++;');
      onNull();
      this.emitRaw('}else if(k===117){p++;');
      onUnchanged();
      this.emitRaw(`}else fail(p<end?${RowFault.columnKind}:${RowFault.truncated},${int(at)},i);`);
    } else {
      this.emitRaw('}else{');
      onNull();
      this.emitRaw('}');
    }
  }

  private value(schema: Schema, wire: ColumnWire, at: number): void {
    if (wire.wire === 'function') {
      this.functions.push({ schema, decode: wire.decode });
      this.emitRaw(
        `o=call(s,${int(this.functions.length - 1)},out,w,p,q,${int(at)},i);v=s.v;w=out.position;lim=o.length-s.fixed;`,
      );
      return;
    }
    let linear = -1;
    if (wire.wire === 'int32be-linear' || wire.wire === 'int64be-linear') {
      linear = this.linears.push(wire) - 1;
    }
    const column = columnSource(wire, schema.type, isDecimal(schema) ? decimalScale(schema) : null, at, linear);
    if (column === null) throw layoutError(`a column of wire form ${wire.wire} cannot fill a ${schema.type}`);
    this.fixedBytes += column.fixedBytes;
    this.emitRaw(column.source);
  }

  private columnNull(schema: Schema, column: ColumnLayout, at: number): void {
    if (!schema.optional && column.nullValue !== undefined) {
      this.pending.push({ part: 'value', schema, value: column.nullValue });
    } else {
      this.nullOrFail(schema, RowFault.nullNotAllowed, at);
    }
  }

  private substitute(schema: Schema, value: unknown, fault: RowFault, at: number): void {
    if (value === undefined) this.emit(`fail(${fault},${int(at)},i);`);
    else if (value === null) this.nullOrFail(schema, fault, at);
    else this.pending.push({ part: 'value', schema, value });
  }

  /** The bytes of null: the default where that stands for it, else the null branch; a failure where the schema allows neither. */
  private nullOrFail(schema: Schema, fault: RowFault, at: number): void {
    if (schema.optional || hasDefault(schema)) this.nullValue(schema);
    else this.emit(`fail(${fault},${int(at)},i);`);
  }

  private nullValue(schema: Schema): void {
    if (hasDefault(schema) && (this.replaceNullWithDefault || !schema.optional)) {
      this.pending.push({ part: 'value', schema, value: schema.defaultValue });
    } else if (schema.optional) {
      this.pending.push({ part: 'byte', byte: nullBranch(schema) * 2 });
    } else {
      throw layoutError(`${schema.name ?? schema.type} cannot be null`);
    }
  }

  private valueBranch(schema: Schema): void {
    if (schema.optional) this.pending.push({ part: 'byte', byte: (1 - nullBranch(schema)) * 2 });
  }

  private emit(line: string): void {
    this.flush();
    this.lines.push(line);
  }

  private emitRaw(line: string): void {
    this.lines.push(line);
  }

  /** Writes what is pending: a few bytes of structure as numbers, anything else as one block. */
  private flush(): void {
    const pending = this.pending;
    if (pending.length === 0) return;
    this.pending = [];
    if (pending.length <= 4 && pending.every(part => part.part === 'byte')) {
      this.fixedBytes += pending.length;
      this.lines.push(pending.map(part => `o[w++]=${int((part as { byte: number }).byte)};`).join(''));
    } else {
      this.blocks.push(pending);
      this.lines.push(`w=putBlock(o,v,w,B[${int(this.blocks.length - 1)}]);`);
    }
  }
}

const hasDefault = (schema: Schema): boolean => (schema.defaultValue ?? null) !== null;

function structOf(schema: Schema): StructSchema {
  if (schema.type !== 'STRUCT') throw layoutError(`a struct's layout stands for a ${schema.type}`);
  return schema;
}

/** Only whole numbers reach generated source. */
function int(value: number): string {
  if (!Number.isSafeInteger(value)) throw layoutError(`${value} is not a whole number`);
  return String(value);
}
