import { ConnectError } from '../../../schemas/errors.ts';
import type { Tables } from './tableHistory.ts';
import type { RecordLayout } from './tableState.ts';

/** The layout of a record; what no table of that name ever had is an error, not a guess. */
export function layoutOf(
  tables: Tables,
  name: string,
  length: number,
  transaction: number,
  where: string,
): RecordLayout {
  const table = tables.get(name);
  const layout = table?.layout(length) ?? null;
  if (layout !== null) return layout;
  const why =
    table === undefined
      ? 'no such table is known; if it was dropped before its layout could be read, leave it out with table.exclude.list'
      : `no format of it has ${length} bytes`;
  throw new ConnectError(
    'FB_LAYOUT_UNKNOWN',
    `A record of ${name}, ${length} bytes long, of transaction ${transaction}: ${why}.`,
    { place: { table: name, position: where } },
  );
}
