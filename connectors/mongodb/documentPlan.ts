/** How the records of one run become statements: where they go, what their ids are, which of their fields are written, and how. */
import { ConnectError } from '../../runtime/api/index.ts';
import { Struct } from '../../schemas/data/index.ts';
import { OutputBuffer } from '../../schemas/outputBuffer.ts';
import { isPlainObject, UnavailableValue } from '../shared/changeEnvelope.ts';
import { Change, type ChangeRun, type RunField } from '../shared/changeRun.ts';
import type { DocumentPlan } from '../shared/documentSinkTask.ts';
import { lacksValues, mayLack } from '../shared/lackingValues.ts';
import { type RowLog, RowOp } from '../shared/rowLog.ts';
import { beginDocument, elementName, endDocument } from './bsonDocument.ts';
import { type BsonValues, type ElementWriter, writeLong, writeString } from './bsonValues.ts';
import { DocumentIds, type FilterWriter, isKeyless, unfit } from './documentId.ts';
import { collidingName, fieldsCollide } from './fieldNames.ts';
import {
  type Grouping,
  isWhole,
  type Namespace,
  type StatementKind,
  type StatementShape,
  type StatementShapes,
  writeKeyed,
} from './statements.ts';
import type { TopicSettings } from './topicSettings.ts';

/** Of a document, as servers have it. */
const MOST_BYTES = 16 << 20;
const PLACE = elementName('topic-partition-offset');
const CREATE_TIME = elementName('CREATE_TIME');

interface PlannedField {
  readonly field: RunField;
  readonly name: Buffer;
  readonly values: readonly unknown[];
  readonly write: ElementWriter;
  readonly mayLack: boolean;
}

/** Counted by the caller. */
export interface PlanCounts {
  ignoredTruncates: number;
  otherEvents: number;
}

export interface PlanOptions {
  readonly run: ChangeRun;
  readonly settings: TopicSettings;
  readonly shapes: StatementShapes;
  readonly values: BsonValues;
  readonly idValues: BsonValues;
  readonly counts: PlanCounts;
  namespaceOf(i: number): Namespace;
}

export class RecordPlan implements DocumentPlan {
  readonly #run: ChangeRun;
  readonly #settings: TopicSettings;
  readonly #shapes: StatementShapes;
  readonly #values: BsonValues;
  readonly #counts: PlanCounts;
  readonly #namespaceOf: (i: number) => Namespace;
  readonly #ofWrites: FilterWriter;
  readonly #ofDeletes: FilterWriter;
  readonly #fields: readonly PlannedField[];
  /** Why no record of the run can be a document. */
  readonly #refusal: (() => ConnectError) | null;
  /** A name that an update of single fields would take for a path. */
  readonly #pathName: string | null;
  readonly #unavailable: UnavailableValue;
  readonly #grouping: Grouping;
  /** Of the last record: mostly that of the next. */
  #shape: StatementShape | null = null;
  readonly #scratch = new OutputBuffer(256);

  constructor(options: PlanOptions) {
    const { run, settings } = options;
    this.#run = run;
    this.#settings = settings;
    this.#shapes = options.shapes;
    this.#values = options.values;
    this.#counts = options.counts;
    this.#namespaceOf = options.namespaceOf;
    this.#unavailable = new UnavailableValue(settings.unavailablePlaceholder);
    this.#grouping = isKeyless(settings, run) ? 'inOrder' : settings.writeModel === 'insert' ? 'each' : 'byKey';
    const ids = new DocumentIds(settings, run, options.idValues);
    this.#ofWrites = ids.ofWrites;
    this.#ofDeletes = ids.ofDeletes;
    const names = writtenFields(run, settings, this.#values);
    this.#pathName = names.find(({ name }) => name === '' || name.includes('.'))?.name ?? null;
    const operator = names.find(({ name }) => name.startsWith('$') || name.includes('\0'))?.name;
    const refused = operator ?? (isWhole(settings.writeModel) ? null : this.#pathName);
    const collision = collidingName(['_id', ...names.map(({ name }) => name)]);
    this.#refusal =
      refused !== null ? () => unfitName(refused) : collision !== null ? () => fieldsCollide(collision) : null;
    this.#fields = this.#refusal === null ? names.map(({ index, name }) => this.#planned(index, name)) : [];
  }

  #planned(index: number, name: string): PlannedField {
    const field = this.#run.fields[index]!;
    return {
      field,
      name: elementName(name),
      values: this.#run.values[index]!,
      write: this.#values.writer(field.schema, field.name),
      mayLack: mayLack(field),
    };
  }

  encode(i: number, log: RowLog, originId: number): void {
    try {
      this.#encode(i, log, originId);
    } catch (error) {
      if (!(error instanceof ConnectError) || this.#settings.namespace !== null) throw error;
      const { database, collection } = this.#namespaceOf(i);
      throw error.at({ table: `${database}.${collection}` });
    }
  }

  #encode(i: number, log: RowLog, originId: number): void {
    const change = this.#run.changes[i] as Change;
    switch (change) {
      case Change.create:
      case Change.update:
      case Change.write:
        this.#encodeWrite(i, change, log, originId);
        return;
      case Change.delete:
      case Change.tombstone:
        this.#encodeDelete(i, change, log, originId);
        return;
      case Change.truncate:
        this.#counts.ignoredTruncates++;
        return;
      case Change.other:
        this.#counts.otherEvents++;
        return;
      case Change.unusable:
        throw new ConnectError(
          'SINK_VALUE_UNUSABLE',
          'the value of the record is neither a struct nor a JSON object; check value.converter',
        );
    }
  }

  #encodeWrite(i: number, change: Change, log: RowLog, originId: number): void {
    if (this.#settings.hasHandler && !this.#run.isEnvelope)
      throw new ConnectError(
        'SINK_VALUE_UNUSABLE',
        'the record is no change event, which change.data.capture.handler needs; remove the handler for flat records, or the transform that flattens them',
      );
    if (this.#run.isEnvelope && !this.#hasRow(i))
      throw new ConnectError(
        'SINK_VALUE_UNUSABLE',
        'the change event says that a row was written, but has none: its field after is null or no row; correct it at the source, or filter such events out',
      );
    if (this.#refusal !== null) throw this.#refusal();
    const kind = this.#kindOf(i, change);
    const { out } = log;
    const start = out.position;
    const keyEnd = writeKeyed(out, filter => this.#ofWrites(i, filter), this.#grouping !== 'inOrder', this.#scratch);
    const body = beginDocument(out);
    if (kind !== 'delete') this.#writeFields(i, !isWhole(kind), log);
    endDocument(out, body);
    if (out.position - keyEnd > MOST_BYTES)
      throw new ConnectError(
        'SINK_VALUE_UNFIT',
        'the document is larger than the 16 MiB that one can have; leave fields out with BlockListValueProjector in post.processor.chain',
      );
    this.#push(kind === 'delete' ? RowOp.delete : opOf(change), kind, i, start, keyEnd, log, originId);
  }

  /** Whether the event has a row that was written. */
  #hasRow(i: number): boolean {
    const { batch, from, fields, values } = this.#run;
    // Only then may it be none.
    const isDoubtful = fields[0]?.name === '' || values.every(column => column[i] === null || column[i] === undefined);
    if (!isDoubtful) return true;
    const { value } = batch.record(from + i);
    const isStruct = value instanceof Struct;
    const after = isStruct
      ? value.schema.fieldIndex.has('after') && value.get('after')
      : isPlainObject(value) && value.after;
    return after instanceof Struct || isPlainObject(after);
  }

  /** A field that the source did not send stays as it is, where that can be said. */
  #kindOf(i: number, change: Change): StatementKind {
    const { writeModel } = this.#settings;
    const lacking = this.#fields.filter(({ mayLack, values }) => mayLack && this.#isUnavailable(values[i]));
    if (lacking.length === 0 || writeModel === 'delete') return writeModel;
    if (change === Change.update && writeModel !== 'insert') {
      if (this.#pathName !== null) throw unfitName(this.#pathName);
      return writeModel === 'replace' ? 'patch' : writeModel;
    }
    throw lacksValues(
      'document',
      lacking.map(({ field }) => field.name),
    );
  }

  #isUnavailable(value: unknown): boolean {
    return value !== null && value !== undefined && this.#unavailable.is(value);
  }

  #writeFields(i: number, mayLeaveOut: boolean, log: RowLog): void {
    const { out } = log;
    for (const { field, name, values, write, mayLack } of this.#fields) {
      const value = values[i];
      if (mayLeaveOut && mayLack && this.#isUnavailable(value)) continue;
      try {
        this.#values.write(value, write, name, out);
      } catch (error) {
        if (error instanceof RangeError) throw unfit(field.name, error);
        throw error;
      }
    }
    if (!this.#settings.addsKafkaMeta) return;
    const { batch, from } = this.#run;
    writeString(`${batch.topic}-${batch.partition}-${batch.offset(from + i)}`, PLACE, out);
    writeLong(BigInt(batch.timestamp(from + i)), CREATE_TIME, out);
  }

  #encodeDelete(i: number, change: Change, log: RowLog, originId: number): void {
    const { hasHandler, deletesOnNull } = this.#settings;
    // The delete event before it has done it.
    if (hasHandler && change === Change.tombstone) return;
    if (!hasHandler && !deletesOnNull)
      throw new ConnectError(
        'SINK_NULL_VALUE',
        `${change === Change.tombstone ? 'the record has a null value' : 'the record is a delete'} and delete.on.null.values is false; set delete.on.null.values=true, or filter such records out`,
      );
    const { out } = log;
    const start = out.position;
    const keyEnd = writeKeyed(out, filter => this.#ofDeletes(i, filter), this.#grouping !== 'inOrder', this.#scratch);
    endDocument(out, beginDocument(out));
    this.#push(RowOp.delete, 'delete', i, start, keyEnd, log, originId);
  }

  #push(op: RowOp, kind: StatementKind, i: number, start: number, keyEnd: number, log: RowLog, originId: number): void {
    const namespace = this.#namespaceOf(i);
    let shape = this.#shape;
    if (shape?.namespace !== namespace || shape.kind !== kind)
      this.#shape = shape = this.#shapes.shape(namespace, kind, this.#grouping);
    log.push(op, shape.index, namespace.number, start, start, keyEnd, originId, this.#run.from + i);
  }
}

const opOf = (change: Change): RowOp => (change === Change.update ? RowOp.write : RowOp.create);

/** The fields that go into the document beside the `_id`, with their names there. */
function writtenFields(
  run: ChangeRun,
  { hasHandler }: TopicSettings,
  values: BsonValues,
): { index: number; name: string }[] {
  const key = new Set(hasHandler ? run.keyFields.map(field => field.name) : []);
  return run.fields.flatMap((field, index) => {
    if (field.name === '_id' || key.has(field.name)) return [];
    const name = values.nameAt(field.name, field.name);
    return name === null ? [] : [{ index, name }];
  });
}

function unfitName(name: string): ConnectError {
  const why = name.includes('\0')
    ? `the name of field "${name.replaceAll('\0', '\\0')}" has a zero character in it, which no document can hold`
    : `the server takes field "${name}" for an operator or a path`;
  const message = `${why}; rename it with RenameByMapping in post.processor.chain, or at the source`;
  return new ConnectError('SINK_VALUE_UNFIT', message, { place: { column: name } });
}
