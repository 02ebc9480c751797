/** Decodes values of one writer schema, as Connect values or as columns. */
import type { ValueDecoder } from '../converter.ts';
import type { Schema } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import type { AvroType } from './avroSchema.ts';
import type { ReadState } from './binary.ts';
import { compileColumnReader, compileReader, type ReadColumns, type ReadValue } from './compileDecoder.ts';
import { FRAMING_BYTES, readSchemaId } from './framing.ts';
import { toConnectSchema } from './toConnect.ts';

/** What the read state holds between calls: it must not keep a fetched batch alive. */
const NO_BYTES = Buffer.alloc(0);
/** Plans of `decodeColumns` kept per schema; a sink has one or two. */
const MAX_PLANS = 16;

export class AvroDecoder implements ValueDecoder {
  readonly schema: Schema;
  readonly #schemaId: number;
  readonly #type: AvroType;
  readonly #read: ReadValue;
  readonly #plans = new Map<string, ReadColumns>();
  readonly #state: ReadState;

  constructor(schemaId: number, type: AvroType) {
    this.#schemaId = schemaId;
    this.#type = type;
    this.schema = toConnectSchema(type);
    this.#read = compileReader(type, this.schema);
    this.#state = { b: NO_BYTES, p: 0, e: 0, index: -1, start: 0, fail: this.#fail };
  }

  accepts(bytes: Uint8Array, start: number, end: number): boolean {
    return end - start >= FRAMING_BYTES && bytes[start] === 0 && readSchemaId(bytes, start) === this.#schemaId;
  }

  decode(bytes: Uint8Array, start: number, end: number): unknown {
    const s = this.#state;
    s.b = asBuffer(bytes);
    s.start = start;
    s.p = start + FRAMING_BYTES;
    s.e = end;
    s.index = -1;
    if (!this.accepts(bytes, start, end)) this.#fail('another schema id', start);
    const value = this.#read(s);
    s.b = NO_BYTES;
    if (s.p !== end)
      this.#fail(s.p > end ? 'the end of the bytes' : `${end - s.p} bytes after the value`, Math.min(s.p, end));
    return value;
  }

  decodeColumns(
    paths: readonly (readonly string[])[],
    bytes: Uint8Array,
    starts: Int32Array,
    ends: Int32Array,
    count: number,
  ): unknown[][] {
    const columns = paths.map(() => new Array<unknown>(count).fill(null));
    const s = this.#state;
    s.b = asBuffer(bytes);
    for (let i = 0; i < count; i++) {
      if (starts[i] < 0 || this.accepts(bytes, starts[i], ends[i])) continue;
      s.start = starts[i];
      s.e = ends[i];
      s.index = i;
      this.#fail('another schema id', starts[i]);
    }
    this.#plan(paths)(s, FRAMING_BYTES, starts, ends, count, columns);
    s.b = NO_BYTES;
    return columns;
  }

  #plan(paths: readonly (readonly string[])[]): ReadColumns {
    const key = JSON.stringify(paths);
    const known = this.#plans.get(key);
    if (known) return known;
    if (this.#plans.size >= MAX_PLANS) this.#plans.delete(this.#plans.keys().next().value!);
    const plan = compileColumnReader(this.#type, this.schema, paths);
    this.#plans.set(key, plan);
    return plan;
  }

  #fail = (what: string, at: number): never => {
    const s = this.#state;
    const record = s.index < 0 ? '' : ` of record ${s.index} in the batch`;
    throw new ConnectError(
      'CONVERTER_FAILED',
      `malformed Avro for schema id ${this.#schemaId} (${this.schema.name ?? this.schema.type}): found ${what} at byte ${at - s.start} of ${s.e - s.start}${record}`,
    );
  };
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
