/** A column as its type needs it known, whether it was read from the catalogue or from the log: both must give the same. */
import type { MariaTextKind } from './mariaTextTypes.ts';

export type ColumnKind =
  | 'tinyint'
  | 'smallint'
  | 'mediumint'
  | 'int'
  | 'bigint'
  | 'float'
  | 'double'
  | 'decimal'
  | 'bit'
  | 'year'
  | 'date'
  | 'time'
  | 'datetime'
  | 'timestamp'
  /** CHAR, VARCHAR and the TEXT types. */
  | 'text'
  /** BINARY(n), whose trailing zero bytes the log leaves out. */
  | 'binary'
  /** VARBINARY and the BLOB types. */
  | 'blob'
  | 'enum'
  | 'set'
  | 'json'
  | 'geometry'
  | 'vector'
  | MariaTextKind;

export interface ColumnDef {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly isRequired: boolean;
  readonly isUnsigned: boolean;
  /** Digits of a DECIMAL, bits of a BIT, bytes of a BINARY; else 0. */
  readonly length: number;
  /** Fraction digits of DECIMAL, TIME, DATETIME and TIMESTAMP; else 0. */
  readonly scale: number;
  /** The character set of text in the log. */
  readonly charset: string | null;
  /** Names of an ENUM or SET. */
  readonly values: readonly string[];
  readonly isPoint: boolean;
  /** FLOAT(m,d) and FLOAT UNSIGNED differ from FLOAT only in the catalogue. */
  readonly hasFloatScale: boolean;
  readonly isZerofill: boolean;
}
