import type { ColumnWire } from './layout.ts';

/** In which of pgoutput's two forms, 't'ext or 'b'inary, a value of this wire form comes. */
export function tupleKind(wire: ColumnWire): 'text' | 'binary' | 'any' {
  switch (wire.wire) {
    case 'bool-t':
    case 'integer-t':
    case 'float-t':
    case 'hex-t':
    case 'decimal-t':
      return 'text';
    case 'utf8':
      return wire.skip ? 'binary' : 'any';
    case 'skip':
    case 'function':
      return 'any';
    case 'int16be':
    case 'int32be':
    case 'int64be':
    case 'int32be-linear':
    case 'int64be-linear':
    case 'float32be':
    case 'float64be':
    case 'bool8':
    case 'bytes':
    case 'numeric-pg':
    case 'uuid':
    case 'float32le':
    case 'float64le':
    case 'int-le':
    case 'bytes-mysql':
    case 'decimal-mysql':
    case 'date-mysql':
    case 'datetime-mysql':
    case 'timestamp-mysql':
    case 'time-mysql':
    case 'year-mysql':
    case 'name-le':
      return 'binary';
  }
}
