/** Exactly once: rows of a table without key, where every repeat would be a row more. */
import assert from 'node:assert/strict';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';
import type { Config, SinkBatch } from '../../../../runtime/api/index.ts';
import { INT64, Struct, struct } from '../../../../schemas/data/index.ts';
import { plainSinkBatch } from '../../../contract/sinkBatches.ts';
import { startSink } from '../../../contract/sinkHarness.ts';
import { openPgTarget, type PgTarget, servers } from './pgTarget.ts';

const rowSchema = struct([['id', INT64]], { name: 'once.Row' });

describe('exactly once', () => {
  let target: PgTarget;
  before(async () => {
    target = await openPgTarget(servers[0]![1]);
  });
  after(() => target[Symbol.asyncDispose]());

  /** Offsets and ids are the same numbers. */
  const rows = (from: number, to: number, partition = 0): SinkBatch =>
    plainSinkBatch(
      { topic: 'once', partition, firstOffset: from, keySchema: null, valueSchema: rowSchema },
      Array.from({ length: to - from }, (_, i) => ({ key: null, value: new Struct(rowSchema, [BigInt(from + i)]) })),
    );
  const config = (table: string, extra: Config = {}): Config => ({
    ...target.connection,
    name: 'sink-under-test',
    'table.name.format': table,
    'delivery.guarantee': 'exactly-once',
    'exactly.once.offsets.table': `${table}_offsets`,
    'retry.backoff.ms': '10',
    ...extra,
  });
  const create = async (): Promise<string> => {
    const table = target.uniqueName();
    await target.client.query(`create table ${table} (id bigint check (id <> 13))`);
    return table;
  };
  const ids = async (table: string): Promise<number[]> =>
    (await target.client.query(`select id::int from ${table} order by id`)).rows.map(r => r.id);
  const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

  it('goes on where the target is, and leaves out what is there', async () => {
    const table = await create();
    await using first = await startSink(sinkPlugin.createTask(), config(table));
    await first.deliver(rows(0, 5));
    // Not flushed by a commit: written all the same, and its offset with it.
    await first.task.put([rows(5, 10)]);
    await first.task.preCommit!(new Map());
    await first.abort();
    await using second = await startSink(sinkPlugin.createTask(), config(table));
    await second.deliver(rows(0, 12));
    assert.equal(second.seeks.get('0:once'), 10);
    await second.deliver(rows(3, 12));
    assert.deepEqual(await ids(table), upTo(12));
  });

  it('keeps the offsets of the topic that was read, whatever a transform makes of its name', async () => {
    const table = await create();
    await using run = await startSink(sinkPlugin.createTask(), config(table));
    await run.deliver({ ...rows(0, 5), originalTopic: 'read.once' });
    await using next = await startSink(sinkPlugin.createTask(), config(table));
    await next.deliver({ ...rows(0, 7), originalTopic: 'read.once' });
    assert.equal(next.seeks.get('0:read.once'), 5);
    assert.deepEqual(await ids(table), upTo(7));
  });

  it('does not let a task write whose partition another has', async () => {
    const table = await create();
    await using old = await startSink(sinkPlugin.createTask(), config(table));
    await old.deliver(rows(0, 5));
    await using young = await startSink(sinkPlugin.createTask(), config(table));
    await young.deliver(rows(0, 6));
    await assert.rejects(old.deliver(rows(5, 9)), { code: 'SINK_FENCED', message: /once-0/ });
    assert.deepEqual(await ids(table), upTo(6));
    await young.deliver(rows(6, 9));
    assert.deepEqual(await ids(table), upTo(9));
  });

  it('knows a transaction that was committed, although its connection was lost before the answer', async () => {
    const table = await create();
    await using proxy = await AnswerEater.start(new URL(target.url));
    const url = new URL(target.url);
    url.port = String(proxy.port);
    await using run = await startSink(sinkPlugin.createTask(), config(table, { 'connection.url': url.href }));
    await run.deliver(rows(20, 25));
    for (let from = 25; from < 70; from += 5) {
      const delivered = run.deliver(rows(from, from + 5));
      proxy.isEating = true;
      const deadline = Date.now() + 10_000;
      while ((await ids(table)).length < from - 15) assert.ok(Date.now() < deadline, 'the rows were not written');
      proxy.cut();
      await delivered;
    }
    assert.deepEqual(await ids(table), upTo(70).slice(20));
    assert.ok(run.counts.get('retries')! >= 9);
  });

  it('keeps the offsets of several partitions apart, and moves them past records that give no rows', async () => {
    const table = await create();
    await using run = await startSink(sinkPlugin.createTask(), config(table), { tolerate: true });
    await run.deliver(rows(0, 3), rows(100, 104, 1));
    await run.deliver(rows(10, 14)); // 13 is refused
    const { rows: stored } = await target.client.query(
      `select partition, next_offset::int as next from ${table}_offsets order by partition`,
    );
    assert.deepEqual(stored, [
      { partition: 0, next: 14 },
      { partition: 1, next: 104 },
    ]);
    assert.deepEqual(
      run.errants.map(e => e.record.originalOffset),
      [13],
    );
    assert.deepEqual(await ids(table), [0, 1, 2, 10, 11, 12, 100, 101, 102, 103]);
  });

  it('takes offsets that are altered over REST', async () => {
    const table = await create();
    await using first = await startSink(sinkPlugin.createTask(), config(table));
    await first.deliver(rows(0, 5));
    await first.abort();
    const connector = sinkPlugin.createConnector();
    assert.equal(await connector.alterOffsets!(config(table), [{ topic: 'once', partition: 0, offset: 3 }]), true);
    await using second = await startSink(sinkPlugin.createTask(), config(table));
    await second.deliver(rows(3, 5));
    assert.equal(second.seeks.get('0:once'), 3);
    await second.abort();
    await connector.alterOffsets!(config(table), [{ topic: 'once', partition: 0, offset: null }]);
    await using third = await startSink(sinkPlugin.createTask(), config(table));
    await third.deliver(rows(0, 2));
    assert.equal(third.seeks.get('0:once'), undefined);
    assert.deepEqual(await ids(table), [0, 0, 1, 1, 2, 3, 3, 4, 4]);
  });
});

/** Between sink and server: while it eats, what the server answers does not arrive. */
class AnswerEater implements AsyncDisposable {
  isEating = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(to: URL): Promise<AnswerEater> {
    const server = createServer();
    const eater = new AnswerEater(server);
    server.on('connection', socket => {
      const upstream = connect(Number(to.port), to.hostname);
      for (const end of [socket, upstream]) {
        eater.#sockets.add(end);
        end.on('error', () => {}); // `cut` makes them
        end.on('close', () => eater.#sockets.delete(end));
      }
      socket.on('data', data => upstream.write(data));
      socket.on('close', () => upstream.destroy());
      upstream.on('close', () => socket.destroy());
      upstream.on('data', data => {
        if (!eater.isEating) socket.write(data);
      });
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    return eater;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.isEating = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise(resolve => this.#server.close(resolve));
  }
}
