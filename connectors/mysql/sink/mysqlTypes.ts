/** The types that the shared parts of SQL sinks carry for MySQL and MariaDB. */
import type { RowShape, ShapeColumn } from '../../shared/rowShape.ts';
import type { SqlCodec } from '../../shared/sqlTypes.ts';
import type { TargetColumn, TargetTable } from './catalog.ts';

export interface MysqlTypes {
  readonly column: TargetColumn;
  readonly codec: SqlCodec;
  readonly table: TargetTable;
}

export type MysqlShape = RowShape<MysqlTypes>;
export type MysqlShapeColumn = ShapeColumn<MysqlTypes>;
