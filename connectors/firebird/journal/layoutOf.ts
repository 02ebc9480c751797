import { ConnectError } from '../../../schemas/errors.ts';
import { DataType } from './recordFormat.ts';
import type { RecordPlace } from './tableHistory.ts';
import { isNull, type RecordLayout } from './tableState.ts';
import { isTime } from './temporal.ts';

/**
 * The layout of a record, bytes [start, end); what no table of that name ever had is an error, not a guess. Of several layouts of its length the nearest
 * one counts whose columns can have such values.
 */
export function layoutOf(
  { tables, isAltering }: RecordPlace,
  name: string,
  bytes: Buffer,
  start: number,
  end: number,
  transaction: number,
): RecordLayout {
  const table = tables.get(name);
  const layouts = table?.layouts(end - start, isAltering) ?? [];
  const layout = (layouts.length > 1 ? layouts.find(of => isPossible(of, bytes, start)) : null) ?? layouts[0];
  if (layout !== undefined) return layout;
  const why =
    table === undefined
      ? 'no such table is known; if it was dropped before its layout could be read, leave it out with table.exclude.list'
      : `no format of it has ${end - start} bytes`;
  throw new ConnectError(
    'FB_LAYOUT_UNKNOWN',
    `A record of ${name}, ${end - start} bytes long, of transaction ${transaction}: ${why}.`,
    { place: { table: name } },
  );
}

function isPossible({ columns }: RecordLayout, bytes: Buffer, start: number): boolean {
  return columns.every(({ id, field }) => {
    if (isNull(bytes, start, id)) return true;
    const at = start + field.offset;
    switch (field.dtype) {
      case DataType.varchar:
        return bytes.readUInt16LE(at) <= field.length - 2;
      case DataType.boolean:
        return bytes[at]! <= 1;
      case DataType.time:
      case DataType.timeTz:
        return isTime(bytes.readUInt32LE(at));
      case DataType.timestamp:
      case DataType.timestampTz:
        return isTime(bytes.readUInt32LE(at + 4));
      default:
        return true;
    }
  });
}
