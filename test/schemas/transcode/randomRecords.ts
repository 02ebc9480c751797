/** Seeded random schemas with layouts for them, and batches of wire rows that fit. For the property test of the transcoder. */
import { primitive, type Schema, type SchemaOptions, struct, withOptions } from '../../../schemas/data/index.ts';
import type { ColumnLayout, Layout, LongSlot, RowFormat, WireRows } from '../../../schemas/transcode/layout.ts';
import type { Random } from '../../random.ts';
import { GROUPS, kinds, listKind, notFiniteForm, sliceOf } from './randomColumns.ts';

export interface RandomCase {
  readonly schema: Schema;
  readonly layout: Layout;
  readonly rows: WireRows;
}

/** A schema, a layout of it and `count` records. */
export function randomCase(r: Random, count: number): RandomCase {
  return new CaseBuilder(r, count).build();
}

class CaseBuilder {
  readonly #r: Random;
  readonly #count: number;
  #bytes: Buffer[] = [];
  #length = 0;
  readonly #positions: Int32Array[] = [];
  readonly #longs: BigInt64Array[] = [];
  readonly #longNulls: (Uint8Array | undefined)[] = [];
  readonly #choices: Uint8Array[] = [];
  readonly #constants: unknown[] = [];
  #names = 0;

  constructor(r: Random, count: number) {
    this.#r = r;
    this.#count = count;
  }

  build(): RandomCase {
    // some bytes before the first row, so that position 0 is nothing special
    this.#append(Buffer.from([1, 2, 3]));
    const { schema, layout } = this.#r.chance(40) ? this.#row() : this.#struct(0);
    return {
      schema,
      layout,
      rows: {
        bytes: Buffer.concat(this.#bytes),
        count: this.#count,
        positions: this.#positions,
        longs: this.#longs,
        longNulls: this.#longNulls,
        groups: Int32Array.from({ length: this.#count }, () => this.#r.below(GROUPS)).sort(),
        choices: this.#choices,
        constants: this.#constants,
      },
    };
  }

  #append(bytes: Buffer): number {
    const at = this.#length;
    this.#bytes.push(bytes);
    this.#length += bytes.length;
    return at;
  }

  #options(value: (r: Random) => unknown): SchemaOptions {
    const options: SchemaOptions = { optional: this.#r.chance(50) };
    if (this.#r.chance(25)) options.defaultValue = value(this.#r);
    else if (options.optional && this.#r.chance(20)) options.defaultValue = null;
    return options;
  }

  #field(depth: number): { schema: Schema; layout: Layout } {
    const kind = this.#r.pick(kinds);
    const options = this.#options(kind.value);
    const schema = withOptions(kind.schema, options);
    const canBeNull = schema.optional || (schema.defaultValue ?? null) !== null;
    switch (this.#r.below(depth < 2 ? 9 : 6)) {
      case 0:
        if (canBeNull) return { schema, layout: { kind: 'null' } };
        return { schema, layout: { kind: 'constant', value: kind.value(this.#r) } };
      case 1:
        return {
          schema,
          layout: { kind: 'constant', value: canBeNull && this.#r.chance(20) ? null : kind.value(this.#r) },
        };
      case 2:
        return {
          schema,
          layout: {
            kind: 'batch',
            slot: this.#constants.push(canBeNull && this.#r.chance(20) ? null : kind.value(this.#r)) - 1,
          },
        };
      case 3: {
        const wide = this.#r.chance(70);
        if (this.#r.chance(50)) {
          const schema = primitive(wide ? 'INT64' : 'INT32', { optional: this.#r.chance(50) });
          return { schema, layout: { kind: 'long', ...this.#groupLong(wide ? 64 : 32) } };
        }
        const long = primitive(
          wide ? 'INT64' : 'INT32',
          this.#options(r => (wide ? r.long() : Number(r.long(32)))),
        );
        return {
          schema: long,
          layout: {
            kind: 'long',
            slot: this.#long(wide ? 64 : 32, long.optional || (long.defaultValue ?? null) !== null),
          },
        };
      }
      case 4:
        return {
          schema: primitive('STRING', { optional: this.#r.chance(50) }),
          layout: {
            kind: 'text',
            parts: [
              '["',
              this.#r.chance(50) ? this.#groupLong(64) : { slot: this.#long(64, false) },
              this.#r.pick(['","', 'é'.repeat(40)]),
              this.#r.chance(50) ? this.#groupLong(40) : { slot: this.#long(40, false) },
              '"]',
            ],
          },
        };
      case 5: {
        const of = [1, 2, 3].map(
          (): Layout =>
            canBeNull && this.#r.chance(30) ? { kind: 'null' } : { kind: 'constant', value: kind.value(this.#r) },
        );
        return { schema, layout: { kind: 'choice', slot: this.#choice(of.length), of } };
      }
      case 6:
        return this.#struct(depth + 1);
      default:
        return this.#row();
    }
  }

  #struct(depth: number): { schema: Schema; layout: Layout } {
    const fields = Array.from({ length: 1 + this.#r.below(7) }, (): [string, { schema: Schema; layout: Layout }] => [
      this.#name(),
      this.#field(depth),
    ]);
    if (this.#r.chance(30)) {
      const at = this.#r.below(fields.length + 1);
      fields.splice(at, 0, ...this.#pair().map((field): [string, typeof field] => [this.#name(), field]));
    }
    const schema = struct(
      fields.map(([name, f]) => [name, f.schema]),
      { name: this.#name(), optional: this.#r.chance(40) },
    );
    return { schema, layout: { kind: 'struct', fields: fields.map(([, f]) => f.layout) } };
  }

  #row(): { schema: Schema; layout: Layout } {
    const kind = this.#rowKind(this.#r.chance(5) ? 120 : 1 + this.#r.below(9), this.#r.chance(40));
    return this.#rows(kind, () => (kind.optional && this.#r.chance(15) ? null : kind.makers.map(make => make())));
  }

  /** Rows of the same columns, the second mostly with the values of the first. */
  #pair(): { schema: Schema; layout: Layout }[] {
    const r = this.#r;
    const kind = this.#rowKind(r.chance(20) ? 100 + r.below(20) : 9 + r.below(20), r.chance(10));
    const isAbsent = (): boolean => kind.optional && r.chance(15);
    const first: (readonly Slice[] | null)[] = [];
    const before = this.#rows(kind, i => {
      first[i] = isAbsent() ? null : kind.makers.map(make => make());
      return first[i];
    });
    const share = r.pick([0, 5, 30, 100]);
    const after = this.#rows(kind, i => {
      if (isAbsent()) return null;
      return kind.makers.map((make, column) => (r.chance(share) ? make() : (first[i]?.[column] ?? make())));
    });
    return [before, after];
  }

  #rows(
    { schema, format, columns }: RowKind,
    slices: (index: number) => readonly Slice[] | null,
  ): { schema: Schema; layout: Layout } {
    const slot = this.#positions.length;
    const positions = new Int32Array(this.#count);
    this.#positions.push(positions);
    for (let i = 0; i < this.#count; i++) {
      const row = slices(i);
      positions[i] = row === null ? -1 : this.#append(rowBytes(format, row));
    }
    return { schema, layout: { kind: 'row', slot, format, columns } };
  }

  #rowKind(width: number, isShuffled: boolean): RowKind {
    const r = this.#r;
    const format: RowFormat = r.pick(['pg-tuple', 'pg-copy', 'mysql-binlog', 'mysql-text']);
    const chosen = Array.from({ length: width }, () => (r.chance(5) ? null : r.pick(kinds)));
    const fields: [string, Schema][] = [];
    const columns: ColumnLayout[] = [];
    const makers: (() => Slice)[] = [];
    const order = chosen.map((_, at) => at);
    if (isShuffled) order.sort(() => r.below(3) - 1);
    const fieldAt = new Map<number, number>();
    for (const at of order) {
      if (r.chance(85)) fieldAt.set(at, fieldAt.size);
    }
    const schemas: Schema[] = [];
    chosen.forEach((kind, at) => {
      const field = fieldAt.get(at) ?? -1;
      const options = this.#options(k => (kind === null ? [1, null] : kind.value(k)));
      const schema = withOptions(kind === null ? listKind.schema : kind.schema, options);
      const nullValue = kind !== null && r.chance(30) ? kind.value(r) : undefined;
      const whenNull = kind !== null && r.chance(10) ? kind.value(r) : undefined;
      const unchanged = kind !== null && r.chance(30) ? kind.value(r) : undefined;
      const extent = kind?.size !== undefined && r.chance(80) ? kind.size : r.pick([-2, -3, -4]);
      const canBeNull =
        schema.optional ||
        (schema.defaultValue ?? null) !== null ||
        (nullValue ?? whenNull) !== undefined ||
        field === -1;
      columns.push({
        field,
        column: field === -1 ? { wire: 'skip' } : kind === null ? listKind.wire : kind.wire,
        nullValue,
        whenNull,
        unchanged,
        ...(format === 'mysql-binlog' && { extent }),
      });
      if (field !== -1) schemas[field] = schema;
      makers.push(() => {
        if (canBeNull && r.chance(20)) return { bytes: null, mark: 'n', extent };
        if (format === 'pg-tuple' && (unchanged !== undefined || field === -1) && r.chance(20))
          return { bytes: null, mark: 'u', extent };
        const notFinite = canBeNull && r.chance(10) ? notFiniteForm(kind?.wire) : null;
        return {
          bytes: kind === null ? r.bytes() : (notFinite ?? sliceOf(kind, r, canBeNull)),
          mark: kind?.text ? 't' : 'b',
          extent,
        };
      });
    });
    schemas.forEach(schema => {
      fields.push([this.#name(), schema]);
    });
    const optional = r.chance(60);
    const schema = struct(fields, { name: this.#name(), optional });
    return { schema, format, columns, makers, optional };
  }

  #long(bits: number, nulls: boolean): number {
    const slot = this.#longs.push(BigInt64Array.from({ length: this.#count }, () => this.#r.long(bits))) - 1;
    if (nulls && this.#r.chance(50))
      this.#longNulls[slot] = Uint8Array.from({ length: this.#count }, () => this.#r.below(2));
    return slot;
  }

  #groupLong(bits: number): LongSlot {
    const slot = this.#longs.push(BigInt64Array.from({ length: GROUPS }, () => this.#r.long(bits))) - 1;
    return { slot, isGrouped: true };
  }

  #choice(of: number): number {
    return this.#choices.push(Uint8Array.from({ length: this.#count }, () => this.#r.below(of))) - 1;
  }

  #name(): string {
    return `n${this.#names++}`;
  }
}

interface RowKind {
  readonly schema: Schema;
  readonly format: RowFormat;
  readonly columns: readonly ColumnLayout[];
  readonly makers: readonly (() => Slice)[];
  /** Whether there may be no row. */
  readonly optional: boolean;
}

/** A column of a row; `bytes` null = null or, by its mark, unchanged. */
interface Slice {
  readonly bytes: Buffer | null;
  readonly mark: string;
  readonly extent: number;
}

function rowBytes(format: RowFormat, slices: readonly Slice[]): Buffer {
  const parts: Buffer[] = [];
  const number = (size: number, write: (b: Buffer) => void): void => {
    const b = Buffer.alloc(size);
    write(b);
    parts.push(b);
  };
  switch (format) {
    case 'pg-tuple':
    case 'pg-copy':
      number(2, b => b.writeInt16BE(slices.length));
      for (const { bytes, mark } of slices) {
        if (format === 'pg-tuple') parts.push(Buffer.from(mark));
        if (bytes !== null || format === 'pg-copy') number(4, b => b.writeInt32BE(bytes?.length ?? -1));
        if (bytes !== null) parts.push(bytes);
      }
      break;
    case 'mysql-binlog':
      number((slices.length + 7) >> 3, b => {
        for (const [at, { bytes }] of slices.entries()) if (bytes === null) b[at >> 3] |= 1 << (at & 7);
      });
      for (const { bytes, extent } of slices) {
        if (bytes === null) continue;
        if (extent < 0) number(-extent, b => b.writeUIntLE(bytes.length, 0, -extent));
        parts.push(bytes);
      }
      break;
    case 'mysql-text':
      for (const { bytes } of slices) {
        if (bytes === null) parts.push(Buffer.from([251]));
        else if (bytes.length < 251) parts.push(Buffer.from([bytes.length]), bytes);
        else if (bytes.length < 9000) parts.push(Buffer.from([252, bytes.length & 255, bytes.length >> 8]), bytes);
        else if (bytes.length < 20_000) {
          number(4, b => b.writeUInt32LE(253 + bytes.length * 256));
          parts.push(bytes);
        } else {
          parts.push(Buffer.from([254]));
          number(8, b => b.writeUInt32LE(bytes.length));
          parts.push(bytes);
        }
      }
      break;
  }
  return Buffer.concat(parts);
}
