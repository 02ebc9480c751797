/**
 * Compiles (Connect schema, Avro schema) into a function that appends a value's Avro binary to an OutputBuffer.
 * One generated function per struct. Generated source holds numbers and fixed text only; schemas, defaults and names stand in a table
 * of constants. Room in the buffer: `R` bytes, enough for all fixed-size parts of a function, are kept before each part of variable size.
 */
import { Decimal, decimalScale, isDecimal, type Schema, Struct, type StructSchema } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import type { OutputBuffer } from '../outputBuffer.ts';
import {
  type AvroEnum,
  type AvroField,
  type AvroFixed,
  type AvroRecord,
  type AvroType,
  avroTypeName,
} from './avroSchema.ts';
import { writeBytes, writeDouble, writeFloat, writeLong, writeString, writeVarint } from './binary.ts';
import { mapEntry, ToConnect, UNION_NAME } from './toConnect.ts';

export interface EncoderOptions {
  /** Whether a null in a field with a default is written as the default; required fields with a default get it in any case. */
  readonly replaceNullWithDefault: boolean;
  /** The Avro name of a Connect field name. */
  readonly avroName: (name: string) => string;
}

export type EncodeValue = (value: unknown, out: OutputBuffer) => void;

/** Throws ConnectError CONVERTER_FAILED where the Avro schema cannot hold what the Connect schema says. */
export function compileEncoder(schema: Schema, type: AvroType, options: EncoderOptions): EncodeValue {
  return new EncoderCompiler(options).compile(schema, type);
}

const numberRange = { INT8: 'x<<24>>24', INT16: 'x<<16>>16', INT32: 'x|0' } as const;

/** Avro types that can hold a Connect type. */
const holders: Readonly<Record<Schema['type'], readonly AvroType['type'][]>> = {
  INT8: ['int', 'long', 'float', 'double'],
  INT16: ['int', 'long', 'float', 'double'],
  INT32: ['int', 'long', 'float', 'double'],
  INT64: ['long'],
  FLOAT32: ['float', 'double'],
  FLOAT64: ['double'],
  BOOLEAN: ['boolean'],
  STRING: ['string', 'enum'],
  BYTES: ['bytes', 'fixed'],
  ARRAY: ['array'],
  MAP: ['map', 'array'],
  STRUCT: ['record'],
};

class EncoderCompiler {
  readonly #options: EncoderOptions;
  readonly #constants: unknown[] = [];
  readonly #functions: string[] = [];
  /** Functions made, by the fields of the struct (shared by its optional variants) and the Avro record. */
  readonly #structs = new Map<readonly unknown[], Map<AvroType, number>>();
  #path: string[] = [];
  #variables = 0;
  /** Bytes of the fixed-size parts of the function being written. */
  #fixed = 0;

  constructor(options: EncoderOptions) {
    this.#options = options;
  }

  compile(schema: Schema, type: AvroType): EncodeValue {
    const root = this.#function(() => this.#value('v', schema, type));
    const source = `'use strict';const {${Object.keys(runtime).join(',')}}=T;\n${this.#functions.join('\n')}\nreturn f${root};`;
    return new Function('T', 'K', source)(runtime, this.#constants) as EncodeValue;
  }

  /** Writes a function `f<n>(v, out)` whose body `body` gives; returns its number. */
  #function(body: () => string): number {
    const outerFixed = this.#fixed;
    this.#fixed = 0;
    const code = body();
    const room = this.#fixed + 8;
    const number = this.#functions.length;
    this.#functions.push(
      `function f${number}(v,out){let b=out.bytes,p=out.position,n=0;${ensure('0')}${code}out.position=p;}`.replaceAll(
        '$R',
        String(room),
      ),
    );
    this.#fixed = outerFixed;
    return number;
  }

  #constant(value: unknown): string {
    this.#constants.push(value);
    return `K[${this.#constants.length - 1}]`;
  }

  #variable(): string {
    return `x${this.#variables++}`;
  }

  #fail(x: string, schema: Schema): string {
    return `fail(${this.#constant(this.#path.join('.'))},${this.#constant(schema)},${x})`;
  }

  #cannot(schema: Schema, type: AvroType): ConnectError {
    const where = this.#path.length > 0 ? `field ${this.#path.join('.')}` : 'the value';
    return new ConnectError(
      'CONVERTER_FAILED',
      `${where} is ${schema.type}, which Avro type ${avroTypeName(type)} cannot hold`,
    );
  }

  #value(x: string, schema: Schema, type: AvroType): string {
    const replace =
      schema.defaultValue !== undefined &&
      schema.defaultValue !== null &&
      (!schema.optional || this.#options.replaceNullWithDefault)
        ? `if(${x}===null||${x}===undefined)${x}=${this.#constant(schema.defaultValue)};`
        : '';
    if (type.type !== 'union') return replace + this.#present(x, schema, type);
    const nullIndex = type.branches.findIndex(b => b.type === 'null');
    this.#fixed += 1;
    const valueCode =
      schema.name === UNION_NAME && schema.type === 'STRUCT'
        ? this.#unionStruct(x, schema, type.branches)
        : this.#branch(x, schema, type);
    if (nullIndex === -1) return `${replace}{${valueCode}}`;
    return `${replace}if(${x}===null||${x}===undefined){b[p++]=${nullIndex * 2};}else{${valueCode}}`;
  }

  /** The first branch of the schema's kind. */
  #branch(x: string, schema: Schema, type: Extract<AvroType, { type: 'union' }>): string {
    const index = type.branches.findIndex(branch => holders[schema.type].includes(branch.type));
    if (index === -1) throw this.#cannot(schema, type);
    return `b[p++]=${index * 2};${this.#present(x, schema, type.branches[index])}`;
  }

  /** A Union struct: its one field that is not null names the branch. */
  #unionStruct(x: string, schema: StructSchema, branches: readonly AvroType[]): string {
    const cases: string[] = [];
    const members = branches.filter(b => b.type !== 'null');
    for (const [at, field] of schema.fields.entries()) {
      const member = members[at];
      if (member === undefined) throw this.#cannot(schema, { type: 'union', branches });
      const y = this.#variable();
      const write = this.#present(y, field.schema, member);
      cases.push(
        `let ${y}=${x}.values[${at}];if(${y}!==null&&${y}!==undefined){b[p++]=${branches.indexOf(member) * 2};${write}}else`,
      );
    }
    const nested = cases.map(c => `{${c}`).join('');
    return `${this.#structCheck(x, schema)}${nested}{${this.#fail(x, schema)};}${'}'.repeat(cases.length)}`;
  }

  #present(x: string, schema: Schema, type: AvroType): string {
    const fail = this.#fail(x, schema);
    switch (schema.type) {
      case 'INT8':
      case 'INT16':
      case 'INT32': {
        const check = `if((${numberRange[schema.type].replace('x', x)})!==${x})${fail};`;
        switch (type.type) {
          case 'int':
          case 'long':
            this.#fixed += 5;
            return `${check}n=(${x}<<1)^(${x}>>31);if(n>>>7===0)b[p++]=n;else p=writeVarint(b,p,n);`;
          case 'float':
          case 'double':
            return check + this.#float(x, type.type);
          default:
            throw this.#cannot(schema, type);
        }
      }
      case 'INT64':
        if (type.type !== 'long') throw this.#cannot(schema, type);
        this.#fixed += 10;
        return `n=writeLong(b,p,${x});if(n<0)${fail};p=n;`;
      case 'FLOAT32':
      case 'FLOAT64':
        if (type.type !== 'double' && !(type.type === 'float' && schema.type === 'FLOAT32'))
          throw this.#cannot(schema, type);
        return `if(typeof ${x}!=='number')${fail};${this.#float(x, type.type)}`;
      case 'BOOLEAN':
        if (type.type !== 'boolean') throw this.#cannot(schema, type);
        this.#fixed += 1;
        return `if(${x}===true)b[p++]=1;else if(${x}===false)b[p++]=0;else ${fail};`;
      case 'STRING':
        if (type.type === 'enum') return this.#enum(x, type, fail);
        if (type.type !== 'string') throw this.#cannot(schema, type);
        return `if(typeof ${x}!=='string')${fail};${this.#string(x)}`;
      case 'BYTES':
        return this.#bytes(x, schema, type, fail);
      case 'ARRAY': {
        if (type.type !== 'array') throw this.#cannot(schema, type);
        const [i, y] = [this.#variable(), this.#variable()];
        this.#fixed += 6;
        const item = this.#inside('[]', () => this.#value(y, schema.valueSchema, type.items));
        return (
          `if(!Array.isArray(${x}))${fail};if(${x}.length>0){p=writeVarint(b,p,${x}.length*2);` +
          `for(let ${i}=0;${i}<${x}.length;${i}++){let ${y}=${x}[${i}];${ensure('0')}${item}}${ensure('0')}}b[p++]=0;`
        );
      }
      case 'MAP':
        return this.#map(x, schema, type, fail);
      case 'STRUCT': {
        if (type.type !== 'record') throw this.#cannot(schema, type);
        return `out.position=p;f${this.#struct(schema, type)}(${x},out);b=out.bytes;p=out.position;${ensure('0')}`;
      }
    }
  }

  #inside(part: string, body: () => string): string {
    const outer = this.#path;
    this.#path = part === '[]' ? [...outer.slice(0, -1), `${outer.at(-1) ?? ''}[]`] : [...outer, part];
    const code = body();
    this.#path = outer;
    return code;
  }

  #float(x: string, type: 'float' | 'double'): string {
    this.#fixed += 8;
    return type === 'float' ? `p=writeFloat(b,p,${x});` : `p=writeDouble(b,p,${x});`;
  }

  #string(x: string): string {
    this.#fixed += 5;
    return `${ensure(`${x}.length*3`)}p=writeString(b,p,${x});`;
  }

  #enum(x: string, type: AvroEnum, fail: string): string {
    const indexes = new Map(type.symbols.map((symbol, index) => [symbol, index]));
    this.#fixed += 5;
    return `n=${this.#constant(indexes)}.get(${x});if(n===undefined)${fail};p=writeVarint(b,p,n*2);`;
  }

  #bytes(x: string, schema: Schema, type: AvroType, fail: string): string {
    if (type.type !== 'bytes' && type.type !== 'fixed') throw this.#cannot(schema, type);
    const y = this.#variable();
    const size = type.type === 'fixed' ? int((type as AvroFixed).size) : 0;
    const value = isDecimal(schema)
      ? `const ${y}=decimalBytes(${x},${int(decimalScale(schema))},${size});if(${y}===null)${fail};`
      : `const ${y}=${x};if(!(${y} instanceof Uint8Array))${fail};`;
    this.#fixed += 5;
    const room = `${value}${ensure(`${y}.length`)}`;
    if (type.type === 'bytes') return `${room}p=writeBytes(b,p,${y});`;
    return `${room}if(${y}.length!==${size})${fail};b.set(${y},p);p+=${size};`;
  }

  #map(x: string, schema: Extract<Schema, { type: 'MAP' }>, type: AvroType, fail: string): string {
    const entry = type.type === 'array' ? mapEntry(type) : null;
    if (type.type !== 'map' && entry === null) throw this.#cannot(schema, type);
    const [pair, k, y] = [this.#variable(), this.#variable(), this.#variable()];
    this.#fixed += 6;
    let key: string;
    let valueType: AvroType;
    if (type.type === 'map') {
      if (schema.keySchema.type !== 'STRING') throw this.#cannot(schema, type);
      key = `if(typeof ${k}!=='string')${fail};${this.#string(k)}`;
      valueType = type.values;
    } else {
      key = this.#inside('key', () => this.#value(k, schema.keySchema, entry!.fields[0].type));
      valueType = entry!.fields[1].type;
    }
    const value = this.#inside('value', () => this.#value(y, schema.valueSchema, valueType));
    return (
      `if(!(${x} instanceof Map))${fail};if(${x}.size>0){p=writeVarint(b,p,${x}.size*2);` +
      `for(const ${pair} of ${x}){let ${k}=${pair}[0],${y}=${pair}[1];${ensure('0')}${key}${value}}${ensure('0')}}b[p++]=0;`
    );
  }

  #structCheck(x: string, schema: StructSchema): string {
    return `if(!(${x} instanceof Struct)||(${x}.schema.fields!==${this.#constant(schema.fields)}&&!sameShape(${x}.schema,${this.#constant(schema)})))${this.#fail(x, schema)};`;
  }

  #struct(schema: StructSchema, type: AvroRecord): number {
    const made = this.#structs.get(schema.fields)?.get(type);
    if (made !== undefined) return made;
    const number = this.#function(() => {
      const byName = new Map(schema.fields.map(f => [this.#options.avroName(f.name), f]));
      const parts = type.fields.map(avroField => {
        const field = byName.get(avroField.name);
        if (field === undefined) return this.#missing(schema, type, avroField);
        const y = this.#variable();
        const write = this.#inside(field.name, () => this.#value(y, field.schema, avroField.type));
        return `{let ${y}=d[${field.index}];${write}}`;
      });
      return `${this.#structCheck('v', schema)}const d=v.values;${parts.join('\n')}`;
    });
    if (!this.#structs.has(schema.fields)) this.#structs.set(schema.fields, new Map());
    this.#structs.get(schema.fields)!.set(type, number);
    return number;
  }

  /** A field that only the registered schema has: its default. */
  #missing(schema: StructSchema, type: AvroRecord, field: AvroField): string {
    const own = new ToConnect().field(field.type, field.defaultValue, null);
    if (field.defaultValue === undefined) {
      throw new ConnectError(
        'CONVERTER_FAILED',
        `the registered schema ${type.name} has the field "${field.name}" without a default, which ${schema.name ?? 'the struct'} does not have`,
      );
    }
    const y = this.#variable();
    const value = field.defaultValue === null ? null : own.defaultValue;
    return `{let ${y}=${this.#constant(value)};${this.#inside(field.name, () => this.#value(y, own, field.type))}}`;
  }
}

const ensure = (bytes: string): string =>
  `if(b.length-p<${bytes}+$R){out.position=p;out.ensure(${bytes}+$R);b=out.bytes;}`;

/** A whole number, for source text. */
function int(n: number): number {
  if (!Number.isSafeInteger(n)) throw new ConnectError('CONVERTER_FAILED', `Avro schema: ${n} is not a whole number`);
  return n;
}

/** A decimal's two's complement at `scale`, filled up to `size` bytes if that is not 0; null for what is no decimal of that scale. */
function decimalBytes(value: unknown, scale: number, size: number): Uint8Array | null {
  if (!(value instanceof Decimal)) return null;
  let bytes: Uint8Array;
  try {
    bytes = value.withScale(scale).toBytes();
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  if (size === 0 || bytes.length >= size) return bytes;
  const padded = Buffer.alloc(size, value.unscaled < 0n ? 255 : 0);
  padded.set(bytes, size - bytes.length);
  return padded;
}

const shapes = new WeakMap<Schema, WeakMap<Schema, boolean>>();

/** Whether values of one struct schema can be written as the other: same fields in the same order, of the same types. */
function sameShape(actual: StructSchema, expected: StructSchema): boolean {
  const known = shapes.get(expected)?.get(actual);
  if (known !== undefined) return known;
  const same =
    actual.fields.length === expected.fields.length &&
    actual.fields.every((f, i) => f.name === expected.fields[i].name && sameType(f.schema, expected.fields[i].schema));
  if (!shapes.has(expected)) shapes.set(expected, new WeakMap());
  shapes.get(expected)!.set(actual, same);
  return same;
}

function sameType(a: Schema, b: Schema): boolean {
  if (a === b) return true;
  if (a.type !== b.type || a.name !== b.name) return false;
  if (a.type === 'ARRAY' && b.type === 'ARRAY') return sameType(a.valueSchema, b.valueSchema);
  if (a.type === 'MAP' && b.type === 'MAP')
    return sameType(a.keySchema, b.keySchema) && sameType(a.valueSchema, b.valueSchema);
  return a.type === 'STRUCT' && b.type === 'STRUCT' ? sameShape(a, b) : true;
}

function fail(path: string, schema: Schema, value: unknown): never {
  const kind =
    value instanceof Struct ? `a struct ${value.schema.name ?? ''}` : Array.isArray(value) ? 'an array' : typeof value;
  const shown = typeof value === 'object' && value !== null ? kind : `${kind} ${String(value).slice(0, 100)}`;
  const expected = schema.name === null ? schema.type : `${schema.type} (${schema.name})`;
  const where = path === '' ? 'the value' : `field ${path}`;
  throw new ConnectError(
    'DATA_INVALID',
    `${where}: expected ${expected}, found ${value === null || value === undefined ? 'null' : shown}`,
    {
      place: path === '' ? {} : { column: path },
    },
  );
}

const runtime = {
  writeVarint,
  writeLong,
  writeString,
  writeBytes,
  writeFloat,
  writeDouble,
  decimalBytes,
  sameShape,
  fail,
  Struct,
};
