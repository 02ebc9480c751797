/** The key of a row as text, the same from whatever form the row has: to find rows again, not to show. */

import type { Schema } from '../../schemas/data/index.ts';
import { Struct } from '../../schemas/data/index.ts';
import type { Layout, WireRows } from '../../schemas/transcode/layout.ts';
import { plainValue } from '../../schemas/transcode/plainView.ts';

export const rowKey = (schema: Schema, layout: Layout, rows: WireRows, index: number): string =>
  JSON.stringify(plainValue(schema, layout, rows, index), (_, value) =>
    typeof value === 'bigint' ? `${value}n` : value instanceof Struct ? value.values : value,
  );
