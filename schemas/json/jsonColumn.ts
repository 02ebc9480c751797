/** Writers of column slices as JSON: the frequent wire forms straight from their bytes, all others by way of the value. */
import type { Schema } from '../data/index.ts';
import type { OutputBuffer } from '../outputBuffer.ts';
import type { ColumnLayout } from '../transcode/layout.ts';
import { uuidText } from '../transcode/parse.ts';
import { sliceReader } from '../transcode/plainColumn.ts';
import { AbsentValue } from '../transcode/rowColumns.ts';
import { RowFault, SliceFault } from '../transcode/rowErrors.ts';
import { writeDigits } from '../transcode/write.ts';
import { compileJsonEncoder, type JsonOptions } from './compileJsonEncoder.ts';
import { writeInt32, writeUtf8Slice } from './jsonBytes.ts';

/** `length` as ColumnFinder gives it; `v` is the view of b. Throws SliceFault. */
export type WriteColumn = (out: OutputBuffer, b: Buffer, v: DataView, start: number, length: number) => void;
type WriteSlice = WriteColumn;

/** Throws TRANSCODE_LAYOUT_INVALID where no value of the schema has this form. */
export function columnWriter(schema: Schema, column: ColumnLayout, options: JsonOptions): WriteColumn {
  const absent = new AbsentValue(schema, column);
  const read = sliceReader(schema, column.column);
  const encode = compileJsonEncoder(schema, options);
  const direct = directWriter(schema, column);
  if (direct !== null) {
    return (out, b, v, start, length) => {
      if (length >= 0) direct(out, b, v, start, length);
      else encode(absent.value(length), out);
    };
  }
  return (out, b, v, start, length) => {
    const value = length >= 0 ? read(b, v, start, start + length) : null;
    encode(value ?? absent.value(length), out);
  };
}

function directWriter({ type }: Schema, { column: wire }: ColumnLayout): WriteSlice | null {
  switch (wire.wire) {
    case 'int16be':
      if (type !== 'INT16' && type !== 'INT32') return null;
      return (out, _b, v, p, n) => writeInt32(out, v.getInt16(sized(p, n, 2)));
    case 'int32be':
      if (type !== 'INT32') return null;
      return (out, _b, v, p, n) => writeInt32(out, v.getInt32(sized(p, n, 4)));
    case 'int64be':
      if (type !== 'INT64') return null;
      return (out, _b, v, p, n) => {
        sized(p, n, 8);
        out.ensure(20);
        out.position = writeDigits(out.bytes, out.position, v.getInt32(p + 4), v.getInt32(p));
      };
    case 'utf8': {
      if (type !== 'STRING') return null;
      const skip = wire.skip ?? 0;
      return (out, b, v, p, n) => {
        if (n < skip) throw new SliceFault(RowFault.columnLength);
        writeUtf8Slice(out, b, v, p + skip, p + n);
      };
    }
    case 'uuid':
      return (out, b, _v, p, n) => {
        sized(p, n, 16);
        out.ensure(38);
        const { bytes, position } = out;
        bytes[position] = 34;
        const end = uuidText(bytes, position + 1, b, p);
        bytes[end] = 34;
        out.position = end + 1;
      };
    default:
      return null;
  }
}

function sized(p: number, length: number, expected: number): number {
  if (length !== expected) throw new SliceFault(RowFault.columnLength);
  return p;
}
