/** Fields that post processors have given one name: a document has room for one of them. */
import { ConnectError } from '../../runtime/api/index.ts';

/** null = all are different. */
export function collidingName(names: readonly string[]): string | null {
  if (new Set(names).size === names.length) return null;
  return names.find((name, i) => names.indexOf(name) < i) ?? null;
}

export const fieldsCollide = (name: string): ConnectError =>
  new ConnectError(
    'SINK_FIELDS_COLLIDE',
    `two fields of the document would be named "${name}", and the value of one be lost; correct field.renamer.mapping or field.renamer.regexp, or leave one out with BlockListValueProjector`,
    { place: { column: name } },
  );
