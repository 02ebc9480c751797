/** Record images as rows of the RowBuffer, blobs put in where their columns stand. */
import { ConnectError } from '../../../schemas/errors.ts';
import { CHARSET_UTF8, textDecoder } from '../journal/characterSets.ts';
import { blobIdText } from '../journal/columnValue.ts';
import { charsetOf } from '../journal/recordFormat.ts';
import { isNull } from '../journal/tableState.ts';
import type { RowBuffer } from './rowBuffer.ts';
import type { TableVersion, VersionColumn } from './tableVersion.ts';

/** Blobs stored for a record, by id. */
export type Blobs = ReadonlyMap<string, readonly Buffer[]>;

const EMPTY_BLOB = '0:0';

export class RowWriter {
  readonly #out: RowBuffer;
  readonly #placeholder: Buffer;
  readonly #dumpsBlobs: boolean;

  constructor(out: RowBuffer, placeholder: string, dumpsBlobs: boolean) {
    this.#out = out;
    this.#placeholder = Buffer.from(placeholder);
    this.#dumpsBlobs = dumpsBlobs;
  }

  /**
   * Position of the row written. Old records bring no blobs: what the new one does not have under the same id becomes the placeholder.
   */
  write(version: TableVersion, bytes: Buffer, start: number, blobs: Blobs, isOld: boolean): number {
    const out = this.#out;
    const { columns } = version;
    const position = out.begin(columns.length);
    for (let i = 0; i < columns.length; i++) {
      const of = columns[i]!;
      const { column, type } = of;
      if (isNull(bytes, start, column.id)) out.null();
      else if (type.blob !== undefined) this.#blob(of, version.table, bytes, start + column.field.offset, blobs, isOld);
      else {
        try {
          type.writeImage(out, bytes, start + column.field.offset);
        } catch (error) {
          if (error instanceof ConnectError) error.at({ table: version.table, column: column.name });
          throw error;
        }
      }
    }
    return position;
  }

  #blob(of: VersionColumn, table: string, bytes: Buffer, at: number, blobs: Blobs, isOld: boolean): void {
    const out = this.#out;
    const id = blobIdText(bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4));
    const parts = blobs.get(id) ?? (id === EMPTY_BLOB ? [] : null);
    if (!this.#dumpsBlobs || (parts === null && isOld)) {
      out.slice(this.#placeholder, 0, this.#placeholder.length);
      return;
    }
    if (parts === null) {
      throw new ConnectError('FB_SEGMENT_INVALID', `A record has blob ${id}, which was not stored before it.`, {
        place: { table, column: of.column.name },
      });
    }
    const charset = charsetOf(of.column.field);
    if (of.type.blob === 'binary' || charset === CHARSET_UTF8) out.parts(parts);
    else {
      const whole = Buffer.concat(parts);
      // A character may lie in two chunks.
      out.text(textDecoder(charset)(whole, 0, whole.length));
    }
  }
}
