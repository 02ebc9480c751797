/** Connections that die, deadlocks, packets that are too large: nothing is lost and nothing is written twice. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/mysql/sink/index.ts';
import { classifyMysqlFailure } from '../../../../connectors/mysql/sink/mysqlFailure.ts';
import { Session } from '../../../../connectors/mysql/sink/session.ts';
import type { Config, Logger } from '../../../../runtime/api/index.ts';
import { flat, flatBatch, upsert } from '../../../contract/flatRecords.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import { TcpProxy } from '../../../services/tcpProxy.ts';
import { waitUntil } from '../../../services/waitUntil.ts';
import { connect, servers } from './mysqlTarget.ts';
import { type OrdersTarget, openOrders } from './orders.ts';

const quiet: Logger = { error() {}, warn() {}, info() {}, debug() {} };
const WAIT_MS = 10_000;

for (const [name, server] of servers) {
  describe(`faults: ${name}`, () => {
    let orders: OrdersTarget;
    before(async () => {
      orders = await openOrders(server);
    });
    after(() => orders[Symbol.asyncDispose]());

    const config = (table: string, extra: Config = {}): Config => ({
      ...upsert(table),
      'retry.backoff.ms': '10',
      ...extra,
    });
    /** Connections of the sinks under test: all on this database but our own. */
    const others = async (): Promise<readonly number[]> => {
      const rows = await orders.target.rows(
        'select id from information_schema.processlist where db = database() and id <> connection_id()',
      );
      return rows.map(r => Number(r.id));
    };
    const running = async (text: string): Promise<boolean> => {
      const rows = await orders.target.rows(
        'select id from information_schema.processlist where db = database() and id <> connection_id() and info like ?',
        [`%${text}%`],
      );
      return rows.length > 0;
    };

    it('goes on after its connection was killed, again and again, in the middle of writes', async () => {
      const table = await orders.create();
      await using run = await orders.start(config(table, { 'batch.size': '500' }));
      const expected = new Map<string, string>();
      for (let round = 0; round < 40; round++) {
        const records = Array.from({ length: 700 }, (_, i) => {
          const id = (round * 311 + i) % 5000;
          expected.set(String(id), `${round}.${i}`);
          return flat(BigInt(id), `${round}.${i}`);
        });
        await run.task.put([await flatBatch(records, round * 700)]);
        if (round % 4 !== 3) continue;
        for (const id of await others())
          await orders.target.client.query(`kill ${id}`).catch((error: { errno?: number }) => {
            if (error.errno !== 1094) throw error; // it has ended by itself
          });
      }
      await run.task.preCommit!(new Map());
      const rows = await orders.rows(table);
      assert.deepEqual(new Map(rows.map(r => [r.id, r.note])), expected);
      assert.ok(run.counts.get('retries')! > 0);
      assert.deepEqual(run.errants, []);
    });

    it('makes a new connection when the network is reset while a statement waits for its answer', async () => {
      const { hostname, port, username } = new URL(server);
      const proxy = await TcpProxy.open(Number(port));
      const session = new Session({ host: hostname, port: proxy.port, user: username }, quiet);
      try {
        const asked = session.use(({ connection }) => connection.query('select sleep(60) as rest'));
        const isAsked = async (): Promise<boolean> =>
          (
            await orders.target.rows(
              "select id from information_schema.processlist where info like 'select sleep(60)%'",
            )
          ).length > 0;
        await waitUntil('the statement runs', WAIT_MS, isAsked, 5);
        proxy.cut();
        await assert.rejects(asked, error => classifyMysqlFailure(error) === 'transient');
        proxy.restore();
        const [rows] = await session.use(({ connection }) => connection.query('select 1 as one'));
        assert.deepEqual(rows, [{ one: 1 }]);
      } finally {
        await session.close();
        await proxy.close();
      }
    });

    it('tries again after a deadlock', async () => {
      const table = await orders.create('id bigint primary key, note text');
      // The transaction that has changed least is the victim: the other one has changed much.
      const many = Array.from({ length: 500 }, (_, i) => `(${i + 10}, 'x')`).join();
      await orders.target.client.query(`insert into ${table} values (1, 'a'), (2, 'a'), ${many}`);
      await using run = await orders.start(config(table));
      const other = await connect(orders.target.url);
      try {
        await other.query(
          `start transaction; update ${table} set note = 'other' where id >= 10; update ${table} set note = 'other' where id = 2`,
        );
        const delivered = flatBatch([flat(1n, 'sink'), flat(2n, 'sink')]).then(batch => run.deliver(batch));
        await waitUntil('the sink waits for row 2', WAIT_MS, () => running('duplicate key'), 5);
        await other.query(`update ${table} set note = 'other' where id = 1; commit`);
        await delivered;
      } finally {
        other.destroy();
      }
      const rows = await orders.target.rows(`select note from ${table} where id < 10`);
      assert.deepEqual(rows, [{ note: 'sink' }, { note: 'sink' }]);
      assert.equal(run.counts.get('retries'), 1);
    });

    it('gives up with SINK_UNAVAILABLE when max.retries is used up', async () => {
      const unreachable = config('x', { 'connection.url': 'mysql://root@127.0.0.1:1/d', 'max.retries': '2' });
      await assert.rejects(startSink(sinkPlugin.createTask(), unreachable), { code: 'SINK_UNAVAILABLE' });
    });

    it('stops at once while the target is blocked, and what was under way does not come about', async () => {
      const table = await orders.create();
      const run = await orders.start(config(table));
      const other = await connect(orders.target.url);
      try {
        await run.deliver(await flatBatch([flat(1n, 'x')]));
        await other.query(`start transaction; select * from ${table} for update`);
        await run.task.put([await flatBatch([flat(1n, 'late'), flat(2n, 'late')], 1)]);
        await waitUntil('the sink waits for the row', WAIT_MS, () => running('duplicate key'), 5);
        await run.abort();
        await waitUntil('the server has given up the write', WAIT_MS, async () => !(await running('duplicate key')), 5);
      } finally {
        await other.query('rollback');
        other.destroy();
      }
      assert.deepEqual(await orders.rows(table), [{ id: '1', note: 'x' }]);
    });

    it('cuts statements and texts to max_allowed_packet, and rejects only the row that is larger', async () => {
      const [before] = await orders.target.rows('select @@global.max_allowed_packet as bytes');
      const table = await orders.create('id bigint primary key, note longtext');
      await orders.target.client.query('set global max_allowed_packet = 65536');
      try {
        await using run = await orders.start(config(table), { tolerate: true });
        const notes = Array.from({ length: 60 }, (_, i) =>
          String.fromCharCode(97 + (i % 26)).repeat(i === 31 ? 70_000 : i * 600),
        );
        await run.deliver(await flatBatch(notes.map((note, i) => flat(BigInt(i), note))));
        const rows = await orders.target.rows(`select length(note) as n from ${table} where id <> 31 order by id`);
        assert.deepEqual(
          rows.map(r => Number(r.n)),
          notes.flatMap((note, i) => (i === 31 ? [] : [note.length])),
        );
        assert.deepEqual(
          run.errants.map(e => [e.record.originalOffset, e.error.code]),
          [[31, 'SINK_RECORD_REJECTED']],
        );
        assert.match(run.errants[0]!.error.message, /max_allowed_packet of the server is 65536; raise it/);
      } finally {
        await orders.target.client.query(`set global max_allowed_packet = ${Number(before!.bytes)}`);
      }
    });

    it('writes rows of megabytes', async () => {
      const table = await orders.create('id bigint primary key, note longtext');
      await using run = await orders.start(config(table));
      const notes = [3_000_000, 10, 5_000_000, 20].map((length, i) => "é'\\😀"[i]!.repeat(length));
      await run.deliver(await flatBatch(notes.map((note, i) => flat(BigInt(i), i === 3 ? '😀'.repeat(20) : note))));
      const rows = await orders.target.rows(`select char_length(note) as n from ${table} order by id`);
      assert.deepEqual(
        rows.map(r => Number(r.n)),
        [3_000_000, 10, 5_000_000, 20],
      );
    });
  });
}
