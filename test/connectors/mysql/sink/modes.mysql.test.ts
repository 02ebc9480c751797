/** What the configuration can ask for beside the contract of all sinks: modes, keys, forms of records; and what is MySQL's own. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { INT64, OPTIONAL_STRING, STRING, Struct, struct } from '../../../../schemas/data/index.ts';
import { flat, flatBatch, jsonBatch, keySchema, topic, upsert } from '../../../contract/flatRecords.ts';
import { avroSinkBatch, plainSinkBatch, type TestRecord } from '../../../contract/sinkBatches.ts';
import { servers } from './mysqlTarget.ts';
import { type OrdersTarget, openOrders } from './orders.ts';

for (const [name, server] of servers) {
  describe(`modes: ${name}`, () => {
    let orders: OrdersTarget;
    before(async () => {
      orders = await openOrders(server);
    });
    after(() => orders[Symbol.asyncDispose]());

    it('insert: a key that is there already is an error of that record, told without its values', async () => {
      const table = await orders.create();
      await using run = await orders.start({ 'table.name.format': table }, { tolerate: true });
      await run.deliver(await flatBatch([flat(1n, 'a'), flat(2n, 'b'), flat(1n, 'again'), flat(3n, 'c')]));
      assert.deepEqual(
        run.errants.map(e => [e.record.originalOffset, e.error.code]),
        [[2, 'SINK_RECORD_REJECTED']],
      );
      assert.match(run.errants[0]!.error.message, /Duplicate entry for key .*PRIMARY.*1062, 23000/);
      assert.deepEqual(await orders.rows(table), [
        { id: '1', note: 'a' },
        { id: '2', note: 'b' },
        { id: '3', note: 'c' },
      ]);
    });

    it('insert without any key appends every record', async () => {
      const table = await orders.create('id bigint, note text');
      await using run = await orders.start({ 'table.name.format': table });
      await run.deliver(await flatBatch([flat(1n, 'a'), flat(1n, 'a')]));
      assert.equal((await orders.rows(table)).length, 2);
    });

    it('update: changes rows that are there, counts those that are not', async () => {
      const table = await orders.create();
      await orders.target.client.query(`insert into ${table} values (1, 'old'), (3, 'same')`);
      await using run = await orders.start({ ...upsert(table), 'insert.mode': 'update' });
      await run.deliver(await flatBatch([flat(1n, 'new'), flat(2n, 'nowhere'), flat(3n, 'same')]));
      assert.deepEqual(await orders.rows(table), [
        { id: '1', note: 'new' },
        { id: '3', note: 'same' },
      ]);
      assert.equal(run.counts.get('rows_without_match'), 1);
    });

    it('pk.mode=kafka: replays are harmless without a key in the record', async () => {
      const table = orders.target.uniqueName();
      await using run = await orders.start({
        'insert.mode': 'upsert',
        'pk.mode': 'kafka',
        'auto.create': 'true',
        'table.name.format': table,
      });
      const batch = await flatBatch([flat(1n, 'a'), flat(1n, 'b')], 40);
      await run.deliver(batch);
      await run.deliver(batch);
      const columns = '__connect_offset as o, __connect_partition as p, __connect_topic as t, Note as note';
      assert.deepEqual(await orders.rows(table, columns), [
        { o: '40', p: 0, t: topic, note: 'a' },
        { o: '41', p: 0, t: topic, note: 'b' },
      ]);
    });

    it('pk.mode=record_value: key fields of the value, deletes by the row before', async () => {
      const table = await orders.create('id bigint, note varchar(50), primary key (note)');
      const row = struct(
        [
          ['id', INT64],
          ['note', STRING],
        ],
        { name: 'v.Row', optional: true },
      );
      const envelope = struct(
        [
          ['before', row],
          ['after', row],
          ['source', struct([['table', STRING]], { name: 'v.Source' })],
          ['op', STRING],
        ],
        { name: 'v.Envelope' },
      );
      const source = new Struct(envelope.fields[2]!.schema as typeof row, ['x']);
      const image = (id: bigint, note: string): Struct => new Struct(row, [id, note]);
      await using run = await orders.start({ ...upsert(table), 'pk.mode': 'record_value', 'pk.fields': 'note' });
      const records = [
        { key: null, value: new Struct(envelope, [null, image(1n, 'a'), source, 'c']) },
        { key: null, value: new Struct(envelope, [null, image(2n, 'b'), source, 'c']) },
        { key: null, value: new Struct(envelope, [image(1n, 'a'), null, source, 'd']) },
      ];
      await run.deliver(await avroSinkBatch({ topic, keySchema: null, valueSchema: envelope }, records));
      assert.deepEqual(await orders.rows(table), [{ id: '2', note: 'b' }]);
    });

    it('JSON without schema: rows of different fields, nested values, deletes, no guesses about numbers in time columns', async () => {
      const table = await orders.create(
        'id bigint primary key, note text, n decimal(20,4), doc json, ok bool, at datetime',
      );
      await using run = await orders.start(upsert(table), { tolerate: true });
      const record = (id: number, value: object | null): TestRecord => ({ key: { id }, value });
      await run.deliver(
        jsonBatch([
          record(1, { id: 1, note: 'a', n: 1.25 }),
          record(2, { id: 2, doc: { a: [1, { b: null }] }, ok: true }),
          record(3, { id: 3, note: 'gone' }),
          record(1, { id: 1, n: 7n }),
          record(3, null),
          record(4, { id: 4, at: 1614834367891 }),
        ]),
      );
      const rows = await orders.rows(table, 'id, note, n, doc, ok');
      assert.deepEqual(
        rows.map(r => ({ ...r, doc: r.doc === null ? null : JSON.parse(r.doc as string) })),
        [
          { id: '1', note: 'a', n: '7.0000', doc: null, ok: null },
          { id: '2', note: null, n: null, doc: { a: [1, { b: null }] }, ok: 1 },
        ],
      );
      assert.deepEqual(
        run.errants.map(e => [e.record.originalOffset, e.error.code]),
        [[5, 'SINK_VALUE_UNFIT']],
      );
    });

    it('never puts a new row in the place of another that has its unique value: ON DUPLICATE KEY would', async () => {
      const table = await orders.create('id bigint primary key, note varchar(20), unique key (note)');
      await using run = await orders.start({ ...upsert(table), 'refused.hold.ms': '0' }, { tolerate: true });
      await run.deliver(await flatBatch([flat(1n, 'a'), flat(2n, 'b')]));
      await run.deliver(await flatBatch([flat(3n, 'c'), flat(4n, 'a'), flat(2n, 'd')], 2));
      assert.deepEqual(await orders.rows(table), [
        { id: '1', note: 'a' },
        { id: '2', note: 'd' },
        { id: '3', note: 'c' },
      ]);
      assert.deepEqual(
        run.errants.map(e => [e.record.originalOffset, e.error.code]),
        [[3, 'SINK_RECORD_REJECTED']],
      );
      assert.match(run.errants[0]!.error.message, /a unique index other than the key/);
      // In the order of the records it fits: the value was free by then.
      await run.deliver(await flatBatch([flat(1n, 'e'), flat(4n, 'a'), flat(1n, 'f')], 5));
      assert.deepEqual(
        (await orders.rows(table)).map(r => r.note),
        ['f', 'd', 'c', 'a'],
      );
      assert.equal(run.errants.length, 1);
    });

    it('an update that leaves a NOT NULL column out changes the others; without the row it is refused', async () => {
      const table = await orders.create('id bigint primary key, note text not null, n bigint');
      const row = struct(
        [
          ['id', INT64],
          ['note', STRING],
          ['n', INT64],
        ],
        { name: 'patch.Row', optional: true },
      );
      const envelope = struct(
        [
          ['after', row],
          ['source', struct([['table', STRING]], { name: 'patch.Source' })],
          ['op', STRING],
        ],
        { name: 'patch.Envelope' },
      );
      const source = new Struct(envelope.fields[1]!.schema as typeof row, ['x']);
      const event = (op: string, id: bigint, note: string, n: bigint): TestRecord => ({
        key: new Struct(keySchema, [id]),
        value: new Struct(envelope, [new Struct(row, [id, note, n]), source, op]),
      });
      const unavailable = '__debezium_unavailable_value';
      await using run = await orders.start(upsert(table), { tolerate: true });
      const deliver = async (records: TestRecord[], offset: number) =>
        run.deliver(await avroSinkBatch({ topic, firstOffset: offset, keySchema, valueSchema: envelope }, records));
      await deliver([event('c', 1n, 'long', 1n)], 0);
      await deliver([event('u', 1n, unavailable, 2n), event('u', 9n, unavailable, 2n)], 1);
      assert.deepEqual(await orders.rows(table, 'id, note, n'), [{ id: '1', note: 'long', n: '2' }]);
      assert.deepEqual(
        run.errants.map(e => [e.record.originalOffset, e.error.code, e.error.place.column]),
        [[2, 'SINK_RECORD_REJECTED', 'note']],
      );
      assert.match(run.errants[0]!.error.message, /doesn't have a default value/);
    });

    it('writes 0 into AUTO_INCREMENT columns, leaves generated columns out, takes odd names and reserved words', async () => {
      const table = '`select` from';
      await orders.target.client.query(
        `create table \`\`\`select\`\` from\` (ID bigint auto_increment primary key, \`no\`\`te\` text, twice bigint as (n * 2) stored, n bigint)`,
      );
      const row = struct(
        [
          ['id', INT64],
          ['no`te', OPTIONAL_STRING],
          ['twice', INT64],
          ['n', INT64],
        ],
        { name: 'odd.Row' },
      );
      await using run = await orders.start(upsert(table));
      const record = { key: new Struct(keySchema, [0n]), value: new Struct(row, [0n, 'x', 99n, 4n]) };
      await run.deliver(plainSinkBatch({ topic, keySchema, valueSchema: row }, [record]));
      const rows = await orders.target.rows('select * from ```select`` from`');
      assert.deepEqual(rows, [{ ID: '0', 'no`te': 'x', twice: '8', n: '4' }]);
    });

    it('a table whose columns are all keys; views; thousands of deletes', async () => {
      const table = await orders.create('id bigint, Note varchar(20), primary key (id, Note)');
      await using run = await orders.start({ ...upsert(table), 'pk.mode': 'record_value' });
      await run.deliver(await flatBatch([flat(1n, 'a'), flat(1n, 'b'), flat(1n, 'a')]));
      await run.deliver(await flatBatch([flat(1n, 'a')]));
      assert.equal((await orders.rows(table)).length, 2);
      const base = await orders.create();
      const view = orders.target.uniqueName();
      await orders.target.client.query(`create view ${view} as select id, note from ${base}`);
      await using many = await orders.start({ ...upsert(base) });
      const ids = Array.from({ length: 3000 }, (_, i) => BigInt(i));
      await many.deliver(await flatBatch(ids.map(id => flat(id, `n${id}`))));
      assert.equal((await orders.rows(base)).length, 3000);
      await many.deliver(
        await flatBatch(
          ids.slice(0, 2500).map(id => ({ ...flat(id, null), value: null })),
          3000,
        ),
      );
      assert.equal((await orders.rows(base)).length, 500);
      await using viewed = await orders.start({ ...upsert(view), 'insert.mode': 'insert', 'delete.enabled': 'false' });
      await viewed.deliver(await flatBatch([flat(1n, 'v')], 9000));
      assert.equal((await orders.rows(base)).length, 501);
    });

    it('names tables of other databases, and the database of a topic, whatever its case', async () => {
      const other = `${orders.target.database}_b`;
      await orders.target.client.query(
        `create database ${other}; create table ${other}.Items (id bigint primary key, note text)`,
      );
      try {
        await using run = await orders.start(upsert(`prefix.${other}.items`));
        await run.deliver(await flatBatch([flat(1n, 'a')]));
        assert.deepEqual(await orders.rows(`${other}.Items`), [{ id: '1', note: 'a' }]);
      } finally {
        await orders.target.client.query(`drop database ${other}`);
      }
    });
  });
}
