/** Debezium envelopes over pgoutput rows of 3 and of 26 columns, for the micro benchmarks. */
import {
  BOOLEAN,
  decimalSchema,
  FLOAT64,
  INT16,
  INT32,
  INT64,
  OPTIONAL_INT64,
  OPTIONAL_STRING,
  optional,
  primitive,
  type Schema,
  STRING,
} from '../../../schemas/data/index.ts';
import { envelopeSchema, type NamedSchema, rowSchema, sourceSchema } from '../../../schemas/envelope/debezium.ts';
import type { ColumnWire, Layout, WireRows } from '../../../schemas/transcode/layout.ts';

export interface Column {
  readonly schema: NamedSchema[1];
  readonly wire: ColumnWire;
  readonly value: (i: number) => Buffer;
}

const bytesOf = (size: number, write: (b: Buffer, i: number) => void) => (i: number) => {
  const b = Buffer.alloc(size);
  write(b, i);
  return b;
};
const text = (make: (i: number) => string): Column => ({
  schema: OPTIONAL_STRING,
  wire: { wire: 'utf8' },
  value: i => Buffer.from(make(i)),
});
const int32: Column = {
  schema: INT32,
  wire: { wire: 'int32be' },
  value: bytesOf(4, (b, i) => b.writeInt32BE(i * 37)),
};
const timestamp: Column = {
  schema: primitive('INT64', { name: 'io.debezium.time.MicroTimestamp', version: 1, optional: true }),
  wire: { wire: 'int64be-linear', multiply: 1n, add: 946684800000000n },
  value: bytesOf(8, (b, i) => b.writeBigInt64BE(826_000_000_000_000n + BigInt(i) * 1_234_567n)),
};
const mixed: readonly Column[] = [
  { schema: INT64, wire: { wire: 'int64be' }, value: bytesOf(8, (b, i) => b.writeBigInt64BE(BigInt(i) * 7_777_777n)) },
  int32,
  { schema: INT16, wire: { wire: 'int16be' }, value: bytesOf(2, (b, i) => b.writeInt16BE(i % 1000)) },
  { schema: BOOLEAN, wire: { wire: 'bool8' }, value: bytesOf(1, (b, i) => (b[0] = i & 1)) },
  { schema: FLOAT64, wire: { wire: 'float64be' }, value: bytesOf(8, (b, i) => b.writeDoubleBE(i / 7)) },
  {
    schema: optional(decimalSchema(2, 12)),
    wire: { wire: 'numeric-pg' },
    value: bytesOf(14, (b, i) => {
      b.writeInt16BE(3, 0);
      b.writeInt16BE(1, 2);
      b.writeInt16BE(2, 6);
      b.writeInt16BE((i % 900) + 1, 8);
      b.writeInt16BE(i % 10000, 10);
      b.writeInt16BE((i % 100) * 100, 12);
    }),
  },
  text(i => `customer-${i % 1000}`),
  text(i => `somebody${i}@example.org`),
  text(() => 'a longer remark, as people write it in such fields now and then'),
  timestamp,
  {
    schema: primitive('INT32', { name: 'io.debezium.time.Date', version: 1, optional: true }),
    wire: { wire: 'int32be-linear', multiply: 1n, add: 10957n },
    value: bytesOf(4, (b, i) => b.writeInt32BE(9000 + (i % 500))),
  },
  { schema: STRING, wire: { wire: 'uuid' }, value: bytesOf(16, (b, i) => b.writeInt32BE(i, 3)) },
  { schema: OPTIONAL_STRING, wire: { wire: 'utf8', skip: 1 }, value: i => Buffer.from(`\u0001{"a": ${i}, "b": "x"}`) },
];
export const shapes: Record<string, readonly Column[]> = {
  '3': [int32, int32, int32],
  '26': [...mixed, ...mixed],
};

export function rowsOf(columns: readonly Column[], count: number): WireRows {
  const chunks: Uint8Array[] = [];
  const after = new Int32Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    after[i] = at;
    const row: Uint8Array[] = [Buffer.from([0, columns.length])];
    for (const column of columns) {
      const value = column.value(i);
      const head = Buffer.from('b\0\0\0\0');
      head.writeInt32BE(value.length, 1);
      row.push(head, value);
    }
    const bytes = Buffer.concat(row);
    chunks.push(bytes);
    at += bytes.length;
  }
  const longs = (first: bigint, step: bigint): BigInt64Array =>
    BigInt64Array.from({ length: count }, (_, i) => first + BigInt(i) * step);
  const now = 1_790_000_000_461n;
  return {
    bytes: Buffer.concat(chunks),
    count,
    positions: [new Int32Array(count).fill(-1), after],
    longs: [
      longs(now, 1n),
      longs(now * 1000n, 1000n),
      longs(now * 1_000_000n, 1_000_000n),
      longs(556n, 1n),
      longs(24_023_119n, 144n),
      longs(24_023_000n, 144n),
    ],
    choices: [new Uint8Array(count).fill(1)],
    constants: [now, now * 1000n, now * 1_000_000n],
  };
}

/** Schema and layout of the events of a table with these columns. */
export function eventsOf(columns: readonly Column[]): { schema: Schema; layout: Layout } {
  const topic = 'shop1.public.item';
  const row = rowSchema(
    topic,
    columns.map((c, i) => [`c${i}`, c.schema]),
  );
  const source = sourceSchema('postgresql', [
    ['schema', STRING],
    ['table', STRING],
    ['txId', OPTIONAL_INT64],
    ['lsn', OPTIONAL_INT64],
    ['xmin', OPTIONAL_INT64],
    ['origin', OPTIONAL_STRING],
    ['origin_lsn', OPTIONAL_INT64],
  ]);
  const NULL: Layout = { kind: 'null' };
  const constant = (value: unknown): Layout => ({ kind: 'constant', value });
  const long = (slot: number): Layout => ({ kind: 'long', slot });
  const batch = (slot: number): Layout => ({ kind: 'batch', slot });
  const image = (slot: number): Layout => ({
    kind: 'row',
    slot,
    format: 'pg-tuple',
    columns: columns.map((c, field) => ({ field, column: c.wire })),
  });
  const layout: Layout = {
    kind: 'struct',
    fields: [
      image(0),
      image(1),
      {
        kind: 'struct',
        fields: [
          constant('0.1.0'),
          constant('postgresql'),
          constant('shop1'),
          long(0),
          NULL,
          constant('shop'),
          { kind: 'text', parts: ['["', { slot: 5 }, '","', { slot: 4 }, '"]'] },
          long(1),
          long(2),
          constant('public'),
          constant('item'),
          long(3),
          long(4),
          NULL,
          NULL,
          NULL,
        ],
      },
      NULL,
      { kind: 'choice', slot: 0, of: ['c', 'u', 'd', 't'].map(constant) },
      batch(0),
      batch(1),
      batch(2),
    ],
  };
  return { schema: envelopeSchema(topic, row, source), layout };
}
