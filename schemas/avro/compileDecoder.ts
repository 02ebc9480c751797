/**
 * Compiles an Avro writer schema into a reader of Connect values, and, for a list of field paths, into a reader that fills columns and steps
 * over all other fields without building values. Generated source holds numbers and fixed text only.
 *
 * Inside the source: s the read state; b, p, e its buffer, position and end; functions take s and leave the new position there.
 */
import { Decimal, decimalScale, isDecimal, type Schema, Struct, type StructSchema } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import type { AvroRecord, AvroType, AvroUnion } from './avroSchema.ts';
import {
  type ReadState,
  readBlock,
  readBytes,
  readDouble,
  readFloat,
  readInt,
  readLength,
  readLong,
  readString,
  smallLongs,
} from './binary.ts';
import { mapEntry, valueBranch } from './toConnect.ts';

/** Reads the value at s.p; the caller checks that s.p ends at s.e. */
export type ReadValue = (s: ReadState) => unknown;
/** Reads records [starts[i], ends[i]) behind `skip` bytes of framing into columns; starts[i] = -1 leaves nulls. */
export type ReadColumns = (
  s: ReadState,
  skip: number,
  starts: Int32Array,
  ends: Int32Array,
  count: number,
  columns: unknown[][],
) => void;

export function compileReader(type: AvroType, schema: Schema): ReadValue {
  return new DecoderCompiler().reader(type, schema);
}

export function compileColumnReader(
  type: AvroType,
  schema: Schema,
  paths: readonly (readonly string[])[],
): ReadColumns {
  return new DecoderCompiler().columnReader(type, schema, paths);
}

/** What is wanted of a value: the columns that take it whole, and what is wanted of its fields. */
interface Wanted {
  readonly columns: number[];
  readonly fields: Map<number, Wanted>;
}

class DecoderCompiler {
  readonly #constants: unknown[] = [];
  readonly #functions: string[] = [];
  readonly #readers = new Map<AvroType, Map<readonly unknown[], number>>();
  readonly #skippers = new Map<AvroType, number>();
  #variables = 0;

  reader(type: AvroType, schema: Schema): ReadValue {
    const body = this.#read('v', type, schema);
    return this.#build(`return function(s){const b=s.b,e=s.e;let p=s.p,n=0,v;${body}s.p=p;return v;}`) as ReadValue;
  }

  columnReader(type: AvroType, schema: Schema, paths: readonly (readonly string[])[]): ReadColumns {
    const wanted: Wanted = { columns: [], fields: new Map() };
    paths.forEach((path, column) => {
      let at = wanted;
      let of: Schema = schema;
      for (const name of path) {
        const field = of.type === 'STRUCT' ? of.fieldIndex.get(name) : undefined;
        if (of.type !== 'STRUCT' || field === undefined)
          throw new ConnectError(
            'CONVERTER_FAILED',
            `the schema ${schema.name ?? schema.type} has no field ${path.join('.')}`,
          );
        of = of.fields[field].schema;
        if (!at.fields.has(field)) at.fields.set(field, { columns: [], fields: new Map() });
        at = at.fields.get(field)!;
      }
      at.columns.push(column);
    });
    const body = this.#project(type, schema, wanted, true);
    return this.#build(
      'return function(s,skip,starts,ends,count,C){const b=s.b;let n=0;for(let i=0;i<count;i++){if(starts[i]<0)continue;' +
        `let p=starts[i]+skip;const e=ends[i];s.e=e;s.index=i;s.start=starts[i];\n${body}\nif(p>e)s.fail('the end of the bytes',e);}}`,
    ) as ReadColumns;
  }

  #build(main: string): unknown {
    const source = `'use strict';const {${Object.keys(runtime).join(',')}}=T;\n${this.#functions.join('\n')}\n${main}`;
    return new Function('T', 'K', source)(runtime, this.#constants);
  }

  #constant(value: unknown): string {
    this.#constants.push(value);
    return `K[${this.#constants.length - 1}]`;
  }

  #variable(): string {
    return `x${this.#variables++}`;
  }

  /** Source that reads a value of `type` into the declared variable `x`. */
  #read(x: string, type: AvroType, schema: Schema): string {
    switch (type.type) {
      case 'null':
        return `${x}=null;`;
      case 'boolean':
        return `n=b[p++];if(n>1)s.fail('a boolean',p-1);${x}=n===1;`;
      case 'int':
        return `n=b[p++];if(n<128)${x}=(n>>>1)^-(n&1);else{s.p=p-1;${x}=readInt(s);p=s.p;}`;
      case 'long':
        return `n=b[p++];if(n<128)${x}=smallLongs[n];else{s.p=p-1;${x}=readLong(s);p=s.p;}`;
      case 'float':
        return `s.p=p;${x}=readFloat(s);p=s.p;`;
      case 'double':
        return `s.p=p;${x}=readDouble(s);p=s.p;`;
      case 'string':
        return `s.p=p;${x}=readString(s);p=s.p;`;
      case 'bytes':
        return `s.p=p;${x}=${this.#decimal('readBytes(s)', schema)};p=s.p;`;
      case 'fixed': {
        const bytes = `Buffer.from(b.subarray(p,p+${type.size}))`;
        return `if(e-p<${type.size})s.fail('a fixed',p);${x}=${this.#decimal(bytes, schema)};p+=${type.size};`;
      }
      case 'enum': {
        const symbols = this.#constant(type.symbols);
        return `s.p=p;n=readInt(s);if(n<0||n>=${type.symbols.length})s.fail('an enum index',p);${x}=${symbols}[n];p=s.p;`;
      }
      case 'array': {
        const entry = mapEntry(type);
        if (schema.type === 'MAP' && entry) {
          const [k, y] = [this.#variable(), this.#variable()];
          const key = this.#read(k, entry.fields[0].type, schema.keySchema);
          const value = this.#read(y, entry.fields[1].type, schema.valueSchema);
          const item = `let ${k},${y};${key}${value}${x}.set(${k},${y});`;
          return `${x}=new Map();${this.#blocks(item, leastBytes(type.items))}`;
        }
        if (schema.type !== 'ARRAY') throw mismatch(type, schema);
        const y = this.#variable();
        const item = `let ${y};${this.#read(y, type.items, schema.valueSchema)}${x}.push(${y});`;
        return `${x}=[];${this.#blocks(item, leastBytes(type.items))}`;
      }
      case 'map': {
        if (schema.type !== 'MAP') throw mismatch(type, schema);
        const [k, y] = [this.#variable(), this.#variable()];
        const value = this.#read(y, type.values, schema.valueSchema);
        const item = `s.p=p;const ${k}=readString(s);p=s.p;let ${y};${value}${x}.set(${k},${y});`;
        return `${x}=new Map();${this.#blocks(item, 1 + leastBytes(type.values))}`;
      }
      case 'record':
        if (schema.type !== 'STRUCT') throw mismatch(type, schema);
        return `s.p=p;${x}=r${this.#record(type, schema)}(s);p=s.p;`;
      case 'union':
        return this.#union(type, (branch, index) => this.#readBranch(x, type, schema, branch, index));
    }
  }

  #readBranch(x: string, type: AvroUnion, schema: Schema, branch: AvroType, index: number): string {
    if (branch.type === 'null') return `${x}=null;`;
    if (valueBranch(type).type !== 'union') return this.#read(x, branch, schema);
    if (schema.type !== 'STRUCT') throw mismatch(type, schema);
    const member = type.branches.slice(0, index).filter(b => b.type !== 'null').length;
    const y = this.#variable();
    const values = schema.fields.map((_, at) => (at === member ? y : 'null')).join(',');
    return `let ${y};${this.#read(y, branch, schema.fields[member].schema)}${x}=new Struct(${this.#constant(schema)},[${values}]);`;
  }

  /** Source of a choice among branches. */
  #union(type: AvroUnion, branch: (type: AvroType, index: number) => string): string {
    const codes = type.branches.map(branch);
    const fail = "else s.fail('a union branch',p-1);";
    const chain = codes.map((code, index) => `if(n===${index * 2}){${code}}else `).join('');
    if (type.branches.length <= 63) return `n=b[p++];${chain.slice(0, -5)}${fail}`;
    throw new ConnectError('CONVERTER_FAILED', 'Avro schema: a union of more than 63 branches');
  }

  #decimal(bytes: string, schema: Schema): string {
    return isDecimal(schema) ? `Decimal.fromBytes(${bytes},${Math.trunc(decimalScale(schema))})` : bytes;
  }

  /** Source of the loop over the items of an array or map; `item` reads one. */
  #blocks(item: string, least: number): string {
    const i = this.#variable();
    return (
      `for(;;){s.p=p;let ${i}=readBlock(s,${least});p=s.p;if(${i}===0)break;` +
      `for(;${i}>0;${i}--){${item}if(p>e)s.fail('the end of the bytes',e);}}`
    );
  }

  #record(type: AvroRecord, schema: StructSchema): number {
    let byFields = this.#readers.get(type);
    if (!byFields) this.#readers.set(type, (byFields = new Map()));
    const known = byFields.get(schema.fields);
    if (known !== undefined) return known;
    const names = type.fields.map(() => this.#variable());
    const reads = type.fields.map((f, at) => this.#read(names[at], f.type, schema.fields[at].schema)).join('\n');
    const declare = names.length > 0 ? `,${names.join(',')}` : '';
    const number = this.#functions.length;
    this.#functions.push(
      `function r${number}(s){const b=s.b,e=s.e;let p=s.p,n=0${declare};\n${reads}\n` +
        `if(p>e)s.fail('the end of the bytes',e);s.p=p;return new Struct(${this.#constant(schema)},[${names.join(',')}]);}`,
    );
    byFields.set(schema.fields, number);
    return number;
  }

  /** Source that steps over a value. */
  #skip(type: AvroType): string {
    switch (type.type) {
      case 'null':
        return '';
      case 'boolean':
        return 'p++;';
      case 'int':
      case 'long':
      case 'enum':
        return 'while(b[p++]>127);';
      case 'float':
        return 'p+=4;';
      case 'double':
        return 'p+=8;';
      case 'fixed':
        return `p+=${type.size};`;
      case 'string':
      case 'bytes':
        return 'n=b[p];if((n&129)===0)p+=1+(n>>1);else{s.p=p;n=readLength(s);p=s.p+n;}';
      case 'array':
        return this.#blocks(this.#skip(type.items), leastBytes(type.items));
      case 'map':
        return this.#blocks(`s.p=p;n=readLength(s);p=s.p+n;${this.#skip(type.values)}`, 1 + leastBytes(type.values));
      case 'record':
        return `s.p=p;k${this.#skipper(type)}(s);p=s.p;`;
      case 'union':
        return this.#union(type, branch => this.#skip(branch));
    }
  }

  #skipper(type: AvroRecord): number {
    const known = this.#skippers.get(type);
    if (known !== undefined) return known;
    const skips = type.fields.map(f => this.#skip(f.type)).join('\n');
    const number = this.#functions.length;
    this.#functions.push(
      `function k${number}(s){const b=s.b,e=s.e;let p=s.p,n=0;\n${skips}\nif(p>e)s.fail('the end of the bytes',e);s.p=p;}`,
    );
    this.#skippers.set(type, number);
    return number;
  }

  /** Source that reads what is wanted into the columns. `last`: nothing after it is read, so that the rest need not be stepped over. */
  #project(type: AvroType, schema: Schema, wanted: Wanted, last: boolean): string {
    if (wanted.columns.length > 0 || valueBranch(type).type === 'union') {
      const x = this.#variable();
      return `{let ${x};${this.#read(x, type, schema)}${this.#take(x, wanted)}}`;
    }
    if (type.type === 'union') {
      return this.#union(type, branch => (branch.type === 'null' ? '' : this.#project(branch, schema, wanted, last)));
    }
    if (type.type !== 'record' || schema.type !== 'STRUCT') throw mismatch(type, schema);
    const end = Math.max(...wanted.fields.keys());
    const parts: string[] = [];
    for (const [at, field] of type.fields.entries()) {
      if (last && at > end) break;
      const inner = wanted.fields.get(at);
      parts.push(
        inner ? this.#project(field.type, schema.fields[at].schema, inner, last && at === end) : this.#skip(field.type),
      );
    }
    return parts.join('\n');
  }

  /** Source that puts a value read whole, and wanted parts of it, into the columns. */
  #take(x: string, wanted: Wanted): string {
    const own = wanted.columns.map(column => `C[${column}][i]=${x};`).join('');
    const parts = [...wanted.fields].map(([at, inner]) => {
      const y = this.#variable();
      return `{const ${y}=${x}.values[${at}];${this.#take(y, inner)}}`;
    });
    return parts.length === 0 ? own : `${own}if(${x}!==null){${parts.join('')}}`;
  }
}

/** The fewest bytes that a value takes. */
function leastBytes(type: AvroType): number {
  switch (type.type) {
    case 'null':
      return 0;
    case 'float':
      return 4;
    case 'double':
      return 8;
    case 'fixed':
      return type.size;
    case 'record':
      return type.fields.reduce((sum, f) => sum + leastBytes(f.type), 0);
    default:
      return 1;
  }
}

const mismatch = (type: AvroType, schema: Schema): ConnectError =>
  new ConnectError('CONVERTER_FAILED', `Avro type ${type.type} cannot be read as ${schema.type}`);

const runtime = {
  readBlock,
  readBytes,
  readDouble,
  readFloat,
  readInt,
  readLength,
  readLong,
  readString,
  smallLongs,
  Decimal,
  Struct,
};
