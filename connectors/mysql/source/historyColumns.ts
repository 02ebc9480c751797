/** Columns of a TABLE_MAP without names: those of the table's definition at that moment, as far as the log agrees. */
import { ConnectError } from '../../../runtime/api/index.ts';
import { type ColumnDefinition, keyColumnsOf, type TableDefinition, typeName } from '../ddl/tableDefinition.ts';
import { unescaped } from '../ddl/tokens.ts';
import { extentOf } from '../protocol/logTypes.ts';
import type { MappedColumn, TableMap } from '../protocol/tableMap.ts';
import type { ColumnDef, ColumnKind } from '../types/columnDef.ts';
import { kindOf as kindOfType } from './catalog.ts';
import { lengthOf, loggedKind, scaleOf } from './loggedColumns.ts';
import type { RowColumn } from './tableVersion.ts';

export interface HistoryTable {
  readonly columns: readonly RowColumn[];
  readonly keyColumns: readonly string[];
}

/** Throws MYSQL_ROW_METADATA where the definition is not known, or is not that of the rows. */
export function historyTable(map: TableMap, definition: TableDefinition | null): HistoryTable {
  if (definition === null) throw unknown(map, 'and there is no history of it');
  if (definition.columns.length !== map.columns.length) {
    throw unknown(map, `and its history has ${definition.columns.length} columns, the log ${map.columns.length}`);
  }
  const columns = map.columns.map((column, i) => rowColumn(map, column, definition.columns[i]!));
  return { columns, keyColumns: keyColumnsOf(definition) };
}

function unknown(map: TableMap, why: string): ConnectError {
  const table = `${map.database}.${map.table}`;
  return new ConnectError(
    'MYSQL_ROW_METADATA',
    `The log does not name the columns of ${table}, ${why}. Set binlog_row_metadata=FULL on the server; for changes from before, reset the offsets of the connector.`,
    { place: { table } },
  );
}

/** The log does not tell texts from bytes without metadata. */
const FAMILIES: Readonly<Partial<Record<ColumnKind, ColumnKind>>> = {
  text: 'blob',
  binary: 'blob',
  uuid: 'blob',
  inet4: 'blob',
  inet6: 'blob',
};
const family = (kind: ColumnKind): ColumnKind => FAMILIES[kind] ?? kind;

function rowColumn(map: TableMap, column: MappedColumn, definition: ColumnDefinition): RowColumn {
  const { name } = definition;
  const { type, metadata } = column;
  const extent = extentOf(type, metadata);
  const logged = loggedKind(type, metadata, true);
  const kind = kindOfType(definition.type.toLowerCase());
  if (extent === null || (logged !== null && kind !== null && family(logged) !== family(kind))) {
    throw unknown(map, `and its history has ${typeName(definition)} for ${name}, the log type ${type}`);
  }
  const def: ColumnDef | null =
    kind === null || logged === null
      ? null
      : {
          name,
          kind,
          isRequired: !column.isNullable,
          isUnsigned: definition.isUnsigned,
          length: lengthOf(kind, metadata),
          scale: scaleOf(kind, type, metadata),
          charset: kind === 'text' || kind === 'enum' || kind === 'set' ? (definition.charset ?? 'utf8mb4') : null,
          values: definition.values?.map(unescaped) ?? [],
          isPoint: definition.type === 'POINT',
          hasFloatScale: definition.type === 'FLOAT' && definition.scale !== null,
          isZerofill: definition.isZerofill,
        };
  const { length, scale } = definition;
  return { name, def, extent, declared: { name: typeName(definition), length, scale } };
}
