import type { ColumnDef } from './columnDef.ts';
import type { ColumnType, TypeSettings } from './columnType.ts';
import { geometryType, pointType, vectorType } from './geometryTypes.ts';
import { mariaTextType } from './mariaTextTypes.ts';
import { bitType, decimalType, doubleType, floatType, integerType, yearType } from './numericTypes.ts';
import { dateType, datetimeType, timestampType, timeType } from './temporalTypes.ts';
import { binaryType, enumType, jsonType, setType, textType } from './textTypes.ts';

/** null where the column cannot be read, for its character set. */
export function resolveType(def: ColumnDef, settings: TypeSettings): ColumnType | null {
  switch (def.kind) {
    case 'tinyint':
    case 'smallint':
    case 'mediumint':
    case 'int':
    case 'bigint':
      return integerType(def, def.kind, settings);
    case 'float':
      return floatType(def);
    case 'double':
      return doubleType;
    case 'decimal':
      return decimalType(def, settings);
    case 'bit':
      return bitType(def);
    case 'year':
      return yearType;
    case 'date':
      return dateType(settings);
    case 'time':
      return timeType(def, settings);
    case 'datetime':
      return datetimeType(def, settings);
    case 'timestamp':
      return timestampType(def);
    case 'text':
      return textType(def);
    case 'binary':
    case 'blob':
      return binaryType(def, settings);
    case 'enum':
      return enumType(def);
    case 'set':
      return setType(def);
    case 'json':
      return jsonType;
    case 'geometry':
      return def.isPoint ? pointType : geometryType;
    case 'vector':
      return vectorType;
    case 'uuid':
    case 'inet4':
    case 'inet6':
      return mariaTextType(def.kind);
  }
}
