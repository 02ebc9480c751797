/** What QUERY events tell by their text: where transactions begin and end, tables that are emptied, and changes that were logged as statements. */

const NAME = '(?:`((?:[^`]|``)+)`|([\\w$\\u0080-\\uffff]+))';
const TABLE = `${NAME}(?:\\s*\\.\\s*${NAME})?`;
const TRUNCATE = new RegExp(`^TRUNCATE\\s+(?:TABLE\\s+)?${TABLE}`, 'i');
const SAVEPOINT = new RegExp(`^(?:ROLLBACK\\s+(?:WORK\\s+)?TO\\s+)?(?:SAVEPOINT\\s+)?${NAME}`, 'i');
const PRIORITY = '(?:(?:LOW_PRIORITY|HIGH_PRIORITY|DELAYED|QUICK|CONCURRENT|IGNORE)\\s+)*';
/** Changes of one table, whose name is sure. Of others (joins, functions, WITH) the text does not simply tell which tables they change. */
const CHANGES = [
  new RegExp(`^(?:INSERT|REPLACE)\\s+${PRIORITY}(?:INTO\\s+)?${TABLE}`, 'i'),
  new RegExp(`^UPDATE\\s+${PRIORITY}${TABLE}\\s+(?:(?:AS\\s+)?(?!SET\\b)${NAME}\\s+)?SET\\b`, 'i'),
  new RegExp(`^DELETE\\s+${PRIORITY}FROM\\s+${TABLE}\\s*(?:$|;|(?:WHERE|ORDER|LIMIT|RETURNING)\\b)`, 'i'),
  new RegExp(`^LOAD\\s+DATA\\b.*?\\sINTO\\s+TABLE\\s+${TABLE}`, 'is'),
  new RegExp(`^CREATE\\s+(?:OR\\s+REPLACE\\s+)?TABLE\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?${TABLE}`, 'i'),
];
const CREATE_TABLE = /^CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\b/i;
/** Names and texts in quotes. */
const QUOTED = /`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"/gs;

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
    case 'CREATE':
      // With rows of its own, that are not in the log then.
      return CREATE_TABLE.test(sql) && /\bSELECT\b/i.test(sql.replace(QUOTED, ''))
        ? { kind: 'change', table: changedTable(sql, database) }
        : { kind: 'other' };
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
  if (m === null) return null;
  const [first, second] = [m[1] ?? m[2], m[3] ?? m[4]].map(name => name?.replaceAll('``', '`'));
  return second === undefined ? { database, table: first! } : { database: first!, table: second };
}

/** Names of savepoints are the same whatever their case. */
function savepointOf(sql: string): string {
  const m = SAVEPOINT.exec(sql);
  return (m?.[1] ?? m?.[2] ?? '').toLowerCase();
}

/** Comments in front; what is inside of executable ones stays. */
const withoutComments = (sql: string): string =>
  sql.replace(/^(?:\s+|\/\*(?!!)[\s\S]*?\*\/|--[ \t][^\n]*\n?|#[^\n]*\n?|\/\*M?!\d*)+/, '').trimStart();
