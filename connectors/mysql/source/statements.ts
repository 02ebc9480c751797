/** What QUERY events tell by their text: where transactions begin and end, tables that are emptied, and changes that were logged as statements. */

const NAME = '(?:`((?:[^`]|``)+)`|([\\w$\\u0080-\\uffff]+))';
const TABLE = `${NAME}(?:\\s*\\.\\s*${NAME})?`;
const TRUNCATE = new RegExp(`^TRUNCATE\\s+(?:TABLE\\s+)?${TABLE}`, 'i');
const CHANGE = new RegExp(
  `^(?:INSERT|REPLACE|UPDATE|DELETE|LOAD\\s+DATA)\\b(?:.*?\\b(?:INTO|FROM|UPDATE|IGNORE|LOW_PRIORITY)\\b)*?\\s*(?:INTO\\s+(?:TABLE\\s+)?|FROM\\s+)?${TABLE}`,
  'is',
);

export interface StatementTable {
  readonly database: string;
  readonly table: string;
}

export type Statement =
  | { readonly kind: 'begin' | 'commit' | 'savepoint' | 'xa' | 'other' }
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
      return /^ROLLBACK\s+(?:WORK\s+)?TO\b/i.test(sql) ? { kind: 'savepoint' } : { kind: 'commit' };
    case 'SAVEPOINT':
    case 'RELEASE':
      return { kind: 'savepoint' };
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
      return { kind: 'change', table: tableOf(CHANGE.exec(sql), database) };
    default:
      return { kind: 'other' };
  }
}

/** Whether a statement may define tables. */
export const isDefinition = (text: string): boolean => /^(?:CREATE|ALTER|RENAME|DROP)\b/i.test(withoutComments(text));

function tableOf(m: RegExpExecArray | null, database: string): StatementTable | null {
  if (m === null) return null;
  const [first, second] = [m[1] ?? m[2], m[3] ?? m[4]].map(name => name?.replaceAll('``', '`'));
  return second === undefined ? { database, table: first! } : { database: first!, table: second };
}

/** Comments in front; what is inside of executable ones stays. */
const withoutComments = (sql: string): string =>
  sql.replace(/^(?:\s+|\/\*(?!!)[\s\S]*?\*\/|--[ \t][^\n]*\n?|#[^\n]*\n?|\/\*!\d*)+/, '').trimStart();
