/** The types that the shared parts of SQL sinks carry for PostgreSQL. */
import type { RowShape, ShapeColumn } from '../../shared/rowShape.ts';
import type { TargetColumn, TargetTable } from './catalog.ts';
import type { ColumnCodec } from './columnCodec.ts';

export interface PgTypes {
  readonly column: TargetColumn;
  readonly codec: ColumnCodec;
  readonly table: TargetTable;
}

export type PgShape = RowShape<PgTypes>;
export type PgShapeColumn = ShapeColumn<PgTypes>;
