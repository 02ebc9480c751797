/** Flat records and change events of one small table, for tests of the sink's modes. */
import type { Header, SinkBatch } from '../../../runtime/api/index.ts';
import { INT32, OPTIONAL_STRING, STRING, Struct, struct } from '../../../schemas/data/index.ts';
import { plainSinkBatch, type TestRecord } from '../../contract/sinkBatches.ts';

export const valueSchema = struct(
  [
    ['name', OPTIONAL_STRING],
    ['qty', INT32],
  ],
  { name: 'shop.Item', optional: true },
);

export const record = (
  key: string | null,
  name: string | null,
  qty: number,
  headers: readonly Header[] = [],
): TestRecord => ({ key, value: new Struct(valueSchema, [name, qty]), headers });

export const tombstone = (key: string): TestRecord => ({ key, value: null });

/** Keys are texts. */
export const flatBatch = (topic: string, records: readonly TestRecord[], firstOffset = 0, partition = 0): SinkBatch =>
  plainSinkBatch({ topic, firstOffset, partition, keySchema: STRING, valueSchema }, records);
