/** Bytes passed through as they are. */
import type { Converter, ValueDecoder, ValueEncoder } from '../converter.ts';
import { OPTIONAL_BYTES, type Schema } from '../data/index.ts';
import { ConnectError } from '../errors.ts';
import type { OutputBuffer } from '../outputBuffer.ts';

const encoder: ValueEncoder = {
  encode(value: unknown, out: OutputBuffer): boolean {
    const bytes = bytesOf(value);
    if (bytes === null) return false;
    out.writeBytes(bytes);
    return true;
  },
  transcoder: () => null,
};

const decoder: ValueDecoder = {
  schema: OPTIONAL_BYTES,
  accepts: () => true,
  // A copy: the value outlives the batch.
  decode: (bytes, start, end) => Buffer.from(bytes.subarray(start, end)),
};

export class ByteArrayConverter implements Converter {
  encoder(_topic: string, schema: Schema | null): ValueEncoder {
    if (schema !== null && schema.type !== 'BYTES')
      throw new ConnectError('CONVERTER_FAILED', `Invalid schema type for ByteArrayConverter: ${schema.type}`);
    return encoder;
  }

  decoder(): ValueDecoder {
    return decoder;
  }
}

function bytesOf(value: unknown): Uint8Array | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return value;
  throw new ConnectError('DATA_INVALID', `ByteArrayConverter is not compatible with objects of type ${typeof value}`);
}
