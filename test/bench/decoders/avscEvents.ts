/** Keys and Debezium's envelopes by avsc, from the row objects of a reader of the log, into one buffer that is filled again for each of its events. */
import avsc from 'avsc';
import type { EventSchemas } from './decoderRun.ts';

type Row = Readonly<Record<string, unknown>>;
/** A new row, or both sides of an update. */
export type LoggedRow = Row | { readonly before: Row; readonly after: Row };

interface AvroType {
  readonly type: string;
  readonly fields?: readonly { readonly name: string; readonly type: AvroSchema }[];
  readonly scale?: number;
  readonly 'connect.name'?: string;
}
type AvroSchema = string | AvroType | readonly AvroSchema[];

const FRAMING = Buffer.from([0, 0, 0, 0, 1]);

export class AvscEvents {
  readonly #key: avsc.Type;
  readonly #value: avsc.Type;
  readonly #keyNames: readonly string[];
  readonly #columns: readonly (readonly [name: string, convert: (value: unknown) => unknown])[];
  readonly #place: { readonly db: string; readonly table: string; readonly file: string };
  #buffer = Buffer.allocUnsafe(1 << 20);
  #position = 0;
  /** Of the transaction that the next rows are of. */
  gtid: string | null = null;

  constructor({ key, value }: EventSchemas, file: string) {
    const envelope = JSON.parse(value) as AvroType & { namespace: string };
    const keyRecord = JSON.parse(key) as AvroType;
    const row = nonNull(envelope.fields!.find(f => f.name === 'before')!.type) as AvroType;
    this.#keyNames = keyRecord.fields!.map(f => f.name);
    this.#columns = row.fields!.map(f => [f.name, converter(nonNull(f.type))]);
    const options = { wrapUnions: false, logicalTypes: {} };
    this.#key = avsc.Type.forSchema(keyRecord as avsc.Schema, options);
    this.#value = avsc.Type.forSchema(envelope as avsc.Schema, options);
    const [, db, table] = envelope.namespace.split('.');
    this.#place = { db: db!, table: table!, file };
  }

  /** All rows of an event; returns how many bytes they are. */
  encode(rows: readonly LoggedRow[], loggedMs: number, position: number): number {
    this.#position = 0;
    const ms = Date.now();
    const { db, table, file } = this.#place;
    rows.forEach((row, number) => {
      const isUpdate = 'after' in row && 'before' in row;
      const after = this.#row((isUpdate ? row.after : row) as Row);
      // avsc is slow with objects that are put together of others.
      const source = {
        version: '0.1.0',
        connector: 'mysql',
        name: 'bench',
        ts_ms: loggedMs,
        snapshot: 'false',
        db,
        sequence: null,
        ts_us: loggedMs * 1000,
        ts_ns: loggedMs * 1000,
        table,
        server_id: 1,
        gtid: this.gtid,
        file,
        pos: position,
        row: number,
        thread: null,
        query: null,
      };
      const before = isUpdate ? this.#row(row.before as Row) : null;
      const op = isUpdate ? 'u' : 'c';
      this.#write(this.#key, Object.fromEntries(this.#keyNames.map(name => [name, after[name]])));
      // Nanoseconds are no safe integers, which avsc takes by a type of one's own only, at ten times the cost: it gets microseconds.
      const event = { before, after, source, transaction: null, op, ts_ms: ms, ts_us: ms * 1000, ts_ns: ms * 1000 };
      this.#write(this.#value, event);
    });
    return this.#position;
  }

  #row(logged: Row): Row {
    const row: Record<string, unknown> = {};
    for (const [name, convert] of this.#columns) {
      const value = logged[name];
      row[name] = value === null || value === undefined ? null : convert(value);
    }
    return row;
  }

  #write(type: avsc.Type, value: unknown): void {
    const start = this.#position + FRAMING.length;
    const end = type.encode(value, this.#buffer, start);
    if (end < 0) {
      const grown = Buffer.allocUnsafe(this.#buffer.length * 2);
      this.#buffer.copy(grown, 0, 0, this.#position);
      this.#buffer = grown;
      this.#write(type, value);
      return;
    }
    FRAMING.copy(this.#buffer, this.#position);
    this.#position = end;
  }
}

const nonNull = (schema: AvroSchema): string | AvroType =>
  (Array.isArray(schema) ? schema.find(branch => branch !== 'null') : schema) as string | AvroType;

function converter(schema: string | AvroType): (value: unknown) => unknown {
  const { type, 'connect.name': name, scale } = typeof schema === 'string' ? ({ type: schema } as AvroType) : schema;
  switch (name) {
    case 'io.debezium.time.Date':
      return value => Math.floor((value as Date).getTime() / 86_400_000);
    case 'io.debezium.time.MicroTime':
      return value => microsOfTime(value as string);
    case 'io.debezium.time.MicroTimestamp':
      return value => (value as Date).getTime() * 1000;
    case 'io.debezium.time.ZonedTimestamp':
      return value => (value as Date).toISOString();
    case 'org.apache.kafka.connect.data.Decimal':
      return value => unscaled(value as string, scale ?? 0);
  }
  if (type === 'long' || type === 'int' || type === 'double' || type === 'float') return Number;
  return value => value;
}

function microsOfTime(text: string): number {
  const [hours, minutes, seconds] = text.split(':').map(Number);
  return ((hours! * 60 + minutes!) * 60 + seconds!) * 1_000_000;
}

/** Two's complement, the highest byte first. */
function unscaled(text: string, scale: number): Buffer {
  const [whole, fraction = ''] = text.split('.');
  const value = BigInt(whole! + fraction.padEnd(scale, '0'));
  let bytes = 1;
  while (BigInt.asIntN(bytes * 8, value) !== value) bytes++;
  return Buffer.from(
    BigInt.asUintN(bytes * 8, value)
      .toString(16)
      .padStart(bytes * 2, '0'),
    'hex',
  );
}
