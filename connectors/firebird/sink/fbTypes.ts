/** The types that the shared parts of SQL sinks carry for Firebird. */
import type { RowShape } from '../../shared/rowShape.ts';
import type { TargetColumn, TargetTable } from './catalog.ts';
import type { ColumnCodec } from './columnCodec.ts';

export interface FbTypes {
  readonly column: TargetColumn;
  readonly codec: ColumnCodec;
  readonly table: TargetTable;
}

export type FbShape = RowShape<FbTypes>;
