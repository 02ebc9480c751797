/**
 * Values of records as BSON, by their schemas: whole numbers as int32 or int64, decimals as Decimal128, points in time as dates, bytes as binary, structs and
 * maps as documents. Values without schema go by what they are.
 */
import {
  DATE_NAME,
  Decimal,
  decimalScale,
  isDecimal,
  type Schema,
  Struct,
  type StructSchema,
  TIME_NAME,
  TIMESTAMP_NAME,
} from '../../schemas/data/index.ts';
import type { OutputBuffer } from '../../schemas/outputBuffer.ts';
import { isPlainObject } from '../shared/changeEnvelope.ts';
import { parseTimestampUs } from '../shared/isoTime.ts';
import {
  BsonType,
  beginDocument,
  elementName,
  endDocument,
  writeHead,
  writeInt32,
  writeInt64,
  writeText,
} from './bsonDocument.ts';
import { writeDecimal128 } from './decimal128.ts';
import { collidingName, fieldsCollide } from './fieldNames.ts';
import type { FieldShaping } from './fieldShaping.ts';

/** Appends an element with a value that is not null. Throws RangeError for a value that does not fit. */
export type ElementWriter = (value: unknown, name: Buffer, out: OutputBuffer) => void;

const DAY_MS = 86_400_000n;
/** Of a JavaScript date, which readers of many languages are bound by as well. */
const MOST_DATE_MS = 8_640_000_000_000_000n;

/** A point in time, in parts of a millisecond since the epoch. */
interface Instant {
  readonly perMs: bigint;
  of(value: unknown): bigint;
}
const inDays: Instant = { perMs: 1n, of: days => BigInt(days as number) * DAY_MS };
const inMs: Instant = { perMs: 1n, of: ms => BigInt(ms as number | bigint) };
const inUs: Instant = { perMs: 1000n, of: us => us as bigint };
const inNs: Instant = { perMs: 1_000_000n, of: ns => ns as bigint };
const asText: Instant = { perMs: 1_000_000n, of: text => parseTimestampNs(text as string) };

/** What becomes a date, by schema name. */
const DATES: Readonly<Record<string, Instant>> = {
  [DATE_NAME]: inDays,
  [TIME_NAME]: inMs,
  [TIMESTAMP_NAME]: inMs,
  'io.debezium.time.Date': inDays,
  'io.debezium.time.Time': inMs,
  'io.debezium.time.MicroTime': inUs,
  'io.debezium.time.NanoTime': inNs,
  'io.debezium.time.Timestamp': inMs,
  'io.debezium.time.MicroTimestamp': inUs,
  'io.debezium.time.NanoTimestamp': inNs,
  'io.debezium.time.ZonedTimestamp': asText,
  'io.debezium.time.IsoTimestamp': asText,
  'io.debezium.time.IsoDate': asText,
};

/** Which way `DATES` takes as its own, with `temporal.values=raw`: only Connect's types, as drivers have no other form for them. */
export type TemporalValues = 'date' | 'raw';

/** Documents and arrays within each other, as servers take them. */
export const MOST_LEVELS = 100;
export const TOO_DEEP = new RangeError(`it has more than ${MOST_LEVELS} levels of documents and arrays`);

const VARIABLE_SCALE = 'io.debezium.data.VariableScaleDecimal';

/** What becomes of digits finer than a millisecond, which dates do not hold. In an id they may be all that tells two apart. */
export type FinerDigits = 'cut' | 'refused';

function parseTimestampNs(text: string): bigint {
  const finer = /\.\d{6}(\d{1,3})(?!\d)/.exec(text)?.[1] ?? '';
  const us = parseTimestampUs(finer === '' ? text : text.replace(/(\.\d{6})\d+/, '$1'));
  return us * 1000n + BigInt(finer.padEnd(3, '0'));
}

const floorDiv = (value: bigint, by: bigint): bigint => (value - (((value % by) + by) % by)) / by;

const indexNames: Buffer[] = [];
const indexName = (index: number): Buffer => (indexNames[index] ??= elementName(String(index)));

/** Makes writers, once for each schema and place in a document. */
export class BsonValues {
  readonly #temporal: TemporalValues;
  readonly #shaping: FieldShaping | null;
  readonly #finerDigits: FinerDigits;
  #levels = 0;
  readonly #made = new Map<string, WeakMap<Schema, ElementWriter>>();

  constructor(temporal: TemporalValues, shaping: FieldShaping | null, finerDigits: FinerDigits = 'cut') {
    this.#temporal = temporal;
    this.#shaping = shaping;
    this.#finerDigits = finerDigits;
  }

  /** `path` is that of the field in the document, from the top. */
  writer(schema: Schema | null, path: string): ElementWriter {
    if (schema === null) return (value, name, out) => this.#untyped(value, path, name, out);
    // Without shaping it is the same everywhere.
    const place = this.#shaping === null ? '' : path;
    let made = this.#made.get(place);
    if (made === undefined) this.#made.set(place, (made = new WeakMap()));
    let writer = made.get(schema);
    if (writer === undefined) made.set(schema, (writer = this.#compile(schema, path)));
    return writer;
  }

  /** The name that a field is written under; null = not at all. */
  nameAt(path: string, name: string): string | null {
    return this.#shaping === null ? name : this.#shaping.nameAt(path, name);
  }

  /** An element for a value that may be null. */
  write(value: unknown, writer: ElementWriter, name: Buffer, out: OutputBuffer): void {
    if (value !== null && value !== undefined) writer(value, name, out);
    else if (!this.#shaping?.dropsNulls) writeHead(BsonType.null, name, out);
  }

  #compile(schema: Schema, path: string): ElementWriter {
    const { name: semantic } = schema;
    if (semantic !== null) {
      const date = this.#temporal === 'date' || semantic.startsWith('org.apache.') ? DATES[semantic] : undefined;
      if (date) return this.#date(date);
      if (semantic === VARIABLE_SCALE) return writeVariableScale;
    }
    if (isDecimal(schema)) {
      const scale = decimalScale(schema);
      return (value, name, out) =>
        writeDecimal(value instanceof Decimal ? value : Decimal.fromBytes(value as Uint8Array, scale), name, out);
    }
    switch (schema.type) {
      case 'INT8':
      case 'INT16':
      case 'INT32':
        return (value, name, out) => {
          writeHead(BsonType.int32, name, out);
          writeInt32(value as number, out);
        };
      case 'INT64':
        return (value, name, out) => writeLong(value as bigint, name, out);
      case 'FLOAT32':
      case 'FLOAT64':
        return (value, name, out) => writeDouble(value as number, name, out);
      case 'BOOLEAN':
        return (value, name, out) => writeBoolean(value as boolean, name, out);
      case 'STRING':
        return (value, name, out) => writeString(value as string, name, out);
      case 'BYTES':
        return (value, name, out) => writeBinary(value as Uint8Array, name, out);
      case 'ARRAY': {
        const write = this.writer(schema.valueSchema, path);
        return (value, name, out) => this.#array(value as readonly unknown[], write, name, out);
      }
      case 'MAP': {
        // The names in a map are its keys: no writer can be made for each of them.
        const { valueSchema } = schema;
        return (value, name, out) =>
          this.#fields([...(value as ReadonlyMap<unknown, unknown>)], valueSchema, path, name, out);
      }
      case 'STRUCT':
        return this.#struct(schema, path);
    }
  }

  #date({ perMs, of }: Instant): ElementWriter {
    const isExact = this.#finerDigits === 'refused';
    return (value, name, out) => {
      const parts = of(value);
      if (isExact && parts % perMs !== 0n)
        throw new RangeError(
          'it has digits finer than a millisecond, without which ids may become one; temporal.values=raw keeps them',
        );
      writeDate(floorDiv(parts, perMs), name, out);
    };
  }

  #struct(schema: StructSchema, path: string): ElementWriter {
    const fields = schema.fields.flatMap(field => {
      const at = `${path}.${field.name}`;
      const name = this.nameAt(at, field.name);
      if (name === null) return [];
      return [{ index: field.index, shown: name, name: elementName(name), write: this.writer(field.schema, at) }];
    });
    const collision = collidingName(fields.map(({ shown }) => shown));
    return (value, name, out) => {
      if (collision !== null) throw fieldsCollide(`${path}.${collision}`);
      const { values } = value as Struct;
      this.#nested(BsonType.document, name, out, () => {
        for (const field of fields) this.write(values[field.index], field.write, field.name, out);
      });
    };
  }

  #array(values: readonly unknown[], write: ElementWriter, name: Buffer, out: OutputBuffer): void {
    this.#nested(BsonType.array, name, out, () => {
      for (let i = 0; i < values.length; i++) {
        const value = values[i];
        // Nulls keep their places.
        if (value === null || value === undefined) writeHead(BsonType.null, indexName(i), out);
        else write(value, indexName(i), out);
      }
    });
  }

  #fields(
    entries: readonly (readonly [unknown, unknown])[],
    schema: Schema | null,
    path: string,
    name: Buffer,
    out: OutputBuffer,
  ): void {
    const seen = this.#shaping === null ? null : new Set<string>();
    this.#nested(BsonType.document, name, out, () => {
      for (const [key, value] of entries) {
        const at = `${path}.${String(key)}`;
        const shown = this.nameAt(at, String(key));
        if (shown === null) continue;
        if (seen?.has(shown)) throw fieldsCollide(`${path}.${shown}`);
        seen?.add(shown);
        const write = this.#shaping === null ? this.writer(schema, path) : this.#unkept(schema, at);
        this.write(value, write, elementName(shown), out);
      }
    });
  }

  #nested(type: number, name: Buffer, out: OutputBuffer, writeElements: () => void): void {
    if (this.#levels === MOST_LEVELS) throw TOO_DEEP;
    this.#levels++;
    try {
      writeHead(type, name, out);
      const start = beginDocument(out);
      writeElements();
      endDocument(out, start);
    } finally {
      this.#levels--;
    }
  }

  /** Keys of maps are without number: nothing is remembered for them. */
  #unkept(schema: Schema | null, path: string): ElementWriter {
    return schema === null ? this.writer(null, path) : this.#compile(schema, path);
  }

  #untyped(value: unknown, path: string, name: Buffer, out: OutputBuffer): void {
    switch (typeof value) {
      case 'string':
        writeString(value, name, out);
        return;
      case 'boolean':
        writeBoolean(value, name, out);
        return;
      case 'bigint':
        writeLong(value, name, out);
        return;
      case 'number':
        writeNumber(value, name, out);
        return;
    }
    if (Array.isArray(value)) this.#array(value, this.writer(null, path), name, out);
    else if (value instanceof Uint8Array) writeBinary(value, name, out);
    else if (value instanceof Decimal) writeDecimal(value, name, out);
    else if (value instanceof Struct) this.writer(value.schema, path)(value, name, out);
    else if (value instanceof Map) this.#fields([...value], null, path, name, out);
    else if (isPlainObject(value)) this.#fields(Object.entries(value), null, path, name, out);
    else throw new RangeError('it is of a kind that no document has');
  }
}

export function writeString(text: string, name: Buffer, out: OutputBuffer): void {
  writeHead(BsonType.string, name, out);
  writeText(text, out);
}

export function writeBinary(bytes: Uint8Array, name: Buffer, out: OutputBuffer, subtype = 0): void {
  writeHead(BsonType.binary, name, out);
  writeInt32(bytes.length, out);
  out.writeByte(subtype);
  out.writeBytes(bytes);
}

export function writeLong(value: bigint, name: Buffer, out: OutputBuffer): void {
  if (BigInt.asIntN(64, value) !== value) throw new RangeError('it is more than 64 bits');
  writeHead(BsonType.int64, name, out);
  writeInt64(value, out);
}

export function writeDate(ms: bigint, name: Buffer, out: OutputBuffer): void {
  if (ms > MOST_DATE_MS || ms < -MOST_DATE_MS) throw new RangeError('it is beyond the dates that there are');
  writeHead(BsonType.date, name, out);
  writeInt64(ms, out);
}

function writeDouble(value: number, name: Buffer, out: OutputBuffer): void {
  writeHead(BsonType.double, name, out);
  out.position = out.bytes.writeDoubleLE(value, out.position);
}

function writeBoolean(value: boolean, name: Buffer, out: OutputBuffer): void {
  writeHead(BsonType.boolean, name, out);
  out.writeByte(value ? 1 : 0);
}

/** JSON has one kind of number: whole ones are integers. */
function writeNumber(value: number, name: Buffer, out: OutputBuffer): void {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) writeDouble(value, name, out);
  else if (value >= -0x80000000 && value <= 0x7fffffff) {
    writeHead(BsonType.int32, name, out);
    writeInt32(value, out);
  } else writeLong(BigInt(value), name, out);
}

function writeDecimal(value: Decimal, name: Buffer, out: OutputBuffer): void {
  writeHead(BsonType.decimal128, name, out);
  writeDecimal128(value, out);
}

function writeVariableScale(value: unknown, name: Buffer, out: OutputBuffer): void {
  const [scale, unscaled] = (value as Struct).values as [number, Uint8Array];
  writeDecimal(Decimal.fromBytes(unscaled, scale), name, out);
}
