/** Change events of tables (id, v, parent), as one topic with the changes of several tables brings them to a sink with several connections. */
import type { SinkBatch } from '../../runtime/api/index.ts';
import { INT64, OPTIONAL_STRING, STRING, Struct, struct } from '../../schemas/data/index.ts';
import { avroSinkBatch, type TestRecord } from './sinkBatches.ts';

const keySchema = struct([['id', INT64]], { name: 'parallel.Key' });
const rowSchema = struct(
  [
    ['id', INT64],
    ['v', OPTIONAL_STRING],
    ['parent', INT64],
  ],
  { name: 'parallel.Row', optional: true },
);
const sourceSchema = struct([['table', STRING]], { name: 'parallel.Source' });
const envelopeSchema = struct(
  [
    ['before', rowSchema],
    ['after', rowSchema],
    ['source', sourceSchema],
    ['op', STRING],
  ],
  { name: 'parallel.Envelope' },
);

export type ParallelRow = readonly [id: number, v: string | null, parent: number];

const imageOf = ([id, v, parent]: ParallelRow): Struct => new Struct(rowSchema, [BigInt(id), v, BigInt(parent)]);

export const parallelEvent = (table: string, op: 'c' | 'u' | 'd', row: ParallelRow): TestRecord => ({
  key: new Struct(keySchema, [BigInt(row[0])]),
  value: new Struct(envelopeSchema, [
    op === 'd' ? imageOf(row) : null,
    op === 'd' ? null : imageOf(row),
    new Struct(sourceSchema, [table]),
    op,
  ]),
});

export const parallelBatch = (records: readonly TestRecord[], firstOffset: number): Promise<SinkBatch> =>
  avroSinkBatch({ topic: 'parallel', firstOffset, keySchema, valueSchema: envelopeSchema }, records);
