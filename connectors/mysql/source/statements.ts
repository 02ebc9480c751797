/** What QUERY events tell by their text: where transactions begin and end, tables that are emptied, and changes that were logged as statements. */

/** In double quotes under ANSI_QUOTES: where a name stands, no text can. */
const NAME = '(?:`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([\\w$\\u0080-\\uffff]+))';
const NAME_GROUPS = 3;
const TABLE = `\\s*${NAME}(?:\\s*\\.\\s*${NAME})?`;
const TRUNCATE = new RegExp(`^TRUNCATE\\b\\s*(?:TABLE\\b)?${TABLE}`, 'i');
const SAVEPOINT = new RegExp(`^(?:ROLLBACK\\s+(?:WORK\\s+)?TO\\b\\s*)?(?:SAVEPOINT\\b)?\\s*${NAME}`, 'i');
const CREATE = new RegExp(`^CREATE\\s+(?:OR\\s+REPLACE\\s+)?TABLE\\b\\s*(?:IF\\s+NOT\\s+EXISTS\\b)?${TABLE}`, 'i');
const PRIORITY = '(?:(?:LOW_PRIORITY|HIGH_PRIORITY|DELAYED|QUICK|CONCURRENT|IGNORE)\\b\\s*)*';
/** Changes of one table, whose name is sure. Of others (joins, functions, WITH) the text does not simply tell which tables they change. */
const CHANGES = [
  new RegExp(`^(?:INSERT|REPLACE)\\b\\s*${PRIORITY}(?:INTO\\b)?${TABLE}`, 'i'),
  new RegExp(`^UPDATE\\b\\s*${PRIORITY}${TABLE}\\s*(?:(?:AS\\b\\s*)?(?!SET\\b)${NAME}\\s*)?\\bSET\\b`, 'i'),
  new RegExp(`^DELETE\\b\\s*${PRIORITY}FROM\\b${TABLE}\\s*(?:$|;|(?:WHERE|ORDER|LIMIT|RETURNING)\\b)`, 'i'),
  new RegExp(`^LOAD\\s+DATA\\b.*?\\sINTO\\s+TABLE\\b${TABLE}`, 'is'),
];
/** Names and texts in quotes. */
const QUOTES = '`(?:[^`]|``)*`|\'(?:[^\'\\\\]|\\\\.|\'\')*\'|"(?:[^"\\\\]|\\\\.|"")*"';
const QUOTED = new RegExp(QUOTES, 'gs');
/** What is inside of executable comments stays. */
const QUOTED_OR_COMMENT = new RegExp(`(${QUOTES})|/\\*(?!M?!).*?\\*/|/\\*M?!\\d*|\\*/|--(?=\\s)[^\\n]*|#[^\\n]*`, 'gs');

export interface StatementTable {
  readonly database: string;
  readonly table: string;
}

export type Statement =
  | { readonly kind: 'begin' | 'commit' | 'rollback' | 'release' | 'xa' | 'other' }
  | { readonly kind: 'savepoint' | 'rollback-to'; readonly name: string }
  | { readonly kind: 'truncate'; readonly table: StatementTable }
  /** A change that is no row event; the table where it can be told. */
  | { readonly kind: 'change'; readonly table: StatementTable | null };

const BEGIN: Statement = { kind: 'begin' };

export function readStatement(text: string, database: string): Statement {
  // As servers write it, once a transaction.
  if (text === 'BEGIN') return BEGIN;
  const sql = withoutComments(text);
  const word = /^\w+/.exec(sql)?.[0].toUpperCase() ?? '';
  switch (word) {
    case 'BEGIN':
      return BEGIN;
    case 'COMMIT':
      return { kind: 'commit' };
    case 'ROLLBACK':
      if (!/^ROLLBACK\s+(?:WORK\s+)?TO\b/i.test(sql)) return { kind: 'rollback' };
      return { kind: 'rollback-to', name: savepointOf(sql) };
    case 'SAVEPOINT':
      return { kind: 'savepoint', name: savepointOf(sql) };
    case 'RELEASE':
      return { kind: 'release' };
    case 'XA':
      return /^XA\s+(?:START|BEGIN|END)\b/i.test(sql) ? { kind: 'xa' } : { kind: 'other' };
    case 'TRUNCATE': {
      const table = tableOf(TRUNCATE.exec(sql), database);
      return table === null ? { kind: 'other' } : { kind: 'truncate', table };
    }
    case 'INSERT':
    case 'REPLACE':
    case 'UPDATE':
    case 'DELETE':
    case 'LOAD':
    case 'WITH':
    case 'SELECT':
    case 'DO':
    case 'CALL':
      return { kind: 'change', table: changedTable(sql, database) };
    case 'SET': {
      const inner = /^SET\s+STATEMENT\b.*?\bFOR\s+(.*)$/is.exec(sql);
      return inner === null ? { kind: 'other' } : readStatement(inner[1]!, database);
    }
    case 'CREATE': {
      // With rows of its own, that are not in the log then.
      const table = tableOf(CREATE.exec(sql), database);
      return table !== null && /\bSELECT\b/i.test(sql.replace(QUOTED, ''))
        ? { kind: 'change', table }
        : { kind: 'other' };
    }
    default:
      return { kind: 'other' };
  }
}

/** Whether a statement may define tables. */
export const isDefinition = (text: string): boolean => /^(?:CREATE|ALTER|RENAME|DROP)\b/i.test(withoutComments(text));

function changedTable(sql: string, database: string): StatementTable | null {
  for (const change of CHANGES) {
    const table = tableOf(change.exec(sql), database);
    if (table !== null) return table;
  }
  return null;
}

function tableOf(m: RegExpExecArray | null, database: string): StatementTable | null {
  const first = m && nameAt(m, 1);
  if (m === null || first === null) return null;
  const second = nameAt(m, 1 + NAME_GROUPS);
  return second === null ? { database, table: first } : { database: first, table: second };
}

/** The name whose groups begin at `group`; null = it is not there. */
const nameAt = (m: RegExpExecArray, group: number): string | null =>
  m[group]?.replaceAll('``', '`') ?? m[group + 1]?.replaceAll('""', '"') ?? m[group + 2] ?? null;

/** Names of savepoints are the same whatever their case. */
function savepointOf(sql: string): string {
  const m = SAVEPOINT.exec(sql);
  return ((m && nameAt(m, 1)) ?? '').toLowerCase();
}

const withoutComments = (sql: string): string =>
  sql.replace(QUOTED_OR_COMMENT, (_, quoted: string | undefined) => quoted ?? ' ').trim();
