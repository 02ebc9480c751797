/** Id strategies, write models, namespaces, post processors and the handler for change events, as their users know them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../connectors/mongodb/index.ts';
import type { Config } from '../../../runtime/api/index.ts';
import {
  Decimal,
  decimalSchema,
  INT32,
  INT64,
  OPTIONAL_STRING,
  type Schema,
  STRING,
  Struct,
  struct,
} from '../../../schemas/data/index.ts';
import { plainSinkBatch, type TestRecord } from '../../contract/sinkBatches.ts';
import {
  deleted,
  envelopeSchema,
  event,
  item,
  keySchema,
  type Named,
  PLACEHOLDER,
  rowSchema,
  tombstone,
  written,
} from '../../contract/sinkContract.ts';
import { startSink } from '../../contract/sinkHarness.ts';
import { type MongoTarget, type OpenSink, openMongoTarget, openSink, type SideSchemas } from './mongoTarget.ts';

const place = struct([
  ['region', STRING],
  ['number', INT32],
]);
const pairKey = struct(
  [
    ['id', INT64],
    ['place', place],
  ],
  { name: 'pair.Key' },
);
const flat = (id: bigint, fields: Named = {}): TestRecord => ({
  key: new Struct(keySchema, [id]),
  value: Struct.of(rowSchema, item(id, fields)),
});

describe('documents', () => {
  let target: MongoTarget;
  before(async () => {
    target = await openMongoTarget();
  });
  after(() => target[Symbol.asyncDispose]());

  const open = (config?: Config, options?: { tolerate?: boolean }): Promise<OpenSink> =>
    openSink(target, config, options);
  const envelopes = { valueSchema: envelopeSchema };

  describe('ids', () => {
    const pair = (id: bigint, number = 1): TestRecord => ({
      key: new Struct(pairKey, [id, new Struct(place, ['eu', number])]),
      value: Struct.of(rowSchema, item(id)),
    });
    const idsWith = async (
      config: Config,
      records: readonly TestRecord[],
      schemas?: SideSchemas,
    ): Promise<string[]> => {
      await using sink = await open({ 'delete.on.null.values': 'false', ...config });
      await sink.deliver(records, schemas);
      return Object.keys(await sink.documents());
    };

    it('takes the one field of the key as it is, several as a document', async () => {
      assert.deepEqual(await idsWith({}, [flat(1n)]), ['1']);
      assert.deepEqual(await idsWith({}, [{ key: 'a', value: flat(1n).value }], { keySchema: STRING }), ['a']);
      await using sink = await open();
      await sink.deliver([pair(1n)], { keySchema: pairKey });
      const stored = await target.db.collection<{ _id: unknown }>(sink.name).findOne({});
      assert.deepEqual(stored?._id, { id: 1, place: { region: 'eu', number: 1 } });
    });

    it('takes the whole key, or some of its fields, or of those of the value', async () => {
      const jsonOf = async (config: Config): Promise<unknown> => {
        await using sink = await open({ 'delete.on.null.values': 'false', ...config });
        await sink.deliver([pair(1n)], { keySchema: pairKey });
        return (await target.db.collection<{ _id: unknown }>(sink.name).findOne({}))?._id;
      };
      const partial = (side: string, type: string, list: string): Config => ({
        'document.id.strategy': `com.mongodb.kafka.connect.sink.processor.id.strategy.Partial${side}Strategy`,
        [`document.id.strategy.partial.${side.toLowerCase()}.projection.type`]: type,
        [`document.id.strategy.partial.${side.toLowerCase()}.projection.list`]: list,
      });
      assert.deepEqual(await jsonOf({ 'document.id.strategy': 'FullKeyStrategy' }), {
        id: 1,
        place: { region: 'eu', number: 1 },
      });
      assert.deepEqual(await jsonOf(partial('Key', 'AllowList', 'place.region')), { place: { region: 'eu' } });
      assert.deepEqual(await jsonOf(partial('Key', 'BlockList', 'place')), { id: 1 });
      assert.deepEqual(await jsonOf(partial('Value', 'allowlist', 'name,qty')), { name: 'n1', qty: 1 });
      const chain = { 'post.processor.chain': 'BlockListKeyProjector', 'key.projection.list': 'place' };
      assert.equal(await jsonOf({ ...chain, 'key.projection.type': 'blocklist' }), 1);
    });

    it('takes the place of the record, and new ids', async () => {
      const kafka = await idsWith({ 'document.id.strategy': 'KafkaMetaDataStrategy' }, [flat(1n), flat(1n)]);
      assert.deepEqual(
        kafka.map(id => id.replace(/^c\d+/, 't')),
        ['t#0#0', 't#0#1'],
      );
      const oids = await idsWith({ 'document.id.strategy': 'BsonOidStrategy' }, [flat(1n), flat(1n)]);
      assert.ok(oids.length === 2 && oids.every(id => /^[0-9a-f]{24}$/.test(id)));
      const uuids = await idsWith({ 'document.id.strategy': 'UuidStrategy' }, [flat(1n)]);
      assert.match(uuids[0]!, /^[0-9a-f]{8}-/);
    });

    it('takes an _id that key or value has, also as a UUID', async () => {
      const idOnly = struct([['_id', STRING]]);
      const uuid = '6f1c1c9a-6a5e-4c43-9d1b-0d6c6a1f7b11';
      for (const side of ['Key', 'Value']) {
        const [inKey, inValue] = [
          { keySchema: idOnly, valueSchema: rowSchema },
          { keySchema, valueSchema: idOnly },
        ];
        const schemas = side === 'Key' ? inKey : inValue;
        const record = (id: string): TestRecord => {
          const [own, other] = [new Struct(idOnly, [id]), flat(1n)];
          return side === 'Key' ? { key: own, value: other.value } : { key: other.key, value: own };
        };
        const strategy = { 'document.id.strategy': `ProvidedIn${side}Strategy` };
        assert.deepEqual(await idsWith(strategy, [record('x')], schemas), ['x']);
        await using sink = await open(
          { 'delete.on.null.values': 'false', 'document.id.strategy': `UuidProvidedIn${side}Strategy` },
          { tolerate: true },
        );
        await sink.deliver([record(uuid), record('none')], schemas);
        assert.deepEqual(Object.keys(await sink.documents()), [uuid]);
        assert.deepEqual(
          sink.run.errants.map(({ error }) => [error.code, error.place.offset, error.place.column]),
          [['SINK_VALUE_UNFIT', 1, '_id']],
        );
      }
    });

    it('leaves an _id of the value alone unless it is told to overwrite it', async () => {
      const withId = struct([
        ['_id', STRING],
        ['name', OPTIONAL_STRING],
      ]);
      const record: TestRecord = { key: new Struct(keySchema, [1n]), value: new Struct(withId, ['own', 'n']) };
      assert.deepEqual(await idsWith({}, [record], { valueSchema: withId }), ['own']);
      const overwrite = { 'document.id.strategy.overwrite.existing': 'true' };
      assert.deepEqual(await idsWith(overwrite, [record], { valueSchema: withId }), ['1']);
    });

    it('takes numbers that are equal to the server for one key, whatever their type', async () => {
      await using sink = await open();
      const narrow = struct([['id', INT32]]);
      await sink.run.task.put([
        plainSinkBatch({ topic: sink.name, keySchema: narrow, valueSchema: rowSchema }, [
          { key: new Struct(narrow, [1]), value: flat(1n, { qty: 1 }).value },
        ]),
        plainSinkBatch({ topic: sink.name, firstOffset: 1, keySchema, valueSchema: rowSchema }, [flat(1n, { qty: 2 })]),
      ]);
      await sink.run.task.preCommit!(new Map());
      assert.equal(sink.run.counts.get('folded_records'), 1);
      assert.equal((await sink.documents())['1']?.qty, 2);
    });
  });

  describe('write models', () => {
    const seed = async (sink: OpenSink): Promise<void> => {
      await target.db.collection<{ _id: number }>(sink.name).insertOne({ _id: 1, kept: true, name: 'old' } as never);
    };

    it('replaces by default, and sets fields with UpdateOneDefaultStrategy', async () => {
      await using replaces = await open();
      await seed(replaces);
      await replaces.deliver([flat(1n)]);
      assert.deepEqual(await replaces.documents(), { 1: item(1n) });
      await using sets = await open({ 'writemodel.strategy': 'UpdateOneDefaultStrategy' });
      await seed(sets);
      await sets.deliver([flat(1n), flat(2n)]);
      assert.deepEqual(await sets.documents(), { 1: { kept: true, ...item(1n) }, 2: item(2n) });
    });

    it('folds fields that are set by one key, on top of what a deletion has left', async () => {
      await using sink = await open({ 'writemodel.strategy': 'UpdateOneDefaultStrategy' });
      await seed(sink);
      const name = struct([['name', STRING]]);
      const qty = struct([['qty', INT32]]);
      const batch = (firstOffset: number, valueSchema: Schema, records: readonly TestRecord[]) =>
        plainSinkBatch({ topic: sink.name, firstOffset, keySchema, valueSchema }, records);
      const key = new Struct(keySchema, [1n]);
      await sink.run.deliver(
        batch(0, rowSchema, [tombstone(1n)]),
        batch(1, name, [{ key, value: new Struct(name, ['new']) }]),
        batch(2, qty, [{ key, value: new Struct(qty, [5]) }]),
      );
      assert.deepEqual(await sink.documents(), { 1: { name: 'new', qty: 5 } });
    });

    it('keeps times of insertion and change', async () => {
      await using sink = await open({ 'writemodel.strategy': 'UpdateOneTimestampsStrategy' });
      await sink.deliver([flat(1n)]);
      const [first] = Object.values(await sink.documents());
      await sink.deliver([flat(1n, { qty: 2 })]);
      const [second] = Object.values(await sink.documents());
      assert.equal(second?.qty, 2);
      assert.deepEqual(second?._insertedTS, first?._insertedTS);
      assert.ok(second?._modifiedTS >= first?._modifiedTS && first?._modifiedTS instanceof Date);
    });

    it('inserts, and reports a key that is there already', async () => {
      await using sink = await open({ 'writemodel.strategy': 'InsertOneDefaultStrategy' }, { tolerate: true });
      await sink.deliver([flat(1n), flat(2n), flat(1n, { qty: 2 }), tombstone(2n), flat(2n, { qty: 3 })]);
      assert.deepEqual(
        sink.run.errants.map(({ record, error }) => [record.originalOffset, error.code]),
        [[2, 'SINK_RECORD_REJECTED']],
      );
      assert.deepEqual(await sink.documents(), { 1: item(1n), 2: item(2n, { qty: 3 }) });
    });

    it('finds documents by a business key', async () => {
      const byName: Config = {
        'delete.on.null.values': 'false',
        'document.id.strategy': 'PartialValueStrategy',
        'document.id.strategy.partial.value.projection.type': 'AllowList',
        'document.id.strategy.partial.value.projection.list': 'name',
      };
      for (const strategy of ['ReplaceOneBusinessKeyStrategy', 'UpdateOneBusinessKeyTimestampStrategy']) {
        await using sink = await open({ ...byName, 'writemodel.strategy': strategy });
        await target.db.collection(sink.name).insertOne({ name: 'n1', kept: true });
        await sink.deliver([flat(1n), flat(2n), flat(2n, { qty: 9 })]);
        const found = Object.entries(await sink.documents());
        assert.deepEqual(
          found.map(([id, { name, qty, kept }]) => [/^[0-9a-f]{24}$/.test(id), name, qty, kept]),
          [
            [true, 'n1', 1, strategy.startsWith('Replace') ? undefined : true],
            [true, 'n2', 9, undefined],
          ],
        );
      }
    });

    it('deletes by a business key of the record key, fields in sub-documents by their paths', async () => {
      await using sink = await open({
        'document.id.strategy': 'PartialKeyStrategy',
        'document.id.strategy.partial.key.projection.type': 'AllowList',
        'document.id.strategy.partial.key.projection.list': 'place.number',
        'delete.writemodel.strategy': 'DeleteOneBusinessKeyStrategy',
        'writemodel.strategy': 'ReplaceOneBusinessKeyStrategy',
      });
      const collection = target.db.collection(sink.name);
      await collection.insertMany([1, 2].map(number => ({ place: { number, region: 'any' } })));
      await sink.deliver([{ key: new Struct(pairKey, [7n, new Struct(place, ['eu', 2])]), value: null }], {
        keySchema: pairKey,
      });
      assert.deepEqual(
        (await collection.find().toArray()).map(d => d.place.number),
        [1],
      );
    });

    it('sets the fields of an update that the source sent, and counts what it found no document for', async () => {
      await using sink = await open();
      await sink.deliver([written('u', item(1n, { name: PLACEHOLDER, qty: 4 }))], envelopes);
      assert.deepEqual(await sink.documents(), { 1: { id: 1n, qty: 4, code: null } });
      assert.equal(sink.run.counts.get('documents_incomplete'), 1);
    });

    it('replaces a document where the whole of it and an update of some fields are folded', async () => {
      await using sink = await open();
      await seed(sink);
      const records = [written('r', item(1n, { name: 'long' })), written('u', item(1n, { name: PLACEHOLDER, qty: 6 }))];
      await sink.deliver(records, envelopes);
      assert.deepEqual(await sink.documents(), { 1: item(1n, { name: 'long', qty: 6 }) });
    });

    it('refuses names that the server takes for operators or paths, for those records only', async () => {
      await using sink = await open({}, { tolerate: true });
      const odd = struct([['$set', STRING]]);
      const dotted = struct([['a.b', STRING]]);
      await sink.deliver([{ key: new Struct(keySchema, [1n]), value: new Struct(odd, ['x']) }], { valueSchema: odd });
      await sink.deliver([{ key: new Struct(keySchema, [2n]), value: new Struct(dotted, ['x']) }], {
        valueSchema: dotted,
      });
      assert.deepEqual(
        sink.run.errants.map(({ error }) => error.code),
        ['SINK_VALUE_UNFIT'],
      );
      assert.deepEqual(await sink.documents(), { 2: { 'a.b': 'x' } });
    });
  });

  describe('namespaces', () => {
    it('has keys of its own for a topic', async () => {
      const [topic, collection] = [target.uniqueName(), target.uniqueName()];
      const config = {
        ...target.connection,
        [`topic.override.${topic}.collection`]: collection,
        [`topic.override.${topic}.writemodel.strategy`]: 'UpdateOneDefaultStrategy',
      };
      await using run = await startSink(sinkPlugin.createTask(), config);
      await run.deliver(plainSinkBatch({ topic, keySchema, valueSchema: rowSchema }, [flat(1n)]));
      assert.deepEqual([...(await target.documents(collection)).keys()], ['1']);
      assert.equal((await target.documents(topic)).size, 0);
    });

    it('finds collections by fields', async () => {
      const [a, b] = [target.uniqueName(), target.uniqueName()];
      const mapped = {
        'namespace.mapper': 'com.mongodb.kafka.connect.sink.namespace.mapping.FieldPathNamespaceMapper',
        'namespace.mapper.value.collection.field': 'name',
      };
      await using sink = await open(mapped, { tolerate: true });
      await sink.deliver([flat(1n, { name: a }), flat(2n, { name: b }), flat(3n, { name: null }), tombstone(1n)]);
      assert.deepEqual([...(await target.documents(a)).keys()], ['1']);
      assert.deepEqual([...(await target.documents(b)).keys()], ['2']);
      assert.deepEqual(Object.keys(await sink.documents()), ['3']);
      assert.deepEqual(
        sink.run.errants.map(({ record, error }) => [record.originalOffset, error.code]),
        [[3, 'SINK_TABLE_NAME']],
      );
      await using strict = await open({ ...mapped, 'namespace.mapper.error.if.invalid': 'true' }, { tolerate: true });
      await strict.deliver([flat(3n, { name: null })]);
      assert.equal(strict.run.errants[0]?.error.code, 'SINK_TABLE_NAME');
    });
  });

  describe('post processors', () => {
    it('projects, renames, adds the place in Kafka and leaves nulls out', async () => {
      await using sink = await open({
        'post.processor.chain': [
          'com.mongodb.kafka.connect.sink.processor.DocumentIdAdder',
          'com.mongodb.kafka.connect.sink.processor.BlockListValueProjector',
          'com.mongodb.kafka.connect.sink.processor.KafkaMetaAdder',
          'com.mongodb.kafka.connect.sink.processor.field.renaming.RenameByMapping',
          'com.mongodb.kafka.connect.sink.processor.NullFieldValueRemover',
        ].join(),
        'value.projection.type': 'blocklist',
        'value.projection.list': 'id',
        'field.renamer.mapping': '[{"oldName":"value.name","newName":"title"}]',
      });
      await sink.deliver([flat(1n)]);
      assert.deepEqual(await sink.documents(), {
        1: { title: 'n1', qty: 1, 'topic-partition-offset': `${sink.name}-0-0`, CREATE_TIME: 1_700_000_000_000n },
      });
    });
  });

  describe('handler of change events', () => {
    const handler = {
      'change.data.capture.handler': 'com.mongodb.kafka.connect.sink.cdc.debezium.rdbms.RdbmsHandler',
      'delete.on.null.values': 'false',
    };

    it('makes the key the id, and applies creates, updates and deletes', async () => {
      await using sink = await open(handler);
      await sink.deliver(
        [
          written('c', item(1n)),
          written('r', item(2n)),
          written('u', item(1n, { qty: 5 })),
          deleted(2n),
          tombstone(2n),
          written('u', item(3n, { name: PLACEHOLDER, code: 'x' })),
        ],
        envelopes,
      );
      assert.deepEqual(await sink.documents(), {
        '{"id":1}': { name: 'n1', qty: 5, code: null },
        '{"id":3}': { qty: 1, code: 'x' },
      });
    });

    it('leaves nulls out where it is told to', async () => {
      await using sink = await open({ ...handler, 'change.data.capture.handler.remove.null.values': 'true' });
      await sink.deliver([written('c', item(1n))], envelopes);
      assert.deepEqual(Object.values(await sink.documents()), [{ name: 'n1', qty: 1 }]);
    });

    it('finds documents of tables without key by all that they were, in order', async () => {
      await using sink = await open(handler);
      const record = (op: string, after: Named | null, earlier: Named | null = null): TestRecord => ({
        key: null,
        value: event(op, after, earlier),
      });
      await sink.deliver(
        [
          record('c', item(1n)),
          record('c', item(2n)),
          record('u', item(1n, { qty: 2 }), item(1n)),
          record('d', null, item(2n)),
          record('c', item(2n)),
          record('u', item(1n, { qty: 3 }), item(1n, { qty: 2 })),
        ],
        { keySchema: null, ...envelopes },
      );
      const found = Object.values(await sink.documents()).sort((a, b) => Number(a.id - b.id));
      assert.deepEqual(found, [item(1n, { qty: 3 }), item(2n)]);
    });

    it('reports records that are no change events', async () => {
      await using sink = await open(handler, { tolerate: true });
      await sink.deliver([flat(1n)]);
      assert.deepEqual(
        sink.run.errants.map(({ error }) => error.code),
        ['SINK_VALUE_UNUSABLE'],
      );
    });
  });

  it('reports values that do not fit, with their field', async () => {
    await using sink = await open({}, { tolerate: true });
    const priced = struct([['price', decimalSchema(0)]]);
    const price = (id: bigint, unscaled: bigint): TestRecord => ({
      key: new Struct(keySchema, [id]),
      value: new Struct(priced, [new Decimal(unscaled, 0)]),
    });
    const [fits, tooLong] = [10n ** 34n - 1n, 10n ** 34n + 1n];
    await sink.deliver([price(1n, fits), price(2n, tooLong), price(3n, 1n)], { valueSchema: priced });
    assert.deepEqual(await sink.documents(), { 1: { price: String(fits) }, 3: { price: '1' } });
    const [{ error }] = sink.run.errants as [(typeof sink.run.errants)[number]];
    assert.equal(error.code, 'SINK_VALUE_UNFIT');
    assert.match(error.message, /34 of a Decimal128/);
    assert.deepEqual(error.place, {
      column: 'price',
      table: `${target.db.databaseName}.${sink.name}`,
      topic: sink.name,
      partition: 0,
      offset: 1,
    });
  });
});
