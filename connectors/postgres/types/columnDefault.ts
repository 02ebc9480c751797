/** Column defaults as pg_get_expr prints them -> the default of the schema. */
import type { ColumnType } from './columnType.ts';

const CAST = String.raw`(?:::[\w ."]+(?:\([\d, ]+\))?(?:\[\])?)*`;
const STRING_LITERAL = new RegExp(`^(E?)'((?:[^']|'')*)'${CAST}$`, 's');
const NUMBER_LITERAL = new RegExp(`^\\(?(-?\\d+(?:\\.\\d+)?(?:[eE][-+]?\\d+)?)\\)?${CAST}$`);
const WORD_LITERAL = /^(?:true|false)$/;
const CALL = new RegExp(
  `^\\(?(?:CURRENT_\\w+|LOCALTIME(?:STAMP)?|SESSION_USER|[\\w."]+\\(.*\\))(?:\\(\\d\\))?\\)?${CAST}$`,
  's',
);

/** undefined = no default. A function call gives the type's zero value, as consumers of Debezium know it; an expression gives none. */
export function columnDefault(expression: string | null, type: ColumnType): unknown {
  if (expression === null || !type.hasDefault) return undefined;
  const text = literalText(expression);
  if (text !== undefined) {
    try {
      return (type.fromDefault ?? type.fromText)(text) ?? undefined;
    } catch {
      // A literal of another type than the column's, which the server converts at each insert: not a constant to publish.
      return undefined;
    }
  }
  return CALL.test(expression) ? type.zero : undefined;
}

function literalText(expression: string): string | undefined {
  const string = STRING_LITERAL.exec(expression);
  if (string) {
    const text = string[2]!.replace(/''/g, "'");
    return string[1] === 'E' ? text.replace(/\\\\/g, '\\') : text;
  }
  return NUMBER_LITERAL.exec(expression)?.[1] ?? WORD_LITERAL.exec(expression)?.[0];
}
