/** Which collection a record goes to: by topic, or by texts in its key or row. */
import { ConnectError } from '../../runtime/api/index.ts';
import { Struct } from '../../schemas/data/index.ts';
import { isPlainObject } from '../shared/changeEnvelope.ts';
import { Change, type ChangeRun } from '../shared/changeRun.ts';
import { collectionProblem, databaseProblem, lengthProblem } from './namespaceNames.ts';
import type { Namespace, StatementShapes } from './statements.ts';
import type { SidePath, TopicSettings } from './topicSettings.ts';

export function namespaceOf(
  run: ChangeRun,
  { database, collection, namespace: paths }: TopicSettings,
  shapes: StatementShapes,
): (i: number) => Namespace {
  /** Mostly that of the next record: names are looked at where they change. */
  let last: Namespace | null = null;
  const checked = (named: string, place: string): Namespace => {
    if (last?.database === named && last.collection === place) return last;
    const problem = databaseProblem(named) ?? collectionProblem(place) ?? lengthProblem(named, place);
    if (problem === null) {
      last = shapes.namespace(named, place);
      return last;
    }
    throw misplaced(
      `"${named}.${place}" cannot be written to: ${problem}; set database and collection, or correct what namespace.mapper.*.field takes them from`,
    );
  };
  const topicOrCollection = collection || run.batch.topic;
  if (paths === null) return () => checked(database, topicOrCollection);
  const named = (path: SidePath | null, fallback: string, i: number): string => {
    if (path === null) return fallback;
    const name = textAt(run, path, i);
    if (name !== null) return name;
    const field = path.path.join('.');
    if (path.side === 'value' && (run.changes[i] === Change.tombstone || run.changes[i] === Change.delete))
      throw misplaced(
        `a deletion has no value whose field "${field}" could tell its collection; set namespace.mapper.key.*.field`,
      );
    if (!paths.isStrict) return fallback;
    throw misplaced(
      `the ${path.side} of the record has no text in field "${field}", which the FieldPathNamespaceMapper takes its namespace from; correct namespace.mapper.*.field, or set namespace.mapper.error.if.invalid=false`,
    );
  };
  return i => checked(named(paths.database, database, i), named(paths.collection, topicOrCollection, i));
}

const misplaced = (message: string): ConnectError => new ConnectError('SINK_TABLE_NAME', message);

function textAt(run: ChangeRun, { side, path }: SidePath, i: number): string | null {
  const [fields, columns] = side === 'key' ? [run.keyFields, run.keys] : [run.fields, run.values];
  const [first, ...rest] = path;
  const index = fields.findIndex(field => field.name === first);
  let value = index < 0 ? null : columns[index]![i];
  for (const name of rest)
    value =
      value instanceof Struct
        ? value.schema.fieldIndex.has(name)
          ? value.get(name)
          : null
        : isPlainObject(value)
          ? value[name]
          : null;
  return typeof value === 'string' && value !== '' ? value : null;
}
