/**
 * What every sink of documents owes its users, run against a real target: replay, folding, deletes, order per key, types, poison records, placeholders. Each case
 * runs from plain records and from Avro bytes, and must come out the same. Topics bear the name of the collection or index that they go to.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config, SinkTask } from '../../runtime/api/index.ts';
import * as data from '../../schemas/data/index.ts';
import {
  Decimal,
  decimalSchema,
  INT64,
  OPTIONAL_STRING,
  primitive,
  STRING,
  Struct,
  type StructSchema,
  struct,
} from '../../schemas/data/index.ts';
import { avroSinkBatch, plainSinkBatch, type TestRecord } from './sinkBatches.ts';
import {
  deleted,
  envelopeOf,
  envelopeSchema,
  event,
  item,
  keySchema,
  type MakeBatch,
  type Named,
  PLACEHOLDER,
  pseudoRandom,
  rowFields,
  rowSchema,
  tombstone,
  written,
} from './sinkContract.ts';
import { startSink } from './sinkHarness.ts';

/** By field, without the id of the target's own. */
export type PlainDocument = Readonly<Record<string, unknown>>;

export interface DocumentSinkSubject {
  createTask(): SinkTask;
  /** Connection keys, and what makes the sink take ids from record keys and apply deletes. */
  readonly connection: Config;
  /** Keys over those, with which deletes are not applied. */
  readonly deletesOff: Config;
  /** Keys that bound a flush to about so many records, and let several requests be under way. */
  bounded(records: number): Config;
  /** A name for a topic and what it goes to, which is not there yet and is dropped at the end. */
  newCollection(): string;
  /** The same, there already: it takes documents whose `code` is a number as text, another one in each, and refuses the one that is `refused`. */
  newPickyCollection(): Promise<string>;
  /** By id, as text, what is there now; 64-bit integers may be bigints. */
  documents(collection: string): Promise<ReadonlyMap<string, PlainDocument>>;
  /** What `documents` gives for the record of all types, as the sink's page tells. */
  readonly typesDocument: PlainDocument;
}

const plainNumber = (value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);
const plain = (document: PlainDocument): PlainDocument =>
  Object.fromEntries(Object.entries(document).map(([name, value]) => [name, plainNumber(value)]));

const address = struct(
  [
    ['street', STRING],
    ['spot', struct([['lat', data.FLOAT64]], { name: 'shop.Spot' })],
  ],
  { name: 'shop.Address' },
);
const semantic = (type: Parameters<typeof primitive>[0], name: string) => primitive(type, { name, version: 1 });
const scaled = struct(
  [
    ['scale', data.INT32],
    ['value', data.BYTES],
  ],
  { name: 'io.debezium.data.VariableScaleDecimal', version: 1 },
);

/** One field of each type that sinks tell apart, with its value. */
const typeFields: readonly (readonly [name: string, schema: data.Schema, value: unknown])[] = [
  ['id', INT64, 1n],
  ['small', data.INT16, -7],
  ['number', data.INT32, 2_147_483_647],
  ['big', INT64, 9_007_199_254_740_993n],
  ['ratio', data.FLOAT64, 2],
  ['flag', data.BOOLEAN, true],
  ['text', STRING, 'Zürich 🚲'],
  ['nothing', OPTIONAL_STRING, null],
  ['blob', data.BYTES, Buffer.from([0, 1, 254, 255])],
  ['amount', decimalSchema(2, 22), new Decimal(-1_234_567_890_123_456_789_012n, 2)],
  ['scaled', scaled, new Struct(scaled, [3, Buffer.from([1, 0])])],
  ['day', semantic('INT32', 'io.debezium.time.Date'), 19_358],
  ['connect_day', data.dateSchema(), 19_358],
  ['at', semantic('INT64', 'io.debezium.time.Timestamp'), 1_672_567_200_123n],
  ['connect_at', data.timestampSchema(), 1_672_567_200_123n],
  ['micro_at', semantic('INT64', 'io.debezium.time.MicroTimestamp'), 1_672_567_200_123_000n],
  ['zoned_at', semantic('STRING', 'io.debezium.time.ZonedTimestamp'), '2023-01-01T12:00:00.123+02:00'],
  ['uuid', semantic('STRING', 'io.debezium.data.Uuid'), '6f1c1c9a-6a5e-4c43-9d1b-0d6c6a1f7b11'],
  ['tags', data.array(STRING), ['a', 'b']],
  ['counts', data.map(STRING, data.INT32), new Map([['x', 1]])],
  ['address', address, new Struct(address, ['Main', new Struct(address.fields[1]!.schema as StructSchema, [47.5])])],
];

export function documentSinkContract(name: string, subject: () => DocumentSinkSubject): void {
  for (const [form, make] of [
    ['plain records', plainSinkBatch],
    ['Avro bytes', avroSinkBatch],
  ] as const) {
    describe(`${name}: ${form}`, () => contractCases(subject, make));
  }
}

function contractCases(subject: () => DocumentSinkSubject, make: MakeBatch): void {
  const start = (extra: Config, options: { tolerate?: boolean } = {}) =>
    startSink(subject().createTask(), { ...subject().connection, ...extra }, options);
  const open = async (extra: Config = {}, options: { tolerate?: boolean; collection?: string } = {}) => {
    const collection = options.collection ?? subject().newCollection();
    const run = await start(extra, options);
    const batch = (records: readonly TestRecord[], firstOffset = 0, valueSchema: data.Schema | null = envelopeSchema) =>
      make({ topic: collection, firstOffset, keySchema, valueSchema }, records);
    const documents = async (): Promise<ReadonlyMap<string, PlainDocument>> =>
      new Map([...(await subject().documents(collection))].map(([id, document]) => [id, plain(document)]));
    return { collection, run, batch, documents, [Symbol.asyncDispose]: () => run[Symbol.asyncDispose]() };
  };

  it('gives the same documents when a range is delivered again', async () => {
    await using sink = await open();
    const records = [
      ...Array.from({ length: 200 }, (_, i) => written('c', item(BigInt(i)))),
      ...Array.from({ length: 50 }, (_, i) => written('u', item(BigInt(i), { name: 'changed' }))),
      ...Array.from({ length: 20 }, (_, i) => deleted(BigInt(i * 2))),
    ];
    await sink.run.deliver(await sink.batch(records));
    const once = await sink.documents();
    assert.deepEqual(once, model(records));
    await sink.run.deliver(await sink.batch(records));
    await sink.run.deliver(await sink.batch(records.slice(100), 100));
    assert.deepEqual(await sink.documents(), once);
  });

  it('comes to the same documents after a hard end', async () => {
    await using sink = await open(subject().bounded(37));
    const records = Array.from({ length: 500 }, (_, i) =>
      i % 7 === 3 ? deleted(BigInt(i % 60)) : written('u', item(BigInt(i % 60), { qty: i })),
    );
    await sink.run.task.put([await sink.batch(records.slice(0, 300))]);
    await sink.run.abort();
    await using again = await start(subject().bounded(37));
    await again.deliver(await sink.batch(records));
    assert.deepEqual(await sink.documents(), model(records));
  });

  it('deletes by delete event and by tombstone, also where there is no document', async () => {
    await using sink = await open();
    await sink.run.deliver(await sink.batch([1n, 2n, 3n].map(id => written('c', item(id)))));
    await sink.run.deliver(await sink.batch([deleted(1n), tombstone(1n), tombstone(2n), tombstone(9n)], 3));
    assert.deepEqual([...(await sink.documents()).keys()], ['3']);
  });

  it('folds the changes of one key in a flush, the last one winning', async () => {
    await using sink = await open();
    const records = [
      written('c', item(1n, { qty: 1 })),
      written('u', item(1n, { qty: 2 })),
      written('c', item(2n)),
      deleted(2n),
      tombstone(2n),
      written('u', item(1n, { qty: 3, name: null })),
    ];
    await sink.run.deliver(await sink.batch(records));
    assert.deepEqual(await sink.documents(), model(records));
    assert.ok(sink.run.counts.get('folded_records')! > 0);
  });

  it('keeps the order of each key over many puts and flushes', async () => {
    await using sink = await open(subject().bounded(101));
    const random = pseudoRandom(20);
    const records: TestRecord[] = [];
    for (let i = 0; i < 3000; i++) {
      const id = BigInt(random(80));
      const kind = random(10);
      if (kind < 2) records.push(deleted(id));
      else if (kind === 2) records.push(tombstone(id));
      else records.push(written(kind < 5 ? 'c' : 'u', item(id, { qty: i, name: kind === 9 ? null : `v${i}` })));
    }
    for (let from = 0; from < records.length; ) {
      const to = from + 1 + random(200);
      await sink.run.task.put([await sink.batch(records.slice(from, to), from)]);
      from = to;
    }
    await sink.run.task.preCommit?.(new Map());
    assert.deepEqual(await sink.documents(), model(records));
  });

  it('leaves nothing of an old document when its key is written anew, after a deletion or without', async () => {
    await using sink = await open();
    const partial = struct(
      [
        ['id', INT64],
        ['name', OPTIONAL_STRING],
      ],
      { name: 'shop.public.item.Partial', optional: true },
    );
    const envelope = envelopeOf(partial, 'shop.public.item.PartialEnvelope');
    await sink.run.deliver(
      await sink.batch([1n, 2n].map(id => written('c', item(id, { name: 'old', qty: 99, code: 'x' })))),
    );
    await sink.run.task.put([await sink.batch([deleted(1n)], 2)]);
    const anew = [1n, 2n].map(id => written('c', { id, name: 'new' }, envelope));
    await sink.run.deliver(await sink.batch(anew, 3, envelope));
    assert.deepEqual(Object.fromEntries(await sink.documents()), {
      1: { id: 1, name: 'new' },
      2: { id: 2, name: 'new' },
    });
  });

  it('writes two topics that come in turns to their own collections', async () => {
    await using sink = await open();
    const other = subject().newCollection();
    for (let i = 0; i < 5; i++) {
      const options = { topic: other, firstOffset: i, keySchema, valueSchema: envelopeSchema };
      await sink.run.task.put([
        await sink.batch([written('c', item(BigInt(i)))], i),
        await make(options, [written('c', item(BigInt(i), { name: 'other' }))]),
      ]);
    }
    await sink.run.task.preCommit?.(new Map());
    assert.equal((await sink.documents()).get('4')?.name, 'n4');
    const others = await subject().documents(other);
    assert.deepEqual([others.size, others.get('4')?.name], [5, 'other']);
  });

  it('writes flat records', async () => {
    await using sink = await open();
    const records = [1n, 2n].map(id => ({ key: new Struct(keySchema, [id]), value: Struct.of(rowSchema, item(id)) }));
    await sink.run.deliver(await sink.batch(records, 0, rowSchema));
    await sink.run.deliver(await sink.batch([tombstone(1n)], 2));
    assert.deepEqual(Object.fromEntries(await sink.documents()), { 2: plain(item(2n)) });
  });

  it('writes each type as its page tells', async () => {
    await using sink = await open();
    const row = struct(
      typeFields.map(([name, schema]) => [name, schema] as const),
      { name: 'shop.public.types.Value', optional: true },
    );
    const envelope = envelopeOf(row, 'shop.public.types.Envelope');
    const named = Object.fromEntries(typeFields.map(([name, , value]) => [name, value]));
    await sink.run.deliver(await sink.batch([written('c', named, envelope)], 0, envelope));
    assert.deepEqual((await subject().documents(sink.collection)).get('1'), subject().typesDocument);
  });

  it('writes JSON without schema, fields changing from record to record', async () => {
    await using sink = await open();
    const records: TestRecord[] = [
      { key: { id: 1 }, value: { id: 1, name: 'a', tags: ['x'] } },
      { key: { id: 2 }, value: { id: 2, flag: true, nothing: null } },
      { key: { id: 3 }, value: { id: 3, tags: ['y', 'z'], notes: [{ deep: true }], address: { street: 'Main' } } },
      { key: { id: 1 }, value: { id: 1, name: 'b' } },
    ];
    await sink.run.deliver(plainSinkBatch({ topic: sink.collection, keySchema: null, valueSchema: null }, records));
    assert.deepEqual(Object.fromEntries(await sink.documents()), {
      1: { id: 1, name: 'b' },
      2: { id: 2, flag: true, nothing: null },
      3: { id: 3, tags: ['y', 'z'], notes: [{ deep: true }], address: { street: 'Main' } },
    });
  });

  it('leaves a field alone whose value the source did not send', async () => {
    await using sink = await open();
    await sink.run.deliver(await sink.batch([written('c', item(1n, { name: 'long', qty: 1 }))]));
    await sink.run.deliver(await sink.batch([written('u', item(1n, { name: PLACEHOLDER, qty: 2 }))], 1));
    // Folded with the document that has the value, and after another change.
    await sink.run.deliver(
      await sink.batch(
        [
          written('c', item(2n, { name: 'longer', code: 'z' })),
          written('u', item(2n, { name: PLACEHOLDER, code: PLACEHOLDER, qty: 5 })),
          written('u', item(2n, { name: PLACEHOLDER, qty: 6 })),
        ],
        2,
      ),
    );
    assert.deepEqual(Object.fromEntries(await sink.documents()), {
      1: plain(item(1n, { name: 'long', qty: 2 })),
      2: plain(item(2n, { name: 'longer', qty: 6, code: null })),
    });
  });

  it('never writes the placeholder: a new document that carries it is refused, with its place', async () => {
    await using sink = await open({}, { tolerate: true });
    const records = [
      written('c', item(1n)),
      written('c', item(2n, { name: PLACEHOLDER })),
      written('r', item(3n, { code: PLACEHOLDER })),
    ];
    await sink.run.deliver(await sink.batch(records, 40));
    assert.deepEqual(Object.fromEntries(await sink.documents()), { 1: plain(item(1n)) });
    assert.deepEqual(
      sink.run.errants.map(({ error }) => [error.code, error.place.topic, error.place.offset, error.place.column]),
      [
        ['SINK_VALUE_UNAVAILABLE', sink.collection, 41, 'name'],
        ['SINK_VALUE_UNAVAILABLE', sink.collection, 42, 'code'],
      ],
    );
    assert.ok(sink.run.errants[0]?.error.place.table?.includes(sink.collection));
  });

  it('finds the records that the target refuses, and writes the others', async () => {
    const collection = await subject().newPickyCollection();
    const before = await subject().documents(collection);
    await using sink = await open({}, { tolerate: true, collection });
    const records = Array.from({ length: 300 }, (_, i) =>
      written('c', item(BigInt(i), { code: i % 100 === 23 ? 'refused' : `${i}` })),
    );
    await sink.run.deliver(await sink.batch(records, 1000));
    assert.deepEqual(
      sink.run.errants.map(({ record, error }) => [record.originalOffset, error.code]).sort(),
      [1023, 1123, 1223].map(offset => [offset, 'SINK_RECORD_REJECTED']),
    );
    const [{ error }] = sink.run.errants as [(typeof sink.run.errants)[number]];
    assert.equal(error.place.topic, collection);
    assert.ok(error.place.table?.includes(collection));
    assert.ok(!error.message.includes('refused"'), 'no values in messages');
    const after = await sink.documents();
    assert.equal(after.size, before.size + 297);
    assert.ok(!after.has('123'));
  });

  it('writes what came before and after a refused record of the same key', async () => {
    await using sink = await open({}, { tolerate: true, collection: await subject().newPickyCollection() });
    const changes: Named[] = [
      item(1n, { qty: 1, code: '1' }),
      item(1n, { qty: 2, code: 'refused' }),
      item(2n, { qty: 1, code: '2' }),
      item(2n, { qty: 2, code: 'refused' }),
      item(2n, { qty: 3, code: '2' }),
    ];
    await sink.run.deliver(await sink.batch(changes.map(row => written('u', row))));
    const documents = await sink.documents();
    assert.deepEqual([documents.get('1')?.qty, documents.get('2')?.qty], [1, 3]);
    // The second one need not have been tried: what came after it in the flush takes its place.
    assert.ok(sink.run.errants.some(({ record }) => record.originalOffset === 1));
  });

  it('fails at a record that the target refuses when errors are not tolerated, and does not confirm it', async () => {
    await using sink = await open({}, { collection: await subject().newPickyCollection() });
    const records = [written('c', item(1n, { code: '1' })), written('c', item(2n, { code: 'refused' }))];
    await assert.rejects(sink.run.deliver(await sink.batch(records)), { code: 'SINK_RECORD_REJECTED' });
    await assert.rejects(sink.run.task.preCommit!(new Map()), { code: 'SINK_RECORD_REJECTED' });
  });

  it('reports a null value, and a delete event, when deletes are off', async () => {
    await using sink = await open(subject().deletesOff, { tolerate: true });
    await sink.run.deliver(
      await sink.batch([written('c', item(1n)), tombstone(1n), written('c', item(2n)), deleted(2n)]),
    );
    assert.deepEqual(
      sink.run.errants.map(({ record, error }) => [record.originalOffset, error.code]),
      [
        [1, 'SINK_NULL_VALUE'],
        [3, 'SINK_NULL_VALUE'],
      ],
    );
    assert.equal((await sink.documents()).size, 2);
  });

  it('reports records without key, and values that are no documents', async () => {
    await using sink = await open({}, { tolerate: true });
    const withoutKey: TestRecord[] = [{ key: null, value: event('c', item(1n)) }, written('c', item(2n))];
    await sink.run.deliver(await sink.batch(withoutKey));
    const text: TestRecord[] = [{ key: new Struct(keySchema, [3n]), value: 'text' }];
    await sink.run.deliver(await sink.batch(text, 2, STRING));
    assert.deepEqual(
      sink.run.errants.map(({ record, error }) => [record.originalOffset, error.code]),
      [
        [0, 'SINK_KEY_MISSING'],
        [2, 'SINK_VALUE_UNUSABLE'],
      ],
    );
    assert.deepEqual([...(await sink.documents()).keys()], ['2']);
  });

  it('writes a field that is new, and documents without it afterwards', async () => {
    await using sink = await open();
    const wider = struct([...rowFields, ['note', OPTIONAL_STRING]], {
      name: 'shop.public.item.Value2',
      optional: true,
    });
    const envelope = envelopeOf(wider, 'shop.public.item.Envelope2');
    await sink.run.task.put([await sink.batch([written('c', item(1n))])]);
    await sink.run.task.put([await sink.batch([written('c', item(2n, { note: 'new' }), envelope)], 1, envelope)]);
    await sink.run.deliver(await sink.batch([written('u', item(1n, { qty: 5 }))], 2));
    const documents = await sink.documents();
    assert.deepEqual([documents.get('1')?.qty, documents.get('2')?.note], [5, 'new']);
    assert.ok(!('note' in documents.get('1')!));
  });
}

/** The documents that the records lead to, applied one by one. */
function model(records: readonly TestRecord[]): Map<string, PlainDocument> {
  const documents = new Map<string, PlainDocument>();
  for (const { key, value } of records) {
    const id = String((key as Struct).get('id'));
    const after = value === null ? null : ((value as Struct).get('after') as Struct | null);
    documents.delete(id);
    if (after !== null)
      documents.set(id, plain(Object.fromEntries(after.schema.fields.map((f, i) => [f.name, after.values[i]]))));
  }
  return documents;
}
