/**
 * The text of a generated function in the making, and the lists of what it refers to. Bytes that are the same in all records, or in all of a batch,
 * wait in `pending` until something else has to be written, so that neighbours become one block to copy.
 */
import { nullBranch } from '../avro/unionOrder.ts';
import type { Schema } from '../data/index.ts';
import type { BlockPart, Program } from './program.ts';
import { layoutError, type RowFault } from './rowErrors.ts';

export class SourceWriter {
  readonly blocks: BlockPart[][] = [];
  readonly functions: Program['functions'][number][] = [];
  readonly linears: Program['linears'][number][] = [];
  readonly names: (readonly string[])[] = [];
  /** Functions made, as text. */
  readonly chunks: string[] = [];
  scratchColumns = 0;
  /** Columns of the widest row whose ends are noted. */
  notedColumns = 0;
  pending: BlockPart[] = [];
  lines: string[] = [];
  fixedBytes = 16;
  private readonly replaceNullWithDefault: boolean;

  constructor(replaceNullWithDefault: boolean) {
    this.replaceNullWithDefault = replaceNullWithDefault;
  }

  /** The bytes of null: the default where that stands for it, else the null branch; a failure where the schema allows neither. */
  nullOrFail(schema: Schema, fault: RowFault, at: number): void {
    if (schema.optional || hasDefault(schema)) this.nullValue(schema);
    else this.emit(`fail(${fault},${int(at)},i);`);
  }

  nullValue(schema: Schema): void {
    if (hasDefault(schema) && (this.replaceNullWithDefault || !schema.optional)) {
      this.pending.push({ part: 'value', schema, value: schema.defaultValue });
    } else if (schema.optional) {
      this.pending.push({ part: 'byte', byte: nullBranch(schema) * 2 });
    } else {
      throw layoutError(`${schema.name ?? schema.type} cannot be null`);
    }
  }

  valueBranch(schema: Schema): void {
    if (schema.optional) this.pending.push({ part: 'byte', byte: (1 - nullBranch(schema)) * 2 });
  }

  emit(line: string): void {
    this.flush();
    this.lines.push(line);
  }

  emitRaw(line: string): void {
    this.lines.push(line);
  }

  /** Writes what is pending: a few bytes of structure as numbers, anything else as one block. */
  flush(): void {
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

  /** `source` of a function with the place for its name; returns that. */
  addChunk(source: (name: string) => string): string {
    const name = `c${int(this.chunks.length)}`;
    this.chunks.push(source(name));
    return name;
  }

  /** Moves what `emit` writes into a function of its own; returns its name. It is called with s, i, out, p, and c where that is asked for, and gives the new p. */
  separate(emit: () => void): string {
    this.flush();
    const outer = this.lines;
    this.lines = [];
    emit();
    this.flush();
    const body = this.lines;
    this.lines = outer;
    return this.addChunk(name =>
      [
        `function ${name}(s,i,out,p,c){`,
        'const b=s.b,bv=s.bv,end=b.length,B=s.B,m=s.m,W=s.W,E=s.E;',
        'let o=out.bytes,w=out.position,v=s.v,lim=o.length-s.fixed,q=0,n=0,k=0,x=0,y=0,z=null;',
        ...body,
        'out.position=w;return p;}',
      ].join('\n'),
    );
  }
}

export const hasDefault = (schema: Schema): boolean => (schema.defaultValue ?? null) !== null;

/** Only whole numbers reach generated source. */
export function int(value: number): string {
  if (!Number.isSafeInteger(value)) throw layoutError(`${value} is not a whole number`);
  return String(value);
}
