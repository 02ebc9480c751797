/**
 * The statements that define tables, read as far as events need it: columns, keys and character sets. What else there is in them is stepped over. A statement
 * that defines nothing of tables is null; one that cannot be read is a SyntaxError.
 */
import { charsetOfCollation, type ParsedColumn, parseColumn, parseDefault, skipReference } from './parseColumn.ts';
import { TokenCursor } from './tokens.ts';

export interface TableRef {
  readonly database: string;
  readonly name: string;
}

export interface ParsedKey {
  readonly kind: 'primary' | 'unique';
  readonly name: string | null;
  readonly columns: readonly string[];
  readonly isWhole: boolean;
}

export interface TableOptions {
  readonly charset: string | null;
  readonly comment: string | null;
}

export type Place = { readonly kind: 'first' | 'last' } | { readonly kind: 'after'; readonly column: string };

export type AlterSpec =
  | { readonly kind: 'add'; readonly columns: readonly ParsedColumn[]; readonly place: Place }
  | { readonly kind: 'drop' | 'drop-key'; readonly name: string }
  | { readonly kind: 'change'; readonly from: string; readonly column: ParsedColumn; readonly place: Place | null }
  | { readonly kind: 'rename-column' | 'rename-key'; readonly from: string; readonly to: string }
  | { readonly kind: 'default'; readonly column: string; readonly text: string | null }
  | { readonly kind: 'add-key'; readonly key: ParsedKey }
  | { readonly kind: 'drop-primary' }
  | { readonly kind: 'convert'; readonly charset: string | null }
  | { readonly kind: 'rename'; readonly to: TableRef }
  | { readonly kind: 'options'; readonly options: TableOptions };

export type DdlStatement =
  | {
      readonly kind: 'create-table';
      readonly table: TableRef;
      readonly isOptional: boolean;
      /** OR REPLACE: there may be one already. */
      readonly isReplacing: boolean;
      readonly columns: readonly ParsedColumn[];
      readonly keys: readonly ParsedKey[];
      readonly options: TableOptions;
      readonly like: TableRef | null;
    }
  | { readonly kind: 'alter-table'; readonly table: TableRef; readonly specs: readonly AlterSpec[] }
  | {
      readonly kind: 'rename-tables';
      readonly pairs: readonly { readonly from: TableRef; readonly to: TableRef; readonly text: string }[];
    }
  | { readonly kind: 'drop-tables'; readonly tables: readonly TableRef[]; readonly isOptional: boolean }
  | { readonly kind: 'create-index'; readonly table: TableRef; readonly key: ParsedKey | null }
  | { readonly kind: 'drop-index'; readonly table: TableRef; readonly name: string }
  | { readonly kind: 'database'; readonly name: string; readonly charset: string | null }
  | { readonly kind: 'drop-database'; readonly name: string };

export function parseStatement(sql: string, database: string): DdlStatement | null {
  const cursor = new TokenCursor(sql);
  if (cursor.take('CREATE')) return parseCreate(cursor, database);
  if (cursor.take('ALTER')) return parseAlter(cursor, database);
  if (cursor.take('RENAME')) {
    if (!cursor.take('TABLE') && !cursor.take('TABLES')) return null;
    return parseRename(cursor, database);
  }
  if (cursor.take('DROP')) return parseDrop(cursor, database);
  return null;
}

function parseCreate(cursor: TokenCursor, database: string): DdlStatement | null {
  const isReplacing = cursor.take('OR', 'REPLACE');
  if (cursor.take('DATABASE') || cursor.take('SCHEMA')) {
    cursor.take('IF', 'NOT', 'EXISTS');
    return { kind: 'database', name: cursor.name(), charset: databaseCharset(cursor) };
  }
  if (cursor.take('TABLE')) return parseCreateTable(cursor, database, isReplacing);
  // A temporary table is seen by its session only.
  const isUnique = cursor.take('UNIQUE');
  if (!isUnique) cursor.take('FULLTEXT') || cursor.take('SPATIAL');
  if (!cursor.take('INDEX')) return null;
  cursor.take('IF', 'NOT', 'EXISTS');
  const name = cursor.name();
  if (cursor.take('USING')) cursor.name();
  cursor.expect('ON');
  const table = tableRef(cursor, database);
  if (!isUnique) return { kind: 'create-index', table, key: null };
  return { kind: 'create-index', table, key: { kind: 'unique', name, ...keyParts(cursor) } };
}

function databaseCharset(cursor: TokenCursor): string | null {
  let charset: string | null = null;
  while (!cursor.isAtEnd) {
    if (cursor.take('CHARACTER', 'SET') || cursor.take('CHARSET')) {
      cursor.takeSymbol('=');
      charset = cursor.name().toLowerCase();
    } else if (cursor.take('COLLATE')) {
      cursor.takeSymbol('=');
      charset ??= charsetOfCollation(cursor.name());
    } else cursor.skip();
  }
  return charset;
}

function tableRef(cursor: TokenCursor, database: string): TableRef {
  const name = cursor.name();
  return cursor.takeSymbol('.') ? { database: name, name: cursor.name() } : { database, name };
}

function parseCreateTable(cursor: TokenCursor, database: string, isReplacing: boolean): DdlStatement {
  const isOptional = cursor.take('IF', 'NOT', 'EXISTS');
  const table = tableRef(cursor, database);
  const columns: ParsedColumn[] = [];
  const keys: ParsedKey[] = [];
  const none: TableOptions = { charset: null, comment: null };
  const base = { kind: 'create-table', table, isOptional, isReplacing, columns, keys } as const;
  if (cursor.take('LIKE')) return { ...base, options: none, like: tableRef(cursor, database) };
  if (!cursor.takeSymbol('(')) throw cursor.unexpected('the list of columns');
  if (cursor.take('LIKE')) return { ...base, options: none, like: tableRef(cursor, database) };
  do {
    const key = parseKey(cursor);
    if (key === undefined) columns.push(parseColumn(cursor.name(), cursor));
    else if (key !== null) keys.push(key);
    if (!cursor.isSymbol(',') && !cursor.isSymbol(')')) throw cursor.unexpected('a comma');
  } while (cursor.takeSymbol(','));
  cursor.expectSymbol(')');
  return { ...base, options: parseOptions(cursor), like: null };
}

/** Options up to the end, a comma, or what is no option: partitions, a query. */
function parseOptions(cursor: TokenCursor): TableOptions {
  let charset: string | null = null;
  let comment: string | null = null;
  while (!cursor.isAtEnd && !cursor.isSymbol(',')) {
    if (cursor.isWord('PARTITION') || cursor.isWord('AS') || cursor.isWord('SELECT')) {
      while (!cursor.isAtEnd) cursor.skip();
    } else if (cursor.take('CHARACTER', 'SET') || cursor.take('CHARSET')) {
      cursor.takeSymbol('=');
      charset = cursor.name().toLowerCase();
    } else if (cursor.take('COLLATE')) {
      cursor.takeSymbol('=');
      charset ??= charsetOfCollation(cursor.name());
    } else if (cursor.take('COMMENT')) {
      cursor.takeSymbol('=');
      comment = cursor.text();
    } else cursor.skip();
  }
  return { charset: charset === 'default' ? null : charset, comment };
}

/** undefined = it is a column; null = something else that is no key of interest. */
function parseKey(cursor: TokenCursor): ParsedKey | null | undefined {
  const start = cursor.position;
  let name: string | null = null;
  if (cursor.take('CONSTRAINT')) {
    const isNamed = !['PRIMARY', 'UNIQUE', 'FOREIGN', 'CHECK'].some(word => cursor.isWord(word));
    if (isNamed) name = cursor.name();
  }
  if (cursor.take('PRIMARY', 'KEY')) return { kind: 'primary', ...namedKeyParts(cursor), name: null };
  if (cursor.take('UNIQUE')) {
    cursor.take('INDEX') || cursor.take('KEY');
    const parts = namedKeyParts(cursor);
    return { kind: 'unique', ...parts, name: parts.name ?? name };
  }
  const isOther =
    cursor.take('FOREIGN', 'KEY') ||
    cursor.take('CHECK') ||
    cursor.take('INDEX') ||
    cursor.take('KEY') ||
    cursor.take('FULLTEXT') ||
    cursor.take('SPATIAL') ||
    cursor.take('PERIOD', 'FOR') ||
    cursor.take('PERIOD');
  if (isOther) {
    while (!cursor.isAtEnd && !cursor.isSymbol(',') && !cursor.isSymbol(')')) {
      if (cursor.take('REFERENCES')) skipReference(cursor);
      else cursor.skip();
    }
    return null;
  }
  cursor.position = start;
  return undefined;
}

function namedKeyParts(cursor: TokenCursor): { name: string | null; columns: readonly string[]; isWhole: boolean } {
  cursor.take('IF', 'NOT', 'EXISTS');
  const name = cursor.isSymbol('(') || cursor.isWord('USING') ? null : cursor.name();
  if (cursor.take('USING')) cursor.name();
  return { name, ...keyParts(cursor) };
}

/** The list of columns, and the options behind it. */
function keyParts(cursor: TokenCursor): { columns: readonly string[]; isWhole: boolean } {
  const columns: string[] = [];
  let isWhole = true;
  cursor.expectSymbol('(');
  do {
    if (cursor.isSymbol('(')) {
      cursor.skip();
      isWhole = false;
    } else columns.push(cursor.name());
    if (cursor.isSymbol('(')) {
      cursor.skip();
      isWhole = false;
    }
    if (!cursor.take('ASC')) cursor.take('DESC');
  } while (cursor.takeSymbol(','));
  cursor.expectSymbol(')');
  while (!cursor.isAtEnd && !cursor.isSymbol(',') && !cursor.isSymbol(')')) cursor.skip();
  return { columns, isWhole };
}

function parseRename(cursor: TokenCursor, database: string): DdlStatement {
  cursor.take('IF', 'EXISTS');
  const pairs: { from: TableRef; to: TableRef; text: string }[] = [];
  do {
    const start = cursor.peek()?.start ?? 0;
    const from = tableRef(cursor, database);
    while (!cursor.take('TO')) {
      // WAIT n and NOWAIT of MariaDB.
      if (!cursor.take('NOWAIT')) {
        cursor.expect('WAIT');
        cursor.number();
      }
    }
    const to = tableRef(cursor, database);
    const end = cursor.peek()?.start ?? cursor.sql.length;
    pairs.push({ from, to, text: `RENAME TABLE ${cursor.sql.slice(start, end).trim()}` });
  } while (cursor.takeSymbol(','));
  return { kind: 'rename-tables', pairs };
}

function parseDrop(cursor: TokenCursor, database: string): DdlStatement | null {
  if (cursor.take('DATABASE') || cursor.take('SCHEMA')) {
    cursor.take('IF', 'EXISTS');
    return { kind: 'drop-database', name: cursor.name() };
  }
  if (cursor.take('INDEX')) {
    cursor.take('IF', 'EXISTS');
    const name = cursor.name();
    cursor.expect('ON');
    return { kind: 'drop-index', table: tableRef(cursor, database), name };
  }
  if (!cursor.take('TABLE') && !cursor.take('TABLES')) return null;
  const isOptional = cursor.take('IF', 'EXISTS');
  const tables: TableRef[] = [];
  do tables.push(tableRef(cursor, database));
  while (cursor.takeSymbol(','));
  return { kind: 'drop-tables', tables, isOptional };
}

function parseAlter(cursor: TokenCursor, database: string): DdlStatement | null {
  if (cursor.take('DATABASE') || cursor.take('SCHEMA')) {
    const isNamed = !['CHARACTER', 'CHARSET', 'COLLATE', 'DEFAULT', 'READ'].some(word => cursor.isWord(word));
    return { kind: 'database', name: isNamed ? cursor.name() : database, charset: databaseCharset(cursor) };
  }
  while (cursor.take('ONLINE') || cursor.take('OFFLINE') || cursor.take('IGNORE')) {
    // Words of older servers.
  }
  if (!cursor.take('TABLE')) return null;
  cursor.take('IF', 'EXISTS');
  const table = tableRef(cursor, database);
  if (cursor.take('WAIT')) cursor.number();
  else cursor.take('NOWAIT');
  const specs: AlterSpec[] = [];
  while (!cursor.isAtEnd) {
    const spec = parseSpec(cursor, database);
    if (spec !== null) specs.push(spec);
    if (!cursor.takeSymbol(',') && !cursor.isAtEnd) skipSpec(cursor);
    cursor.takeSymbol(',');
  }
  return { kind: 'alter-table', table, specs };
}

const skipSpec = (cursor: TokenCursor): void => {
  while (!cursor.isAtEnd && !cursor.isSymbol(',')) cursor.skip();
};

function parseSpec(cursor: TokenCursor, database: string): AlterSpec | null {
  if (cursor.take('ADD')) return parseAdd(cursor);
  if (cursor.take('DROP')) return parseDropSpec(cursor);
  if (cursor.take('MODIFY')) {
    cursor.take('COLUMN');
    cursor.take('IF', 'EXISTS');
    const from = cursor.name();
    return { kind: 'change', from, column: parseColumn(from, cursor), place: parsePlace(cursor) };
  }
  if (cursor.take('CHANGE')) {
    cursor.take('COLUMN');
    cursor.take('IF', 'EXISTS');
    const from = cursor.name();
    return { kind: 'change', from, column: parseColumn(cursor.name(), cursor), place: parsePlace(cursor) };
  }
  if (cursor.take('ALTER')) {
    if (cursor.isWord('INDEX') || cursor.isWord('CHECK') || cursor.isWord('CONSTRAINT')) return null;
    cursor.take('COLUMN');
    cursor.take('IF', 'EXISTS');
    const column = cursor.name();
    if (cursor.take('SET', 'DEFAULT')) return { kind: 'default', column, text: parseDefault(cursor) };
    return cursor.take('DROP', 'DEFAULT') ? { kind: 'default', column, text: null } : null;
  }
  if (cursor.take('RENAME')) {
    if (cursor.take('COLUMN')) return parseRenameSpec(cursor, 'rename-column');
    if (cursor.take('INDEX') || cursor.take('KEY')) return parseRenameSpec(cursor, 'rename-key');
    if (!cursor.take('TO') && !cursor.take('AS')) cursor.takeSymbol('=');
    return { kind: 'rename', to: tableRef(cursor, database) };
  }
  if (cursor.take('CONVERT', 'TO')) {
    const { charset } = parseOptions(cursor);
    return { kind: 'convert', charset };
  }
  if (cursor.take('ORDER', 'BY')) {
    // Its commas do not end it: nothing that can be told apart follows.
    while (!cursor.isAtEnd) cursor.skip();
    return null;
  }
  return { kind: 'options', options: parseOptions(cursor) };
}

function parseRenameSpec(cursor: TokenCursor, kind: 'rename-column' | 'rename-key'): AlterSpec {
  cursor.take('IF', 'EXISTS');
  const from = cursor.name();
  cursor.expect('TO');
  return { kind, from, to: cursor.name() };
}

function parseAdd(cursor: TokenCursor): AlterSpec | null {
  if (cursor.isWord('PARTITION') || cursor.isWord('SYSTEM')) return null;
  const isColumn = cursor.take('COLUMN');
  if (!isColumn) {
    const key = parseKey(cursor);
    if (key === null) return null;
    if (key !== undefined) return { kind: 'add-key', key };
  }
  cursor.take('IF', 'NOT', 'EXISTS');
  const columns: ParsedColumn[] = [];
  if (!cursor.takeSymbol('(')) {
    columns.push(parseColumn(cursor.name(), cursor));
    return { kind: 'add', columns, place: parsePlace(cursor) ?? { kind: 'last' } };
  }
  do {
    if (parseKey(cursor) === undefined) columns.push(parseColumn(cursor.name(), cursor));
  } while (cursor.takeSymbol(','));
  cursor.expectSymbol(')');
  return { kind: 'add', columns, place: { kind: 'last' } };
}

function parsePlace(cursor: TokenCursor): Place | null {
  if (cursor.take('FIRST')) return { kind: 'first' };
  return cursor.take('AFTER') ? { kind: 'after', column: cursor.name() } : null;
}

function parseDropSpec(cursor: TokenCursor): AlterSpec | null {
  if (cursor.take('PRIMARY', 'KEY')) return { kind: 'drop-primary' };
  if (cursor.take('INDEX') || cursor.take('KEY')) {
    cursor.take('IF', 'EXISTS');
    return { kind: 'drop-key', name: cursor.name() };
  }
  if (cursor.take('CONSTRAINT')) {
    // A unique key is a constraint too.
    cursor.take('IF', 'EXISTS');
    return { kind: 'drop-key', name: cursor.name() };
  }
  if (['FOREIGN', 'CHECK', 'PARTITION', 'SYSTEM', 'PERIOD'].some(word => cursor.isWord(word))) return null;
  cursor.take('COLUMN');
  cursor.take('IF', 'EXISTS');
  return { kind: 'drop', name: cursor.name() };
}
