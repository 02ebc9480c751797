/** Id strategies: how the filter that finds the document of a record is written, `{ _id: … }` or the fields of a business key. */
import { randomUUID } from 'node:crypto';
import { ObjectId } from 'mongodb';
import { ConnectError } from '../../runtime/api/index.ts';
import { Struct } from '../../schemas/data/index.ts';
import type { OutputBuffer } from '../../schemas/outputBuffer.ts';
import { isPlainObject } from '../shared/changeEnvelope.ts';
import { Change, type ChangeRun, type RunField } from '../shared/changeRun.ts';
import { BsonType, beginDocument, elementName, endDocument, hasOperator, writeHead } from './bsonDocument.ts';
import { BsonValues, type ElementWriter, MOST_LEVELS, TOO_DEEP, writeBinary, writeString } from './bsonValues.ts';
import { fieldShaping } from './fieldShaping.ts';
import type { TopicSettings } from './topicSettings.ts';

/** Appends the filter of record `i` as a document. Throws ConnectError where the record has no such id. */
export type FilterWriter = (i: number, out: OutputBuffer) => void;

interface IdColumn {
  readonly name: string;
  readonly values: readonly unknown[];
  readonly field: RunField;
}

const ID = elementName('_id');

/** How values are written in ids. */
export function idValues({ id, hasHandler, keyFields, temporalValues }: TopicSettings): BsonValues {
  const partial = id.from === 'partial' && !hasHandler ? id.fields : null;
  const stages = [keyFields, partial].filter(stage => stage !== null);
  return new BsonValues(temporalValues, fieldShaping(stages, false), 'refused');
}

export class DocumentIds {
  readonly #settings: TopicSettings;
  readonly #run: ChangeRun;
  readonly #values: BsonValues;

  constructor(settings: TopicSettings, run: ChangeRun, values: BsonValues) {
    this.#settings = settings;
    this.#run = run;
    this.#values = values;
  }

  /** Of a record that is written. */
  get ofWrites(): FilterWriter {
    const { id, hasHandler, isByBusinessKey, overwritesId } = this.#settings;
    const isItsOwn = id.from === 'provided' && id.side === 'value';
    if (isKeyless(this.#settings, this.#run)) return this.#keyless();
    if (hasHandler) return this.#keyDocument();
    const given = columnsOf(this.#run, 'value').find(column => column.name === '_id');
    if (given !== undefined && !overwritesId && !isByBusinessKey && !isItsOwn) return this.#single(given, 'value');
    if (id.from === 'partial' && isByBusinessKey) return this.#businessKey(id.side);
    return this.#byStrategy();
  }

  /** Of a record that deletes: only the key is there. */
  get ofDeletes(): FilterWriter {
    const { id, hasHandler, deletesByBusinessKey } = this.#settings;
    if (isKeyless(this.#settings, this.#run)) return this.#beforeImage();
    if (hasHandler) return this.#keyDocument();
    return id.from === 'partial' && deletesByBusinessKey ? this.#businessKey(id.side) : this.#byStrategy();
  }

  #byStrategy(): FilterWriter {
    const { id } = this.#settings;
    const { batch, from } = this.#run;
    switch (id.from) {
      case 'recordKey':
      case 'fullKey': {
        const key = columnsOf(this.#run, 'key').filter(column => this.#nameOf(column) !== null);
        const [only] = key;
        return only !== undefined && key.length === 1 && (only.name === '' || id.from === 'recordKey')
          ? this.#single(only, 'key')
          : this.#document(key, 'key');
      }
      case 'partial':
        return this.#document(columnsOf(this.#run, id.side), id.side);
      case 'provided': {
        const column = columnsOf(this.#run, id.side).find(each => each.name === '_id');
        if (column === undefined) return () => lacksId(`the ${id.side} of the record has no field _id`);
        return this.#single(column, id.side, id.isUuid ? writeUuid : undefined);
      }
      case 'kafka':
        return idFilter((i, out) =>
          writeString(`${batch.topic}#${batch.partition}#${batch.offset(from + i)}`, ID, out),
        );
      case 'objectId':
        return newObjectId();
      case 'uuid':
        return idFilter((_, out) => {
          if (id.isBinary) writeUuid(randomUUID(), ID, out);
          else writeString(randomUUID(), ID, out);
        });
    }
  }

  /** The known connector's relational handlers make a document of the key, whatever it has. */
  #keyDocument(): FilterWriter {
    const key = columnsOf(this.#run, 'key');
    const [only] = key;
    return only?.name === '' && key.length === 1 ? this.#single(only, 'key') : this.#document(key, 'key');
  }

  /** As the known connector does: a new document is one of its own, others are found by all that they were. */
  #keyless(): FilterWriter {
    const [made, before] = [newObjectId(), this.#beforeImage()];
    return (i, out) => (this.#run.changes[i] === Change.update ? before : made)(i, out);
  }

  #beforeImage(): FilterWriter {
    const { fields, befores } = this.#run;
    const columns = fields.map((field, index) => ({ name: field.name, values: befores[index] ?? [], field }));
    const write = this.#fields(columns, 'image from before the change', true);
    const path = columns.find(({ name }) => isPath(name));
    return (i, out) => {
      if (path !== undefined) throw unfit(path.name, PATH);
      const start = beginDocument(out);
      write(i, out);
      endDocument(out, start);
    };
  }

  #nameOf({ name }: IdColumn): string | null {
    return name === '' ? name : this.#values.nameAt(name, name);
  }

  #single({ values, field }: IdColumn, side: string, writer?: ElementWriter): FilterWriter {
    const write = writer ?? this.#values.writer(field.schema, field.name);
    return idFilter((i, out) => {
      const value = values[i];
      if (value === null || value === undefined)
        lacksId(`the ${side} of the record is null, or null in ${field.name || 'it'}`);
      writeFitting(field.name, () => writeLiteral(() => write(value, ID, out), out));
    });
  }

  #document(columns: readonly IdColumn[], side: string): FilterWriter {
    const write = this.#fields(columns, side);
    const operator = columns.find(column => this.#nameOf(column)?.startsWith('$'));
    return idFilter((i, out) => {
      if (operator !== undefined) throw unfit(operator.name, OPERATOR);
      writeHead(BsonType.document, ID, out);
      const start = beginDocument(out);
      write(i, out);
      endDocument(out, start);
    });
  }

  #fields(columns: readonly IdColumn[], side: string, mayHaveOperators = false): FilterWriter {
    const fields = columns.flatMap(column => {
      const name = this.#nameOf(column);
      // A key that is no struct.
      if (name === null || (name === '' && columns.length === 1)) return [];
      const write = this.#values.writer(column.field.schema, column.name);
      return [{ ...column, name: elementName(name), write }];
    });
    if (fields.length === 0) return () => lacksId(`the ${side} of the record has no fields to make it of`);
    return (i, out) => {
      if (fields.every(({ values }) => values[i] === null || values[i] === undefined))
        lacksId(`the ${side} of the record is null`);
      for (const { name, values, write, field } of fields)
        writeFitting(field.name, () => {
          const element = (): void => this.#values.write(values[i], write, name, out);
          if (mayHaveOperators) element();
          else writeLiteral(element, out, name.length);
        });
    };
  }

  /** Fields in sub-documents are found by their paths. */
  #businessKey(side: 'key' | 'value'): FilterWriter {
    const columns = columnsOf(this.#run, side).filter(column => this.#nameOf(column) !== null);
    if (columns.length === 0) return () => lacksId(`the ${side} of the record has no fields to make it of`);
    return (i, out) => {
      const start = beginDocument(out);
      for (const { name, values, field } of columns)
        writeFitting(name, () => this.#writeFlat(values[i], field, '', out, 0));
      endDocument(out, start);
    };
  }

  #writeFlat(value: unknown, { name, schema }: RunField, parent: string, out: OutputBuffer, level: number): void {
    const path = parent + name;
    if (this.#values.nameAt(path, name) === null) return;
    if (isPath(name)) throw PATH;
    if (level > MOST_LEVELS) throw TOO_DEEP;
    if (value instanceof Struct)
      for (const field of value.schema.fields)
        this.#writeFlat(value.values[field.index], field, `${path}.`, out, level + 1);
    else if (isPlainObject(value))
      for (const [each, inner] of Object.entries(value))
        this.#writeFlat(inner, { name: each, schema: null }, `${path}.`, out, level + 1);
    else {
      const at = elementName(path);
      writeLiteral(() => this.#values.write(value, this.#values.writer(schema, path), at, out), out, at.length);
    }
  }
}

/** Change events of a table without key, which only the handler takes. */
export const isKeyless = ({ hasHandler }: TopicSettings, run: ChangeRun): boolean =>
  hasHandler && run.isEnvelope && run.keyFields.length === 0;

const newObjectId = (): FilterWriter =>
  idFilter((_, out) => {
    writeHead(BsonType.objectId, ID, out);
    out.writeBytes(new ObjectId().id);
  });

function columnsOf(run: ChangeRun, side: 'key' | 'value'): IdColumn[] {
  const [fields, values] = side === 'key' ? [run.keyFields, run.keys] : [run.fields, run.values];
  return fields.map((field, index) => ({ name: field.name, values: values[index]!, field }));
}

const idFilter =
  (write: (i: number, out: OutputBuffer) => void): FilterWriter =>
  (i, out) => {
    const start = beginDocument(out);
    write(i, out);
    endDocument(out, start);
  };

const OPERATOR = new RangeError('it has a name that begins with $, which the server takes for an operator');
const PATH = new RangeError('the server takes its name for a path or an operator');
const isPath = (name: string): boolean => name === '' || name.startsWith('$') || name.includes('.');

/** Writes an element of a filter, whose value is to be nothing but compared. */
function writeLiteral(write: () => void, out: OutputBuffer, nameBytes = ID.length): void {
  const start = out.position;
  write();
  const type = out.bytes[start];
  if ((type === BsonType.document || type === BsonType.array) && hasOperator(out.bytes, start + 1 + nameBytes))
    throw OPERATOR;
}

function writeUuid(value: unknown, name: Buffer, out: OutputBuffer): void {
  const hex = typeof value === 'string' ? value.replaceAll('-', '') : '';
  if (!/^[0-9a-f]{32}$/i.test(hex)) throw new RangeError('it is no UUID as text');
  writeBinary(Buffer.from(hex, 'hex'), name, out, 4);
}

function writeFitting(field: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw unfit(field === '' ? 'key' : field, error);
  }
}

export const unfit = (field: string, error: RangeError): ConnectError =>
  new ConnectError(
    'SINK_VALUE_UNFIT',
    `the value of field "${field}" does not fit a document: ${error.message}; convert it at the source, or send such records to a dead letter queue with errors.tolerance=all`,
    { place: { column: field } },
  );

const lacksId = (why: string): never => {
  throw new ConnectError(
    'SINK_KEY_MISSING',
    `there is no _id for the document: ${why}; give the source a key, or choose a document.id.strategy that fits the records`,
  );
};
