/**
 * What every SQL sink owes its users, run against a real target: replay, tombstones, folding, key changes, order per key, schema change, poison
 * records, nulls. Each case runs from plain records and from Avro bytes, and must come out the same.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config, SinkBatch, SinkTask } from '../../runtime/api/index.ts';
import {
  INT32,
  INT64,
  OPTIONAL_STRING,
  primitive,
  STRING,
  Struct,
  type StructSchema,
  struct,
} from '../../schemas/data/index.ts';
import { avroSinkBatch, type BatchOptions, plainSinkBatch, type TestRecord } from './sinkBatches.ts';
import { startSink } from './sinkHarness.ts';

export interface ItemRow {
  readonly id: bigint;
  readonly name: string | null;
  readonly qty: number;
  readonly code: string | null;
}

export interface SinkSubject {
  createTask(): SinkTask;
  /** Connection keys, and whatever the sink needs beyond those of the contract. */
  readonly connection: Config;
  /**
   * A new table: id 64-bit primary key, name text of at most 20 characters, qty integer NOT NULL DEFAULT 7, code text UNIQUE. Returns its name as
   * `table.name.format` takes it.
   */
  createItemTable(): Promise<string>;
  /** Rows in the order of id. */
  items(table: string): Promise<readonly ItemRow[]>;
  /** Rows as the target gives them, all columns, in the order of id. */
  rows(table: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export const PLACEHOLDER = '__debezium_unavailable_value';
export const keySchema = struct([['id', INT64]], { name: 'shop.public.item.Key' });
export const rowFields = [
  ['id', INT64],
  ['name', OPTIONAL_STRING],
  ['qty', INT32],
  ['code', OPTIONAL_STRING],
] as const;
export const rowSchema = struct(rowFields, { name: 'shop.public.item.Value', optional: true });
const sourceSchema = struct(
  [
    ['schema', STRING],
    ['table', STRING],
  ],
  { name: 'shop.Source' },
);

export const envelopeOf = (row: StructSchema, name = 'shop.public.item.Envelope'): StructSchema =>
  struct(
    [
      ['before', row],
      ['after', row],
      ['source', sourceSchema],
      ['op', STRING],
    ],
    { name, version: 2 },
  );
export const envelopeSchema = envelopeOf(rowSchema);

export type Named = Readonly<Record<string, unknown>>;
const key = (id: bigint): Struct => new Struct(keySchema, [id]);
export const item = (id: bigint, fields: Named = {}): Named => ({ id, name: `n${id}`, qty: 1, code: null, ...fields });

export function event(op: string, after: Named | null, before: Named | null = null, schema = envelopeSchema): Struct {
  const row = schema.fields[0]!.schema as StructSchema;
  const image = (named: Named | null): Struct | null => (named === null ? null : Struct.of(row, named));
  return Struct.of(schema, {
    before: image(before),
    after: image(after),
    source: Struct.of(sourceSchema, { schema: 'public', table: 'item' }),
    op,
  });
}

export const written = (op: 'c' | 'r' | 'u', row: Named, schema = envelopeSchema): TestRecord => ({
  key: key(row.id as bigint),
  value: event(op, row, null, schema),
});
export const deleted = (id: bigint): TestRecord => ({ key: key(id), value: event('d', null, item(id)) });
export const tombstone = (id: bigint): TestRecord => ({ key: key(id), value: null });

export type MakeBatch = (options: BatchOptions, records: readonly TestRecord[]) => SinkBatch | Promise<SinkBatch>;

/** The same numbers on every run. */
export function pseudoRandom(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export function sinkContract(name: string, subject: () => SinkSubject): void {
  for (const [form, make] of [
    ['plain records', plainSinkBatch],
    ['Avro bytes', avroSinkBatch],
  ] as const) {
    describe(`${name}: ${form}`, () => contractCases(subject, make));
  }
}

function contractCases(subject: () => SinkSubject, make: MakeBatch): void {
  const batch = (records: readonly TestRecord[], firstOffset = 0, valueSchema: StructSchema = envelopeSchema) =>
    make({ topic: 'shop.public.item', firstOffset, keySchema, valueSchema }, records);
  const configFor = (table: string, extra: Config = {}): Config => ({
    ...subject().connection,
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'table.name.format': table,
    ...extra,
  });
  const open = async (extra: Config = {}, options: { tolerate?: boolean } = {}) => {
    const table = await subject().createItemTable();
    const run = await startSink(subject().createTask(), configFor(table, extra), options);
    return { table, run, [Symbol.asyncDispose]: () => run[Symbol.asyncDispose]() };
  };

  it('gives the same rows when a range is delivered again', async () => {
    await using sink = await open();
    const records = [
      ...Array.from({ length: 200 }, (_, i) => written('c', item(BigInt(i)))),
      ...Array.from({ length: 50 }, (_, i) => written('u', item(BigInt(i), { name: 'changed' }))),
      ...Array.from({ length: 20 }, (_, i) => deleted(BigInt(i * 2))),
    ];
    await sink.run.deliver(await batch(records));
    const once = await subject().items(sink.table);
    assert.equal(once.length, 180);
    await sink.run.deliver(await batch(records));
    await sink.run.deliver(await batch(records.slice(100), 100));
    assert.deepEqual(await subject().items(sink.table), once);
  });

  it('comes to the same rows after a hard end', async () => {
    await using sink = await open({ 'batch.size': '37' });
    const records = Array.from({ length: 500 }, (_, i) =>
      i % 7 === 3 ? deleted(BigInt(i % 60)) : written('u', item(BigInt(i % 60), { qty: i })),
    );
    await sink.run.task.put([await batch(records.slice(0, 300))]);
    await sink.run.abort();
    await using again = await startSink(subject().createTask(), configFor(sink.table, { 'batch.size': '37' }));
    await again.deliver(await batch(records));
    assert.deepEqual(await subject().items(sink.table), model(records));
  });

  it('deletes by delete event and by tombstone, also where there is no row', async () => {
    await using sink = await open();
    await sink.run.deliver(await batch([1n, 2n, 3n].map(id => written('c', item(id)))));
    await sink.run.deliver(await batch([deleted(1n), tombstone(1n), tombstone(2n), tombstone(9n)], 3));
    assert.deepEqual(
      (await subject().items(sink.table)).map(r => r.id),
      [3n],
    );
  });

  it('folds the changes of one key in a flush, the last one winning', async () => {
    await using sink = await open();
    await sink.run.deliver(
      await batch([
        written('c', item(1n, { qty: 1 })),
        written('u', item(1n, { qty: 2 })),
        written('c', item(2n)),
        deleted(2n),
        tombstone(2n),
        written('u', item(1n, { qty: 3, name: null })),
      ]),
    );
    assert.deepEqual(await subject().items(sink.table), [item(1n, { qty: 3, name: null })]);
  });

  it('writes a row anew after its deletion, without values of the old one', async () => {
    await using sink = await open();
    await sink.run.deliver(await batch([written('c', item(1n, { name: 'old', qty: 99, code: 'x' }))]));
    const partial = struct(
      [
        ['id', INT64],
        ['name', OPTIONAL_STRING],
      ],
      { name: 'shop.public.item.Partial', optional: true },
    );
    const partialEnvelope = envelopeOf(partial, 'shop.public.item.PartialEnvelope');
    await sink.run.task.put([await batch([deleted(1n)], 1)]);
    await sink.run.deliver(await batch([written('c', { id: 1n, name: 'new' }, partialEnvelope)], 2, partialEnvelope));
    assert.deepEqual(await subject().items(sink.table), [{ id: 1n, name: 'new', qty: 7, code: null }]);
  });

  it('applies a change of the key, with a unique value that moves along', async () => {
    await using sink = await open();
    await sink.run.deliver(await batch([written('c', item(1n, { code: 'A' }))]));
    await sink.run.deliver(await batch([deleted(1n), tombstone(1n), written('c', item(2n, { code: 'A' }))], 1));
    assert.deepEqual(await subject().items(sink.table), [item(2n, { code: 'A' })]);
  });

  it('lets two rows exchange a unique value', async () => {
    await using sink = await open();
    await sink.run.deliver(await batch([written('c', item(1n, { code: 'A' })), written('c', item(2n, { code: 'B' }))]));
    await sink.run.deliver(
      await batch(
        [
          written('u', item(1n, { code: 'tmp' })),
          written('u', item(2n, { code: 'A' })),
          written('u', item(1n, { code: 'B' })),
        ],
        2,
      ),
    );
    assert.deepEqual(
      (await subject().items(sink.table)).map(r => r.code),
      ['B', 'A'],
    );
  });

  it('keeps the order of each key over many puts and flushes', async () => {
    await using sink = await open({ 'batch.size': '101' });
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
      await sink.run.task.put([await batch(records.slice(from, to), from)]);
      from = to;
    }
    await sink.run.task.preCommit?.(new Map());
    assert.deepEqual(await subject().items(sink.table), model(records));
  });

  it('leaves a column alone whose value the source did not send', async () => {
    await using sink = await open();
    await sink.run.deliver(await batch([written('c', item(1n, { name: 'long', qty: 1 }))]));
    await sink.run.deliver(await batch([written('u', item(1n, { name: PLACEHOLDER, qty: 2 }))], 1));
    // Folded with the row that has the value, and after another change.
    await sink.run.deliver(
      await batch(
        [
          written('c', item(2n, { name: 'longer', code: 'z' })),
          written('u', item(2n, { name: PLACEHOLDER, code: PLACEHOLDER, qty: 5 })),
          written('u', item(2n, { name: PLACEHOLDER, qty: 6 })),
        ],
        2,
      ),
    );
    assert.deepEqual(await subject().items(sink.table), [
      item(1n, { name: 'long', qty: 2 }),
      item(2n, { name: 'longer', qty: 6, code: null }),
    ]);
  });

  it('never writes the placeholder: a new row that carries it is refused, with its place', async () => {
    await using sink = await open({}, { tolerate: true });
    const records = [
      written('c', item(1n)),
      written('c', item(2n, { name: PLACEHOLDER })),
      written('r', item(3n, { code: PLACEHOLDER })),
      written('c', item(4n, { name: `${PLACEHOLDER.slice(0, 8)}!` })),
    ];
    await sink.run.deliver(await batch(records, 40));
    assert.deepEqual(await subject().items(sink.table), [item(1n), item(4n, { name: `${PLACEHOLDER.slice(0, 8)}!` })]);
    assert.deepEqual(
      sink.run.errants.map(({ record, error }) => [record.originalOffset, error.code, error.place.column]),
      [
        [41, 'SINK_VALUE_UNAVAILABLE', 'name'],
        [42, 'SINK_VALUE_UNAVAILABLE', 'code'],
      ],
    );
    const [{ record, error }] = sink.run.errants as [(typeof sink.run.errants)[number]];
    assert.match(error.message, /"name".*REPLICA IDENTITY FULL/);
    const { table, ...place } = error.place;
    assert.ok(table?.includes(sink.table));
    assert.deepEqual(place, { topic: 'shop.public.item', partition: 0, offset: 41, column: 'name' });
    assert.equal((record.key as Struct).get('id'), 2n);
    assert.equal(((record.value as Struct).get('after') as Struct).get('qty'), 1);
  });

  it('takes another placeholder, if it is told', async () => {
    await using sink = await open({ 'unavailable.value.placeholder': 'unknown' });
    await sink.run.deliver(await batch([written('c', item(1n, { code: PLACEHOLDER }))]));
    await sink.run.deliver(await batch([written('u', item(1n, { name: 'unknown!', code: 'unknown' }))], 1));
    assert.deepEqual(await subject().items(sink.table), [item(1n, { name: 'unknown!', code: PLACEHOLDER })]);
    await assert.rejects(sink.run.deliver(await batch([written('c', item(2n, { name: 'unknown' }))], 2)), {
      code: 'SINK_VALUE_UNAVAILABLE',
    });
  });

  it('keeps null apart from default', async () => {
    await using sink = await open();
    const withDefault = struct(
      [
        ['id', INT64],
        ['name', primitive('STRING', { optional: true, defaultValue: 'nobody' })],
        ['qty', INT32],
      ],
      { name: 'shop.public.item.Flat', optional: true },
    );
    const envelope = envelopeOf(withDefault, 'shop.public.item.DefaultEnvelope');
    await sink.run.deliver(await batch([written('c', { id: 1n, name: null, qty: 1 }, envelope)], 0, envelope));
    assert.equal((await subject().items(sink.table))[0]!.name, null);
  });

  it('adds a column for a new optional field, with auto.evolve', async () => {
    await using sink = await open({ 'auto.evolve': 'true' });
    const wider = struct([...rowFields, ['note', OPTIONAL_STRING]], {
      name: 'shop.public.item.Value2',
      optional: true,
    });
    const envelope = envelopeOf(wider, 'shop.public.item.Envelope2');
    await sink.run.task.put([await batch([written('c', item(1n))])]);
    await sink.run.task.put([await batch([written('c', item(2n, { note: 'new' }), envelope)], 1, envelope)]);
    await sink.run.deliver(await batch([written('u', item(1n, { qty: 5 }))], 2));
    const rows = await subject().rows(sink.table);
    assert.deepEqual(
      rows.map(r => [String(r.id), r.note]),
      [
        ['1', null],
        ['2', 'new'],
      ],
    );
  });

  it('fails on a new field without auto.evolve, naming it', async () => {
    await using sink = await open();
    const wider = struct([...rowFields, ['note', OPTIONAL_STRING]], {
      name: 'shop.public.item.Value2',
      optional: true,
    });
    const envelope = envelopeOf(wider, 'shop.public.item.Envelope2');
    const records = await batch([written('c', item(1n, { note: 'x' }), envelope)], 0, envelope);
    await assert.rejects(sink.run.deliver(records), { code: 'SINK_COLUMN_MISSING', message: /"note"/ });
  });

  it('finds the one record that the target refuses, and writes the others', async () => {
    await using sink = await open({}, { tolerate: true });
    const records = Array.from({ length: 300 }, (_, i) =>
      written('c', item(BigInt(i), i === 123 ? { name: 'x'.repeat(21) } : {})),
    );
    await sink.run.deliver(await batch(records, 1000));
    assert.deepEqual(
      sink.run.errants.map(e => [e.record.originalOffset, e.error.code]),
      [[1123, 'SINK_RECORD_REJECTED']],
    );
    const rows = await subject().items(sink.table);
    assert.equal(rows.length, 299);
    assert.ok(!rows.some(r => r.id === 123n));
  });

  it('refuses single records of which two fields find one column, and writes the others', async () => {
    await using sink = await open({ 'pk.mode': 'record_value', 'pk.fields': 'id' }, { tolerate: true });
    const json = (fields: Named): TestRecord => ({ key: null, value: fields });
    const records = [item(1n), { ...item(2n), NaMe: 'x' }, { ...item(3n), NaMe: 'x' }, item(4n)].map(json);
    const untyped = { topic: 'shop.public.item', firstOffset: 50, keySchema: null, valueSchema: null };
    await sink.run.deliver(await plainSinkBatch(untyped, records));
    assert.deepEqual(
      sink.run.errants.map(e => [e.record.originalOffset, e.error.code, e.error.place.offset]),
      [
        [51, 'SINK_FIELDS_COLLIDE', 51],
        [52, 'SINK_FIELDS_COLLIDE', 52],
      ],
    );
    assert.deepEqual(await subject().items(sink.table), [item(1n), item(4n)]);
  });

  it('fails at a record that the target refuses when errors are not tolerated, and does not confirm it', async () => {
    await using sink = await open();
    const records = await batch([written('c', item(1n)), written('c', item(2n, { name: 'x'.repeat(21) }))]);
    await assert.rejects(sink.run.deliver(records), { code: 'SINK_RECORD_REJECTED' });
    await assert.rejects(sink.run.task.preCommit!(new Map()), { code: 'SINK_RECORD_REJECTED' });
  });

  it('reports a null value when deletes are off', async () => {
    await using sink = await open({ 'delete.enabled': 'false' }, { tolerate: true });
    await sink.run.deliver(await batch([written('c', item(1n)), tombstone(1n), written('c', item(2n))]));
    assert.deepEqual(
      sink.run.errants.map(e => [e.record.originalOffset, e.error.code]),
      [[1, 'SINK_NULL_VALUE']],
    );
    assert.equal((await subject().items(sink.table)).length, 2);
  });

  it('empties the table at a truncate event, in its place among the others', async () => {
    await using sink = await open({ 'truncate.enabled': 'true' });
    const truncate: TestRecord = { key: null, value: event('t', null) };
    await sink.run.deliver(
      await batch([written('c', item(1n)), written('c', item(2n)), truncate, written('c', item(3n))]),
    );
    assert.deepEqual(await subject().items(sink.table), [item(3n)]);
  });

  it('refuses modes that need a key without one, before anything is written', async () => {
    const table = await subject().createItemTable();
    await assert.rejects(startSink(subject().createTask(), configFor(table, { 'pk.mode': 'none' })), {
      code: 'CONFIG_INVALID',
      message: /pk\.mode/,
    });
  });

  it('names a table that is missing', async () => {
    await using run = await startSink(subject().createTask(), configFor('no_such_table'));
    await assert.rejects(run.deliver(await batch([written('c', item(1n))])), {
      code: 'SINK_TABLE_MISSING',
      message: /no_such_table/,
    });
  });
}

/** The rows that the records lead to, applied one by one. */
function model(records: readonly TestRecord[]): ItemRow[] {
  const rows = new Map<bigint, ItemRow>();
  for (const record of records) {
    const id = (record.key as Struct).get('id') as bigint;
    const after = record.value === null ? null : ((record.value as Struct).get('after') as Struct | null);
    if (after === null) rows.delete(id);
    else
      rows.set(id, {
        id,
        name: after.get('name') as string | null,
        qty: after.get('qty') as number,
        code: after.get('code') as string | null,
      });
  }
  return [...rows.values()].sort((a, b) => Number(a.id - b.id));
}
