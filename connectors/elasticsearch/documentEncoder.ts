/** Writes the records of one kind to the log, as rows of a bulk request to one target. Compiled once for their schemas. */
import { ConnectError, type TaskMetrics } from '../../runtime/api/index.ts';
import { textBlock, writeAscii, writeBlock, writeString } from '../../schemas/json/jsonBytes.ts';
import type { Block } from '../../schemas/transcode/write.ts';
import type { UnavailableValue } from '../shared/changeEnvelope.ts';
import { Change, type ChangeRun, type RunField } from '../shared/changeRun.ts';
import { isoTimestampOf } from '../shared/isoText.ts';
import { lacksValues, mayLack } from '../shared/lackingValues.ts';
import { type RowLog, RowOp } from '../shared/rowLog.ts';
import { AFTER_ID, AFTER_UPDATED_ID, type RowForm, type RowForms, UPDATE_END, UPDATE_START } from './bulkRows.ts';
import type { IdSource, SinkSettings } from './config.ts';
import { idReader } from './documentId.ts';
import type { DocumentVersions } from './documentVersion.ts';
import { fieldWriter, type WriteField } from './fieldWriter.ts';

export interface EncoderOptions {
  readonly target: string;
  readonly topic: string;
  readonly settings: SinkSettings;
  readonly forms: RowForms;
  readonly versions: DocumentVersions;
  readonly unavailable: UnavailableValue;
  readonly metrics: TaskMetrics;
}

const NULL = textBlock('null');

export class DocumentEncoder {
  readonly #options: EncoderOptions;
  readonly #fields: readonly RunField[];
  readonly #keyFields: readonly RunField[];
  readonly #isEnvelope: boolean;
  readonly #labels: readonly Block[];
  readonly #writers: readonly WriteField[];
  /** Fields whose values can be the placeholder of one that the source did not send. */
  readonly #mayLack: readonly number[];
  /** Fields of which the first one that is not null becomes @timestamp. */
  readonly #timestamps: readonly number[];
  readonly #addsTimestamp: boolean;
  readonly #ids: IdSource;
  readonly #readId: ReturnType<typeof idReader>;
  readonly #whole: RowForm;
  readonly #patch: RowForm;
  readonly #delete: RowForm;
  readonly #afterVersion: string | null;

  constructor(run: ChangeRun, options: EncoderOptions) {
    const { settings, forms, target, topic, versions } = options;
    this.#options = options;
    this.#fields = run.fields;
    this.#keyFields = run.keyFields;
    this.#isEnvelope = run.isEnvelope;
    this.#labels = run.fields.map(f => textBlock(`${JSON.stringify(f.name)}:`));
    this.#writers = run.fields.map(f => fieldWriter(f.schema, settings));
    this.#mayLack = run.fields.flatMap((field, at) => (mayLack(field) ? [at] : []));
    this.#timestamps = settings.timestampFields
      .map(name => run.fields.findIndex(f => f.name === name))
      .filter(at => at >= 0);
    this.#addsTimestamp = settings.isCreateOnly && !run.fields.some(f => f.name === '@timestamp');
    this.#ids = settings.idSource(topic);
    this.#readId = idReader(run.keyFields);
    const kind = settings.isUpsert ? 'update' : settings.isCreateOnly ? 'create' : 'index';
    this.#whole = forms.of(kind, target, this.#ids !== 'target');
    this.#patch = forms.of(settings.isUpsert ? 'update' : 'patch', target);
    this.#delete = forms.of('delete', target);
    this.#afterVersion =
      versions.type === null || this.#ids !== 'key' ? null : `,"version_type":"${versions.type}"}}\n`;
  }

  /** Whether the run is of the kind that this was made for. */
  fits(run: ChangeRun): boolean {
    return (
      run.isEnvelope === this.#isEnvelope &&
      sameFields(run.fields, this.#fields) &&
      sameFields(run.keyFields, this.#keyFields)
    );
  }

  encode(run: ChangeRun, i: number, log: RowLog, originId: number): void {
    try {
      this.#encodeRecord(run, i, log, originId);
    } catch (error) {
      throw error instanceof ConnectError ? error.at({ table: this.#options.target }) : error;
    }
  }

  #encodeRecord(run: ChangeRun, i: number, log: RowLog, originId: number): void {
    const { settings, metrics } = this.#options;
    switch (run.changes[i] as Change) {
      case Change.create:
      case Change.update:
      case Change.write:
        this.#encodeWrite(run, i, log, originId);
        return;
      case Change.delete:
      case Change.tombstone:
        if (settings.onNull === 'fail') throw nullValue(run.changes[i] === Change.tombstone);
        if (settings.onNull === 'ignore' || this.#ids !== 'key') metrics.count('ignored_deletes');
        else this.#encodeDelete(run, i, log, originId);
        return;
      case Change.truncate:
        metrics.count('ignored_truncates');
        return;
      case Change.other:
        metrics.count('ignored_events');
        return;
      case Change.unusable:
        throw new ConnectError(
          'SINK_VALUE_UNUSABLE',
          'the value of the record is neither a struct nor a JSON object, so that it is no document; check value.converter',
        );
    }
  }

  #encodeWrite(run: ChangeRun, i: number, log: RowLog, originId: number): void {
    const left = this.#lacking(run, i);
    if (
      left !== null &&
      (run.changes[i] !== Change.update || this.#ids !== 'key' || this.#options.settings.isCreateOnly)
    )
      throw lacksValues(
        'document',
        left.map(at => this.#fields[at]!.name),
      );
    const form = left === null ? this.#whole : this.#patch;
    const isUpdate = form.kind === 'update';
    const { out } = log;
    const start = out.position;
    const version = this.#afterVersion === null ? null : this.#options.versions.read(run, i);
    const [keyStart, keyEnd] = this.#writeAction(run, i, log, form, version);
    if (isUpdate) writeAscii(out, UPDATE_START);
    this.#writeDocument(run, i, log, left);
    writeAscii(out, isUpdate ? `${UPDATE_END}\n` : '\n');
    log.push(RowOp.write, form.number, form.targetNumber, start, keyStart, keyEnd, originId, run.from + i);
  }

  #encodeDelete(run: ChangeRun, i: number, log: RowLog, originId: number): void {
    const form = this.#delete;
    const start = log.out.position;
    const version = this.#afterVersion === null ? null : this.#options.versions.read(run, i);
    if (this.#afterVersion !== null && version === null) return;
    const [keyStart, keyEnd] = this.#writeAction(run, i, log, form, version);
    log.push(RowOp.delete, form.number, form.targetNumber, start, keyStart, keyEnd, originId, run.from + i);
  }

  /** The first line; returns where the id is. */
  #writeAction(
    run: ChangeRun,
    i: number,
    log: RowLog,
    form: RowForm,
    version: number | bigint | null,
  ): readonly [number, number] {
    const { out } = log;
    writeBlock(out, form.beforeId);
    if (this.#ids === 'target') return [out.position, out.position];
    const idStart = out.position;
    const id =
      this.#ids === 'key'
        ? this.#readId(run.keys, i)
        : `${run.batch.topic}+${run.batch.partition}+${run.batch.offset(run.from + i)}`;
    // With quotes of its own, the first of which is there already.
    out.position = idStart - 1;
    writeString(out, id);
    const idEnd = out.position - 1;
    if (version !== null) writeAscii(out, `,"version":${version}${this.#afterVersion}`);
    else writeAscii(out, form.kind === 'update' ? AFTER_UPDATED_ID : AFTER_ID);
    return [idStart, idEnd];
  }

  #writeDocument(run: ChangeRun, i: number, log: RowLog, left: readonly number[] | null): void {
    const { out } = log;
    let separator = 0x7b;
    if (this.#addsTimestamp) {
      this.#writeTimestamp(run, i, log);
      separator = 0x2c;
    }
    for (let f = 0; f < this.#writers.length; f++) {
      if (left?.includes(f)) continue;
      out.writeByte(separator);
      separator = 0x2c;
      writeBlock(out, this.#labels[f]!);
      const value = run.values[f]![i];
      if (value === null || value === undefined) writeBlock(out, NULL);
      else this.#writeValue(f, value, log);
    }
    writeAscii(out, separator === 0x7b ? '{}' : '}');
  }

  #writeTimestamp(run: ChangeRun, i: number, log: RowLog): void {
    const { out } = log;
    writeAscii(out, '{"@timestamp":');
    const field = this.#timestamps.find(at => run.values[at]![i] !== null && run.values[at]![i] !== undefined);
    if (field !== undefined) this.#writeValue(field, run.values[field]![i], log);
    else writeAscii(out, `"${isoTimestampOf(run.batch.timestamp(run.from + i) * 1000, null)}Z"`);
  }

  #writeValue(f: number, value: unknown, log: RowLog): void {
    try {
      this.#writers[f]!(value, log.out);
    } catch (error) {
      const { name } = this.#fields[f]!;
      throw new ConnectError(
        'SINK_VALUE_UNFIT',
        `the value of field "${name}" is not what its schema says: ${error instanceof RangeError ? error.message : 'it is of another kind'}; correct the producer, or send such records to a dead letter queue with errors.tolerance=all`,
        { place: { column: name } },
      );
    }
  }

  #lacking(run: ChangeRun, i: number): number[] | null {
    let left: number[] | null = null;
    for (const f of this.#mayLack) {
      const value = run.values[f]![i];
      if (value !== null && value !== undefined && this.#options.unavailable.is(value)) (left ??= []).push(f);
    }
    return left;
  }
}

const sameFields = (a: readonly RunField[], b: readonly RunField[]): boolean =>
  a === b || (a.length === b.length && a.every((f, i) => f.name === b[i]!.name && f.schema === b[i]!.schema));

const nullValue = (isTombstone: boolean): ConnectError =>
  new ConnectError(
    'SINK_NULL_VALUE',
    `${isTombstone ? 'the record has a null value' : 'the record is a delete'} and behavior.on.null.values is fail; set behavior.on.null.values=delete to delete its document, or ignore to leave such records out`,
  );
