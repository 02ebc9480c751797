/**
 * Generated rows, as bytes from which the values can be read. A field's value follows from row number and field alone, so that a task that
 * starts again gives the same.
 */
import type { ConnectRecord, SourceBatch, SourceOffset, SourcePartition, WireBatch } from '../../runtime/api/index.ts';
import { plainValue } from '../../schemas/transcode/plainView.ts';
import type { FieldType, RowShape } from './fields.ts';

/** 1024 different texts, each of 8 to 23 bytes. */
const texts: readonly string[] = Array.from(
  { length: 1024 },
  (_, i) => `text-${mix(i, 77).toString(36)}${'x'.repeat(i % 16)}`,
);
const textBytes: readonly Buffer[] = texts.map(text => Buffer.from(text));
const epochMs = 1_700_000_000_000;
const twoTo32 = 2 ** 32;

/** Bytes of a column, its length word included; of a string at most. */
const columnBytes: Readonly<Record<FieldType, number>> = {
  int: 8,
  long: 12,
  double: 12,
  boolean: 5,
  string: 4 + Math.max(...textBytes.map(bytes => bytes.length)),
  timestamp: 12,
};

/** A well-spread 31-bit number. */
function mix(row: number, field: number): number {
  let h = Math.imul(row ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(field + 1, 0xc2b2ae35);
  h ^= h >>> 13;
  h = Math.imul(h, 0x27d4eb2f);
  return (h ^ (h >>> 16)) & 0x7fffffff;
}

export interface RowRange {
  readonly first: number;
  readonly count: number;
  /** Key of row n: (n modulo `keys`, unless 0) * stride + start. */
  readonly keys: number;
  readonly stride: number;
  readonly start: number;
}

const keyOf = (row: number, { keys, stride, start }: RowRange): number =>
  (keys > 0 ? row % keys : row) * stride + start;

export class GeneratedBatch implements SourceBatch {
  readonly topic: string;
  readonly partition = null;
  readonly keySchema;
  readonly valueSchema;
  readonly count: number;
  readonly byteLength: number;
  readonly sourcePartition: SourcePartition;
  readonly sourceOffset: SourceOffset;
  readonly sourceTimestampMs = Date.now();
  readonly headers = [];
  readonly wire: WireBatch;
  readonly #shape: RowShape;

  constructor(topic: string, shape: RowShape, range: RowRange, partition: SourcePartition) {
    this.topic = topic;
    this.keySchema = shape.keySchema;
    this.valueSchema = shape.valueSchema;
    this.count = range.count;
    this.sourcePartition = partition;
    this.sourceOffset = { row: range.first + range.count };
    this.#shape = shape;
    const positions = new Int32Array(range.count);
    const bytes = writeRows(shape, range, positions);
    this.byteLength = bytes.length;
    this.wire = {
      rows: { bytes, count: range.count, positions: [positions], longs: [], choices: [], constants: [] },
      keyLayout: shape.keyLayout,
      valueLayout: shape.valueLayout,
    };
  }

  record(index: number): ConnectRecord {
    const { keySchema, valueSchema, keyLayout, valueLayout } = this.#shape;
    const { rows } = this.wire;
    return {
      topic: this.topic,
      partition: null,
      keySchema,
      key: plainValue(keySchema, keyLayout, rows, index),
      valueSchema,
      value: plainValue(valueSchema, valueLayout, rows, index),
      timestamp: null,
      headers: this.headers,
    };
  }
}

function writeRows({ fields }: RowShape, range: RowRange, positions: Int32Array): Buffer {
  const maxRowBytes = 2 + fields.reduce((sum, field) => sum + columnBytes[field.type], 0);
  const bytes = Buffer.allocUnsafe(maxRowBytes * range.count);
  let at = 0;
  for (let i = 0; i < range.count; i++) {
    const row = range.first + i;
    positions[i] = at;
    at = bytes.writeInt16BE(fields.length, at);
    for (let f = 0; f < fields.length; f++) {
      const { type } = fields[f]!;
      if (f === 0) at = writeInt64(bytes, at, keyOf(row, range));
      else at = writeColumn(bytes, at, type, row, f);
    }
  }
  return bytes.subarray(0, at);
}

function writeColumn(bytes: Buffer, at: number, type: FieldType, row: number, field: number): number {
  switch (type) {
    case 'int':
      at = bytes.writeInt32BE(4, at);
      return bytes.writeInt32BE(mix(row, field) % 100_000, at);
    case 'long':
      return writeInt64(bytes, at, mix(row, field));
    case 'double':
      at = bytes.writeInt32BE(8, at);
      return bytes.writeDoubleBE((mix(row, field) % 1_000_000) / 100, at);
    case 'boolean':
      at = bytes.writeInt32BE(1, at);
      return bytes.writeUInt8(mix(row, field) & 1, at);
    case 'string': {
      const text = textBytes[mix(row, field) & 1023]!;
      at = bytes.writeInt32BE(text.length, at);
      bytes.set(text, at);
      return at + text.length;
    }
    case 'timestamp':
      return writeInt64(bytes, at, epochMs + row);
  }
}

function writeInt64(bytes: Buffer, at: number, value: number): number {
  at = bytes.writeInt32BE(8, at);
  at = bytes.writeInt32BE(Math.floor(value / twoTo32), at);
  return bytes.writeUInt32BE(value >>> 0, at);
}
