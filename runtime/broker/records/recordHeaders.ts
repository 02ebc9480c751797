/** The header section of a record: count, then name and value of each. */
import { ConnectError } from '../../../schemas/errors.ts';
import { MalformedBytes, VarintCursor, varintBytes, writeVarint } from './varint.ts';

export interface RecordHeader {
  readonly name: string;
  readonly value: Uint8Array | null;
}

/** Encoded section without headers. */
export const noHeaders: Buffer = Buffer.from([0]);

export function encodeHeaders(list: readonly RecordHeader[]): Buffer {
  if (list.length === 0) return noHeaders;
  let size = varintBytes(list.length);
  const nameLengths = list.map(header => Buffer.byteLength(header.name));
  for (const [i, header] of list.entries()) {
    size += varintBytes(nameLengths[i]!) + nameLengths[i]!;
    size += header.value === null ? 1 : varintBytes(header.value.length) + header.value.length;
  }
  const bytes = Buffer.allocUnsafe(size);
  let position = writeVarint(bytes, 0, list.length);
  for (const [i, header] of list.entries()) {
    position = writeVarint(bytes, position, nameLengths[i]!);
    position += bytes.write(header.name, position);
    if (header.value === null) {
      position = writeVarint(bytes, position, -1);
    } else {
      position = writeVarint(bytes, position, header.value.length);
      bytes.set(header.value, position);
      position += header.value.length;
    }
  }
  return bytes;
}

/** Values are views of `bytes`. */
export function decodeHeaders(bytes: Buffer, start: number, end: number): RecordHeader[] {
  const list: RecordHeader[] = [];
  try {
    walkHeaders(new VarintCursor(bytes, start, end), (nameStart, nameEnd, valueStart, valueEnd) => {
      list.push({
        name: bytes.toString('utf8', nameStart, nameEnd),
        value: valueStart < 0 ? null : bytes.subarray(valueStart, valueEnd),
      });
    });
  } catch (error) {
    if (!(error instanceof MalformedBytes)) throw error;
    throw new ConnectError('BROKER_CORRUPT_BATCH', `The headers of a record cannot be read: ${error.message}.`);
  }
  return list;
}

/** Checks the section that the cursor stands at, up to its limit. */
export function walkHeaders(
  cursor: VarintCursor,
  visit: ((nameStart: number, nameEnd: number, valueStart: number, valueEnd: number) => void) | null,
): void {
  const count = cursor.varint();
  if (count < 0) throw new MalformedBytes(`a header count of ${count}`);
  for (let i = 0; i < count; i++) {
    const nameStart = cursor.skip(cursor.varint());
    const nameEnd = cursor.position;
    const length = cursor.varint();
    const valueStart = length === -1 ? -1 : cursor.skip(length);
    if (visit) visit(nameStart, nameEnd, valueStart, cursor.position);
  }
  if (cursor.position !== cursor.limit) throw new MalformedBytes('bytes are left behind the headers');
}
