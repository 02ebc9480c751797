/** Confluent's wire format: a zero byte, the schema id as 4 bytes big endian, then the Avro binary. */
import { ConnectError } from '../errors.ts';

export const FRAMING_BYTES = 5;

export function framingOf(schemaId: number): Buffer {
  const framing = Buffer.alloc(FRAMING_BYTES);
  framing.writeUInt32BE(schemaId, 1);
  return framing;
}

/** The schema id of a serialized value. Throws ConnectError CONVERTER_FAILED for other formats. */
export function schemaIdOf(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < FRAMING_BYTES || bytes[start] !== 0) {
    const found = end > start ? `0x${bytes[start].toString(16).padStart(2, '0')}` : 'nothing';
    throw new ConnectError(
      'CONVERTER_FAILED',
      `not Avro in Confluent's wire format: expected byte 0 and a schema id, found ${found} (${end - start} bytes). Check that the converter fits the topic`,
    );
  }
  return readSchemaId(bytes, start);
}

/** The id alone, where the framing is known to be there. */
export function readSchemaId(bytes: Uint8Array, start: number): number {
  return ((bytes[start + 1] << 24) | (bytes[start + 2] << 16) | (bytes[start + 3] << 8) | bytes[start + 4]) >>> 0;
}
