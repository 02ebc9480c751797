/**
 * Turns (schema, layout) into the source of one function that writes a record's Avro bytes, and the list of what that function is given besides:
 * blocks of constant bytes and column functions. Source holds numbers and fixed text only, so that equal shapes give equal source and share
 * machine code; every name and value of a schema is in the lists.
 *
 * Inside the source: b, bv wire bytes and their DataView; o, v, w output bytes, DataView, position; lim the position up to which the
 * record's fixed-size parts still fit; i the record; p, q the slice of the column at hand; s the run state; W, E see rowPair.ts. Neighbouring fields that are the same for a
 * group of records are a stretch: written aside by a function of their own when a group begins, and copied from there into each of its records.
 */
import type { Schema } from '../data/index.ts';
import type { Layout, LongSlot } from './layout.ts';
import type { Program } from './program.ts';
import { type RowLayout, structOf } from './rowColumns.ts';
import { layoutError, RowFault } from './rowErrors.ts';
import { rowPair } from './rowPair.ts';
import { RowSource } from './rowSource.ts';
import { hasDefault, int, SourceWriter } from './sourceWriter.ts';
import { MAX_TEXT_BYTES } from './write.ts';

export function generate(schema: Schema, layout: Layout, framing: Buffer, replaceNullWithDefault: boolean): Program {
  return new Generator(replaceNullWithDefault).generate(schema, layout, framing);
}

class Generator {
  private readonly writer: SourceWriter;
  private readonly rows: RowSource;
  private readonly positions = new Set<number>();
  private readonly longs = new Set<number>();
  private readonly groupLongs = new Set<number>();
  private readonly choices = new Set<number>();
  private readonly stretches: string[] = [];
  private isInStretch = false;

  constructor(replaceNullWithDefault: boolean) {
    this.writer = new SourceWriter(replaceNullWithDefault);
    this.rows = new RowSource(this.writer);
  }

  generate(schema: Schema, layout: Layout, framing: Buffer): Program {
    this.writer.pending.push({ part: 'bytes', bytes: framing });
    this.root(schema, layout);
    this.writer.flush();
    const source = [
      "'use strict';",
      'const {putBlock,putSlice,putAgain,sameBytes,writeLength,writeInt,writeLong,writeSafe,writeDigits,closeText,writeUnscaled,shortInteger,longInteger,floatText,shortDecimal,longDecimal,notFiniteText,notFiniteNumeric,shortNumeric,longNumeric,putBig,hexLength,textLength,unhex,uuidText,writeMicros,writeTimestamp,packedDate,packedMoment,packedDuration,longPacked,putPadded,fail,grow,call,linear,pair,beginStretch,endStretch,putStretch}=R;',
      ...this.writer.chunks,
      ...this.stretches.map((lines, at) => stretchSource(lines, at)),
      'return function(s,i,out){',
      ...(this.stretches.length === 0 ? [] : [groupSource(this.stretches.length)]),
      'const b=s.b,bv=s.bv,end=b.length,B=s.B,P=s.P,L=s.L,N=s.N,C=s.C,G=s.G;',
      'let o=out.bytes,w=out.position,v=s.viewOf(o),lim=o.length-s.fixed,p=0,q=0,n=0,k=0,t=0,m=0,mb=0,x=0,y=0,z=null;',
      'if(w>lim){o=grow(s,out,w,0);v=s.v;lim=o.length-s.fixed;}',
      ...this.writer.lines,
      'out.position=w;return true;',
      '}',
    ].join('\n');
    return {
      source,
      blocks: this.writer.blocks,
      functions: this.writer.functions,
      linears: this.writer.linears,
      names: this.writer.names,
      fixedBytes: this.writer.fixedBytes,
      scratchColumns: this.writer.scratchColumns,
      notedColumns: this.writer.notedColumns,
      stretches: this.stretches.length,
      slots: { positions: this.positions, longs: this.longs, groupLongs: this.groupLongs, choices: this.choices },
    };
  }

  /** A null at the root is no bytes at all, not a null branch. */
  private root(schema: Schema, layout: Layout): void {
    switch (layout.kind) {
      case 'null':
        this.writer.emit('return false;');
        return;
      case 'row':
        this.positions.add(layout.slot);
        this.writer.emit(`p=P[${int(layout.slot)}][i];if(p===-1)return false;`);
        this.rows.write(schema, layout);
        return;
      case 'long':
        if (!layout.isGrouped) {
          this.longs.add(layout.slot);
          this.writer.emit(`if(N[${int(layout.slot)}]!==null&&N[${int(layout.slot)}][i]===1)return false;`);
        }
        this.node(schema, layout);
        return;
      case 'choice':
        this.choice(layout, inner => this.root(schema, inner));
        return;
      case 'constant':
        if (layout.value === null) this.writer.emit('return false;');
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
        this.writer.valueBranch(schema);
        for (let at = 0; at < fields.length; ) {
          const pair = rowPair(fields, layout.fields, at);
          if (pair !== null) {
            this.rows.pair(fields[at].schema, ...pair, (row, write) => this.row(fields[at].schema, row, write));
            at += 2;
            continue;
          }
          const end = this.isInStretch ? at : stretchEnd(layout.fields, at);
          if (end === at) {
            this.node(fields[at].schema, layout.fields[at++]);
            continue;
          }
          this.stretch(() => {
            for (; at < end; at++) this.node(fields[at].schema, layout.fields[at]);
          });
        }
        return;
      }
      case 'null':
        this.writer.nullValue(schema);
        return;
      case 'constant':
        if (layout.value === null) this.writer.nullValue(schema);
        else this.writer.pending.push({ part: 'value', schema, value: layout.value });
        return;
      case 'batch':
        this.writer.pending.push({ part: 'batch', schema, slot: layout.slot });
        return;
      case 'long':
        this.long(schema, layout);
        return;
      case 'text':
        this.text(schema, layout.parts);
        return;
      case 'choice':
        this.choice(layout, inner => this.node(schema, inner));
        return;
      case 'row':
        this.row(schema, layout, () => this.rows.write(schema, layout));
        return;
    }
  }

  private row(schema: Schema, layout: RowLayout, write: () => void): void {
    this.positions.add(layout.slot);
    this.writer.emit(`p=P[${int(layout.slot)}][i];`);
    this.writer.emit('if(p===-1){');
    this.writer.nullOrFail(schema, RowFault.nullNotAllowed, -1);
    this.writer.emit('}else{');
    write();
    this.writer.emit('}');
  }

  private choice(layout: Extract<Layout, { kind: 'choice' }>, branch: (inner: Layout) => void): void {
    this.choices.add(layout.slot);
    const before = this.writer.pending;
    this.writer.pending = [];
    this.writer.emit(`switch(C[${int(layout.slot)}][i]){`);
    layout.of.forEach((inner, at) => {
      // what came before is written in each branch, so that it joins the branch's own constants
      this.writer.pending = [...before];
      this.writer.emitRaw(`case ${int(at)}:{`);
      branch(inner);
      this.writer.emit('break;}');
    });
    this.writer.emitRaw(`default:fail(${RowFault.badChoice},-1,i);}`);
  }

  /** What waits to be written before it becomes part of it. */
  private stretch(emit: () => void): void {
    const outer = this.writer.lines;
    this.writer.lines = [];
    this.isInStretch = true;
    emit();
    this.writer.flush();
    this.isInStretch = false;
    const at = this.stretches.push(this.writer.lines.join('\n')) - 1;
    this.writer.lines = outer;
    this.writer.emitRaw(`w=putStretch(s,o,v,w,${int(at)});`);
  }

  /** The two halves of an integer. */
  private halves({ slot, isGrouped }: LongSlot): readonly [low: string, high: string] {
    (isGrouped ? this.groupLongs : this.longs).add(slot);
    const at = isGrouped && !this.isInStretch ? 'G[i]' : 'i';
    return [`L[${int(slot)}][${at}*2]`, `L[${int(slot)}][${at}*2+1]`];
  }

  private long(schema: Schema, long: LongSlot): void {
    const [low, high] = this.halves(long);
    if (!long.isGrouped) {
      const at = int(long.slot);
      this.writer.emit(`if(N[${at}]!==null&&N[${at}][i]===1){`);
      if (schema.optional || hasDefault(schema)) this.writer.nullOrFail(schema, RowFault.longNotAllowed, -1);
      else this.writer.emit(`fail(${RowFault.longNotAllowed},-1,i);`);
      this.writer.emit('}else{');
    }
    this.writer.valueBranch(schema);
    this.writer.fixedBytes += 10;
    switch (schema.type) {
      case 'INT64':
        this.writer.emit(`w=writeLong(o,w,${low},${high});`);
        break;
      case 'INT32':
      case 'INT16':
      case 'INT8': {
        const shift = { INT32: 0, INT16: 16, INT8: 24 }[schema.type];
        this.writer.emit(
          `x=${low};if(${high}!==x>>31||x!==x<<${shift}>>${shift})fail(${RowFault.longNotAllowed},-1,i);w=writeInt(o,w,x);`,
        );
        break;
      }
      default:
        throw layoutError(`an integer of the record cannot be a ${schema.type}`);
    }
    if (!long.isGrouped) this.writer.emit('}');
  }

  private text(schema: Schema, parts: Extract<Layout, { kind: 'text' }>['parts']): void {
    if (schema.type !== 'STRING') throw layoutError(`a text cannot be a ${schema.type}`);
    let size = 5;
    this.writer.valueBranch(schema);
    this.writer.emit('t=w++;');
    for (const part of parts) {
      if (typeof part === 'string') {
        size += Buffer.byteLength(part);
        this.writer.pending.push({ part: 'bytes', bytes: Buffer.from(part) });
      } else {
        size += 20;
        const [low, high] = this.halves(part);
        this.writer.emit(`w=writeDigits(o,w,${low},${high});`);
      }
    }
    if (size > MAX_TEXT_BYTES) throw layoutError('a text is longer than it may be');
    this.writer.fixedBytes += size;
    this.writer.emit('w=closeText(o,t,w);');
  }
}

/** What the records of a group share in all they have. */
function isShared(layout: Layout): boolean {
  switch (layout.kind) {
    case 'null':
    case 'constant':
    case 'batch':
      return true;
    case 'long':
      return layout.isGrouped === true;
    case 'text':
      return layout.parts.every(part => typeof part === 'string' || part.isGrouped);
    case 'struct':
      return layout.fields.every(isShared);
    case 'choice':
    case 'row':
      return false;
  }
}

function isGrouped(layout: Layout): boolean {
  switch (layout.kind) {
    case 'long':
      return layout.isGrouped === true;
    case 'text':
      return layout.parts.some(part => typeof part !== 'string' && part.isGrouped);
    case 'struct':
      return layout.fields.some(isGrouped);
    default:
      return false;
  }
}

/** Behind the shared fields from `start` on; `start` where none of them has anything of a group. */
function stretchEnd(fields: readonly Layout[], start: number): number {
  let end = start;
  while (end < fields.length && isShared(fields[end])) end++;
  return fields.slice(start, end).some(isGrouped) ? end : start;
}

/** A function that writes stretch `at` of group i. */
const stretchSource = (lines: string, at: number): string =>
  [
    `function g${int(at)}(s,i){`,
    'const out=beginStretch(s),B=s.B,L=s.L,o=out.bytes,v=s.sv;',
    'let w=out.position,t=0,x=0;',
    lines,
    `endStretch(s,${int(at)},w);}`,
  ].join('\n');

/** Where a group begins, all of its stretches are written. */
const groupSource = (count: number): string => {
  const calls = Array.from({ length: count }, (_, at) => `g${int(at)}(s,s.g);`).join('');
  return `if(s.G[i]!==s.g){s.g=s.G[i];s.shared.position=0;${calls}}`;
};
