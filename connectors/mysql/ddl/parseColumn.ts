/** The definition of a column: its type in the form that the server itself shows, and the attributes that matter for events. */
import type { ColumnDefinition } from './tableDefinition.ts';
import { isTextual } from './tableDefinition.ts';
import type { TokenCursor } from './tokens.ts';

/** A column, and what its definition says of keys. */
export interface ParsedColumn {
  readonly column: ColumnDefinition;
  readonly isPrimary: boolean;
  readonly isUnique: boolean;
}

/** Stands for CURRENT_TIMESTAMP as a default. */
export const NOW = 'CURRENT_TIMESTAMP';

const SYNONYMS: Readonly<Record<string, string>> = {
  INTEGER: 'INT',
  INT1: 'TINYINT',
  INT2: 'SMALLINT',
  INT3: 'MEDIUMINT',
  MIDDLEINT: 'MEDIUMINT',
  INT4: 'INT',
  INT8: 'BIGINT',
  BOOL: 'TINYINT',
  BOOLEAN: 'TINYINT',
  SERIAL: 'BIGINT',
  DEC: 'DECIMAL',
  NUMERIC: 'DECIMAL',
  FIXED: 'DECIMAL',
  REAL: 'DOUBLE',
  FLOAT4: 'FLOAT',
  FLOAT8: 'DOUBLE',
  CHARACTER: 'CHAR',
  NCHAR: 'CHAR',
  NVARCHAR: 'VARCHAR',
  LONG: 'MEDIUMTEXT',
  GEOMETRYCOLLECTION: 'GEOMCOLLECTION',
};

const BINARY_FORMS: Readonly<Record<string, string>> = {
  CHAR: 'BINARY',
  VARCHAR: 'VARBINARY',
  TINYTEXT: 'TINYBLOB',
  TEXT: 'BLOB',
  MEDIUMTEXT: 'MEDIUMBLOB',
  LONGTEXT: 'LONGBLOB',
};

/** Behind the column's name, up to the comma or parenthesis that ends it, or to FIRST or AFTER. */
export function parseColumn(name: string, cursor: TokenCursor): ParsedColumn {
  const type = parseType(cursor);
  let { charset } = type;
  let isRequired = type.isSerial;
  let isAutoIncrement = type.isSerial;
  let isOnUpdate = false;
  let defaultText: string | null = null;
  let comment: string | null = null;
  let isPrimary = false;
  let isUnique = type.isSerial;
  let { isUnsigned, isZerofill } = type;
  while (!isEnd(cursor)) {
    if (cursor.take('NOT', 'NULL')) isRequired = true;
    else if (cursor.take('NULL')) isRequired = false;
    else if (cursor.take('UNSIGNED')) isUnsigned = true;
    else if (cursor.take('SIGNED')) isUnsigned = false;
    else if (cursor.take('ZEROFILL')) isUnsigned = isZerofill = true;
    else if (cursor.take('DEFAULT')) defaultText = parseDefault(cursor);
    else if (cursor.take('AUTO_INCREMENT')) isAutoIncrement = true;
    else if (cursor.take('SERIAL', 'DEFAULT', 'VALUE')) isRequired = isAutoIncrement = isUnique = true;
    else if (cursor.take('ON', 'UPDATE')) {
      isOnUpdate = true;
      cursor.skip();
      if (cursor.isSymbol('(')) cursor.skip();
    } else if (cursor.take('PRIMARY', 'KEY') || cursor.take('KEY')) isPrimary = true;
    else if (cursor.take('UNIQUE')) {
      cursor.take('KEY');
      isUnique = true;
    } else if (cursor.take('COMMENT')) comment = cursor.text();
    else if (cursor.take('CHARACTER', 'SET') || cursor.take('CHARSET')) charset = cursor.name().toLowerCase();
    else if (cursor.take('COLLATE')) charset ??= charsetOfCollation(cursor.name());
    else if (cursor.take('ASCII')) charset = 'latin1';
    else if (cursor.take('UNICODE')) charset = 'ucs2';
    else if (cursor.take('BYTE')) charset = 'binary';
    else if (cursor.take('REFERENCES')) skipReference(cursor);
    else cursor.skip();
  }
  const isBinary = charset === 'binary' && BINARY_FORMS[type.name] !== undefined;
  const name_ = isBinary ? BINARY_FORMS[type.name]! : type.name;
  return {
    isPrimary,
    isUnique,
    column: {
      name,
      type: name_,
      isUnsigned,
      isZerofill,
      length: type.length,
      scale: type.scale,
      charset: isTextual(name_) ? charset : null,
      values: type.values,
      isRequired: isRequired || isPrimary,
      isAutoIncrement,
      isOnUpdate,
      defaultText,
      comment,
    },
  };
}

/** What ends a column: FIRST and AFTER are reserved only where ALTER TABLE has them. */
const isEnd = (cursor: TokenCursor): boolean =>
  cursor.isAtEnd || cursor.isSymbol(',') || cursor.isSymbol(')') || cursor.isWord('FIRST') || cursor.isWord('AFTER');

interface ParsedType {
  readonly name: string;
  readonly length: number | null;
  readonly scale: number | null;
  readonly values: readonly string[] | null;
  readonly charset: string | null;
  readonly isUnsigned: boolean;
  readonly isZerofill: boolean;
  readonly isSerial: boolean;
}

function parseType(cursor: TokenCursor): ParsedType {
  const isNational = cursor.take('NATIONAL');
  const written = cursor.name().toUpperCase();
  let name = SYNONYMS[written] ?? written;
  if (name === 'DOUBLE') cursor.take('PRECISION');
  if (name === 'CHAR' && cursor.take('VARYING')) name = 'VARCHAR';
  if (written === 'LONG') {
    if (cursor.take('VARBINARY')) name = 'MEDIUMBLOB';
    else cursor.take('VARCHAR');
  }
  const isBoolean = written === 'BOOL' || written === 'BOOLEAN';
  let length: number | null = isBoolean ? 1 : null;
  let scale: number | null = null;
  let values: string[] | null = null;
  if (cursor.isSymbol('(')) {
    if (name === 'ENUM' || name === 'SET') values = parseValues(cursor);
    else {
      cursor.expectSymbol('(');
      length = cursor.number();
      if (cursor.takeSymbol(',')) scale = cursor.number();
      cursor.expectSymbol(')');
    }
  }
  if (name === 'DECIMAL') {
    length ??= 10;
    scale ??= 0;
  } else if (name === 'FLOAT' && length !== null && scale === null) {
    if (length > 24) name = 'DOUBLE';
    length = null;
  } else if (name === 'BIT' || name === 'BINARY' || name === 'CHAR') length ??= 1;
  else if (name === 'ENUM') length = 1;
  else if (name === 'SET') length = 2 * values!.length - 1;
  else if (/^(TINY|MEDIUM|LONG)?(TEXT|BLOB)$|^YEAR$/.test(name)) length = null;
  // The width in which an integer is shown means nothing, and newer servers leave it out; that of TINYINT(1) is a mark.
  else if (/INT$/.test(name) && !(name === 'TINYINT' && length === 1) && !isZerofillNext(cursor)) length = null;
  const isNationalText = isNational || written === 'NCHAR' || written === 'NVARCHAR';
  return {
    name,
    length,
    scale,
    values,
    charset: isNationalText ? 'utf8mb3' : null,
    isUnsigned: written === 'SERIAL',
    isZerofill: false,
    isSerial: written === 'SERIAL',
  };
}

const isZerofillNext = (cursor: TokenCursor): boolean =>
  cursor.isWord('ZEROFILL') || (cursor.isWord('UNSIGNED') && cursor.isWord('ZEROFILL', 1));

/** The contents of the literals as written; a name of hexadecimal digits is taken for what it stands for. */
function parseValues(cursor: TokenCursor): string[] {
  const values: string[] = [];
  cursor.expectSymbol('(');
  do {
    if (cursor.peek()?.kind === 'word') cursor.next();
    values.push(cursor.text());
  } while (cursor.takeSymbol(','));
  cursor.expectSymbol(')');
  return values;
}

/** null = NULL, or an expression. */
export function parseDefault(cursor: TokenCursor): string | null {
  if (cursor.isSymbol('(')) {
    cursor.skip();
    return null;
  }
  const sign = cursor.takeSymbol('-') ? '-' : '';
  if (sign === '') cursor.takeSymbol('+');
  const token = cursor.peek();
  if (token?.kind === 'text') return cursor.text();
  if (token?.kind === 'number') return sign + cursor.next().text;
  const word = cursor.name().toUpperCase();
  // b'101', x'1F', _utf8mb4'text', DATE '2020-01-01': a word that says how the literal is meant.
  if (cursor.peek()?.kind === 'text') {
    const text = cursor.text();
    return word === 'X' ? `0x${text}` : text;
  }
  const isCall = cursor.isSymbol('(');
  if (isCall) cursor.skip();
  switch (word) {
    case 'CURRENT_TIMESTAMP':
    case 'NOW':
    case 'LOCALTIME':
    case 'LOCALTIMESTAMP':
      return NOW;
    case 'TRUE':
      return '1';
    case 'FALSE':
      return '0';
    case 'NEXT':
      cursor.expect('VALUE', 'FOR');
      cursor.name();
      if (cursor.takeSymbol('.')) cursor.name();
      return null;
    default:
      return null;
  }
}

/** Collations begin with the name of their character set. */
export const charsetOfCollation = (collation: string): string | null => {
  const name = collation.toLowerCase();
  if (name === 'binary') return 'binary';
  // MariaDB has collations that are of any character set.
  if (name.startsWith('uca1400_')) return null;
  return name.slice(0, name.indexOf('_'));
};

export function skipReference(cursor: TokenCursor): void {
  cursor.name();
  if (cursor.takeSymbol('.')) cursor.name();
  if (cursor.isSymbol('(')) cursor.skip();
  for (;;) {
    if (cursor.take('MATCH')) cursor.next();
    else if (cursor.take('ON', 'DELETE') || cursor.take('ON', 'UPDATE')) {
      if (!cursor.take('SET', 'NULL') && !cursor.take('SET', 'DEFAULT') && !cursor.take('NO', 'ACTION')) cursor.next();
    } else return;
  }
}
