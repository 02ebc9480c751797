/**
 * The converter port: (schema, value) <-> bytes.
 * What needs I/O (a registry) is done once per schema, by `encoder` and `decoder`; encoding and decoding of records are synchronous.
 */
import type { Schema } from './data/index.ts';
import type { OutputBuffer } from './outputBuffer.ts';
import type { Layout, WireRows } from './transcode/layout.ts';

export interface ValueEncoder {
  /** Appends the serialized value, framing (magic byte, schema id) included, and returns true; or returns false for a null record, writing nothing. */
  encode(value: unknown, out: OutputBuffer): boolean;
  /** A compiled way from wire rows straight to the same bytes that `encode` would write, or null where this converter has none. */
  transcoder(layout: Layout): RowTranscoder | null;
}

export interface RowTranscoder {
  /** Called once per batch, before its rows: encodes what the batch shares. */
  begin(rows: WireRows): void;
  /** Appends row `index` of the batch given to `begin`; returns false (writing nothing) for a null value. */
  encode(index: number, out: OutputBuffer): boolean;
}

export interface ValueDecoder {
  /** Schema of what `decode` returns; null = schemaless (plain JSON values, strings, bytes). */
  readonly schema: Schema | null;
  /** Whether this decoder serves the serialized value at [start, end): same framing, same schema id. */
  accepts(bytes: Uint8Array, start: number, end: number): boolean;
  /** Throws ConnectError CONVERTER_FAILED on malformed bytes. */
  decode(bytes: Uint8Array, start: number, end: number): unknown;
  /**
   * Decodes only some fields of many records into columns: `paths[k]` is a field path such as ['after', 'id'], and the result's [k][i] the value of
   * record i; null where the field, or a struct on its way, is null. Positions: record i is bytes[starts[i], ends[i]), starts[i] = -1 for a null record.
   */
  decodeColumns?(
    paths: readonly (readonly string[])[],
    bytes: Uint8Array,
    starts: Int32Array,
    ends: Int32Array,
    count: number,
  ): unknown[][];
}

export interface Converter {
  /** Cached by (topic, schema identity): the same promise or value for the same arguments. */
  encoder(topic: string, schema: Schema | null): ValueEncoder | Promise<ValueEncoder>;
  /** A decoder for the serialized, non-null value at [start, end); cached. Rejects with REGISTRY_* or CONVERTER_FAILED. */
  decoder(topic: string, bytes: Uint8Array, start: number, end: number): ValueDecoder | Promise<ValueDecoder>;
  close?(): Promise<void>;
}

/** Header values are self-describing, so that each is converted alone. */
export interface HeaderConverter {
  fromConnect(topic: string, name: string, schema: Schema | null, value: unknown): Uint8Array | null;
  toConnect(topic: string, name: string, bytes: Uint8Array | null): { schema: Schema | null; value: unknown };
}
