import type { Schema } from '../data/index.ts';
import type { ColumnWire } from './layout.ts';

/** A part of a block: bytes of the structure, a constant, or a value of the batch; values are written as their schema says, union branch included. */
export type BlockPart =
  | { readonly part: 'byte'; readonly byte: number }
  | { readonly part: 'bytes'; readonly bytes: Buffer }
  | { readonly part: 'value'; readonly schema: Schema; readonly value: unknown }
  | { readonly part: 'batch'; readonly schema: Schema; readonly slot: number };

export type Decode = Extract<ColumnWire, { wire: 'function' }>['decode'];

/** Everything a generated function needs that is not in its source. */
export interface Program {
  readonly source: string;
  readonly blocks: readonly (readonly BlockPart[])[];
  readonly functions: readonly { readonly schema: Schema; readonly decode: Decode }[];
  /** Names that rows have by their number. */
  readonly names: readonly (readonly string[])[];
  readonly linears: readonly Extract<ColumnWire, { wire: 'int32be-linear' | 'int64be-linear' }>[];
  /** Upper bound of all bytes of a record that are not in blocks, slices or values of functions. */
  readonly fixedBytes: number;
  /** Columns of the widest row whose slices have to be remembered. */
  readonly scratchColumns: number;
  /** Columns of the widest row whose ends are noted, for the row behind it that may have the same. */
  readonly notedColumns: number;
  readonly stretches: number;
  readonly slots: {
    readonly positions: ReadonlySet<number>;
    readonly longs: ReadonlySet<number>;
    readonly groupLongs: ReadonlySet<number>;
    readonly choices: ReadonlySet<number>;
  };
}
