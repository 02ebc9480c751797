/**
 * ExtractNewRecordState (Debezium's `unwrap`): a change event becomes the row after the change. Records that are no change events pass as they are.
 * What becomes of a delete and of the tombstone behind it is `delete.tombstone.handling.mode`.
 */
import { OPTIONAL_STRING, optional, type Schema, Struct, type StructSchema, struct } from '../../schemas/data/index.ts';
import {
  type Config,
  type ConnectRecord,
  configDef,
  type Header,
  type Transformation,
  type TransformationPlugin,
} from '../api/index.ts';
import { transformFailure } from './failure.ts';
import { optionalName, settings } from './settings.ts';

const MODES = ['drop', 'tombstone', 'rewrite', 'rewrite-with-tombstone', 'delete-to-tombstone'] as const;
type Mode = (typeof MODES)[number];

const addedList = (what: string) =>
  ({
    type: 'LIST',
    default: [],
    importance: 'MEDIUM',
    documentation: `Fields of the event to add as ${what}, such as op, table, source.ts_ms; name:alias renames one.`,
  }) as const;

/** A key of Debezium before 3.0: ignoring it would deliver deletes otherwise than its user expects. */
const removedKey = (successors: Readonly<Record<string, string>>) =>
  ({
    type: 'STRING',
    default: null,
    importance: 'LOW',
    internal: true,
    documentation: 'Removed in Debezium 3.0: set delete.tombstone.handling.mode instead.',
    check: (value: string) => {
      const choices = Object.entries(successors).map(([old, now]) => `${old} is now ${now}`);
      const mode = Object.hasOwn(successors, value) ? successors[value]! : `one of: ${choices.join('; ')}`;
      return `Debezium 3.0 removed this key; set delete.tombstone.handling.mode to ${mode}`;
    },
  }) as const;

const def = configDef({
  'delete.tombstone.handling.mode': {
    type: 'STRING',
    default: 'tombstone',
    oneOf: MODES,
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'tombstone: deletes are dropped, tombstones kept; drop: both dropped; rewrite: deletes become the row before with __deleted=true, tombstones dropped; rewrite-with-tombstone: the same, tombstones kept; delete-to-tombstone: deletes become tombstones.',
  },
  'drop.tombstones': removedKey({
    true: 'drop (rewrite, where delete.handling.mode is rewrite)',
    false: 'tombstone (rewrite-with-tombstone, where delete.handling.mode is rewrite)',
  }),
  'delete.handling.mode': removedKey({
    drop: 'drop, or tombstone where drop.tombstones is false',
    rewrite: 'rewrite, or rewrite-with-tombstone where drop.tombstones is false',
    none: 'delete-to-tombstone',
  }),
  'add.fields': addedList('fields'),
  'add.fields.prefix': {
    type: 'STRING',
    default: '__',
    importance: 'LOW',
    documentation: 'Put before the names of added fields.',
  },
  'add.headers': addedList('headers'),
  'add.headers.prefix': {
    type: 'STRING',
    default: '__',
    importance: 'LOW',
    documentation: 'Put before the names of added headers.',
  },
  'route.by.field': optionalName('Field of the row whose value becomes the topic.'),
});

/** `op`, `table` (short for source.table) or a path such as source.ts_ms, and the name it gets. */
interface Addition {
  readonly name: string;
  readonly path: readonly string[];
}

const ENVELOPE_FIELDS = ['op', 'ts_ms', 'ts_us', 'ts_ns', 'transaction', 'source', 'before', 'after'];

function additions(list: readonly string[], prefix: string): Addition[] {
  return list.map(text => {
    const [spec = '', alias] = text.split(':').map(part => part.trim());
    const steps = spec.split('.');
    const path = steps.length === 1 && !ENVELOPE_FIELDS.includes(spec) ? ['source', spec] : steps;
    return { name: prefix + (alias ?? spec.replaceAll('.', '_')), path };
  });
}

class ExtractNewRecordState implements Transformation {
  #mode: Mode = 'tombstone';
  #fields: readonly Addition[] = [];
  #headers: readonly Addition[] = [];
  #routeBy: string | null = null;
  readonly #flat = new WeakMap<Schema, StructSchema>();

  configure(config: Config): void {
    const values = settings(def, config);
    this.#mode = values['delete.tombstone.handling.mode'] as Mode;
    this.#fields = additions(values['add.fields'], values['add.fields.prefix']);
    this.#headers = additions(values['add.headers'], values['add.headers.prefix']);
    this.#routeBy = values['route.by.field'];
  }

  get #rewrites(): boolean {
    return this.#mode === 'rewrite' || this.#mode === 'rewrite-with-tombstone';
  }

  apply<R extends ConnectRecord>(record: R): R | null {
    const envelope = record.value;
    if (envelope === null || envelope === undefined) {
      return this.#mode === 'tombstone' || this.#mode === 'rewrite-with-tombstone' ? record : null;
    }
    if (
      !(envelope instanceof Struct) ||
      !envelope.schema.fieldIndex.has('op') ||
      !envelope.schema.fieldIndex.has('after')
    ) {
      return record;
    }
    const deleted = envelope.get('op') === 'd';
    if (deleted && this.#mode === 'delete-to-tombstone')
      return { ...this.#withHeaders(record, envelope), value: null, valueSchema: null };
    if (deleted && !this.#rewrites) return null;
    const row = envelope.get(deleted ? 'before' : 'after');
    if (!(row instanceof Struct)) {
      if (envelope.get('op') === 't' || envelope.get('op') === 'm') return record;
      throw transformFailure('ExtractNewRecordState', `an event with op ${envelope.get('op')} has no row`, record);
    }
    const schema = this.#flatSchema(row.schema, envelope.schema);
    const hasMore = this.#rewrites || this.#fields.length > 0;
    const values = hasMore ? [...row.values] : row.values;
    if (this.#rewrites) values.push(String(deleted));
    for (const { path } of this.#fields) values.push(valueAt(envelope, path));
    const routed = this.#routeBy === null ? record.topic : String(row.get(this.#routeBy));
    const headed = this.#withHeaders(record, envelope);
    return { ...headed, topic: routed, valueSchema: schema, value: new Struct(schema, values) };
  }

  #withHeaders<R extends ConnectRecord>(record: R, envelope: Struct): R {
    if (this.#headers.length === 0) return record;
    const added = this.#headers.map(
      ({ name, path }): Header => ({
        name,
        schema: schemaAt(envelope.schema, path) ?? OPTIONAL_STRING,
        value: valueAt(envelope, path),
      }),
    );
    return { ...record, headers: [...record.headers, ...added] };
  }

  /** Row schemas belong to one envelope schema each. */
  #flatSchema(row: StructSchema, envelope: StructSchema): StructSchema {
    const known = this.#flat.get(row);
    if (known) return known;
    const fields = row.fields.map((f): [string, Schema] => [f.name, f.schema]);
    if (this.#rewrites) fields.push(['__deleted', OPTIONAL_STRING]);
    for (const { name, path } of this.#fields)
      fields.push([name, optional(schemaAt(envelope, path) ?? OPTIONAL_STRING)]);
    const flat = struct(fields, { ...row, optional: false });
    this.#flat.set(row, flat);
    return flat;
  }
}

function schemaAt(schema: Schema, path: readonly string[]): Schema | undefined {
  let here: Schema | undefined = schema;
  for (const step of path) {
    const index: number | undefined = here?.type === 'STRUCT' ? here.fieldIndex.get(step) : undefined;
    here = index === undefined || here?.type !== 'STRUCT' ? undefined : here.fields[index]!.schema;
  }
  return here;
}

function valueAt(envelope: Struct, path: readonly string[]): unknown {
  let here: unknown = envelope;
  for (const step of path) {
    if (!(here instanceof Struct) || !here.schema.fieldIndex.has(step)) return null;
    here = here.get(step);
  }
  return here;
}

export const extractNewRecordStatePlugin: TransformationPlugin = {
  kind: 'transformation',
  className: 'io.debezium.transforms.ExtractNewRecordState',
  aliases: [],
  version: '1.0.0',
  configDef: def,
  create: () => new ExtractNewRecordState(),
};
