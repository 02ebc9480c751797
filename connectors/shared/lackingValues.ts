/** Values that the source of an update did not send: which fields can lack theirs, and what becomes of a new row that does. */
import { ConnectError } from '../../runtime/api/index.ts';
import { DECIMAL_NAME } from '../../schemas/data/index.ts';
import type { RunField } from './changeRun.ts';

const LACKING = new Set(['STRING', 'BYTES', 'ARRAY', 'MAP']);

/** Whether values of the field can be the placeholder of one that was not sent. */
export const mayLack = ({ schema }: RunField): boolean =>
  schema === null || (LACKING.has(schema.type) && schema.name !== DECIMAL_NAME);

/** To write it would lose the value for good: nobody could tell the placeholder from a value later. */
export function lacksValues(written: 'row' | 'document', names: readonly string[]): ConnectError {
  return new ConnectError(
    'SINK_VALUE_UNAVAILABLE',
    `the record is written as a new ${written}, but carries the placeholder of a value that its source did not send for ${names.map(n => `"${n}"`).join(', ')}; at the source set REPLICA IDENTITY FULL on the table, or use a source that reads such values again; if a flattening transform hides that it is an update, give it add.fields=op; if the text is a real value, set unavailable.value.placeholder to another one`,
    { place: { column: names.join(', ') } },
  );
}
