/**
 * A worker writes every record of a topic as a new row of MySQL, exactly once, while it is killed and its connections are cut: a record that is applied
 * twice is there twice. Shows as well that the sink works in a worker as it is built.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { topicEnds } from '../chaos/topicCheck.ts';
import { openMysqlTarget, servers } from '../connectors/mysql/sink/mysqlTarget.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';

/** More than are made while the faults last, however slow the machine is. */
const ROWS = 10_000_000;
const CATCH_UP_TIMEOUT_MS = 60_000;
const NO_SUCH_THREAD = 1094;

it('writes each record of a topic to MySQL once, whatever is killed', { timeout: 120_000 }, async t => {
  await using target = await openMysqlTarget(servers[0]![1]);
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-mysql-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  await target.client.query('create table once (topic varchar(50), part int, pos bigint, id bigint, a int)');
  const worker = await WorkerProcess.start(['--data-dir', dataDir], {
    CONNECT_ERRORS_RESTART_MAX: '-1',
    CONNECT_ERRORS_RESTART_DELAY_MAX_MS: '1000',
  });
  t.after(() => worker.kill());
  await worker.createConnector('rows', {
    'connector.class': 'DatagenSource',
    topic: 'history_rows',
    fields: 'id:long,a:int',
    iterations: String(ROWS),
    'rows.per.second': '2500',
    'batch.rows': '100',
    'topic.creation.default.partitions': '2',
    'topic.creation.default.replication.factor': '1',
  });
  await worker.createConnector('once', {
    'connector.class': 'millrace.MySqlSink',
    'tasks.max': '2',
    topics: 'history_rows',
    'connection.url': `jdbc:${target.url}`,
    'table.name.format': 'once',
    'insert.mode': 'insert',
    'pk.mode': 'kafka',
    'pk.fields': 'topic,part,pos',
    'retry.backoff.ms': '50',
    'consumer.override.session.timeout.ms': '6000',
    'delivery.guarantee': 'exactly-once',
  });
  const count = async (): Promise<number> => Number((await target.rows('select count(*) as n from once'))[0]!.n);
  const cutConnections = async (): Promise<void> => {
    const others = await target.rows(
      'select id from information_schema.processlist where db = database() and id <> connection_id()',
    );
    for (const { id } of others)
      await target.client.query(`kill ${Number(id)}`).catch((error: { errno?: number }) => {
        if (error.errno !== NO_SUCH_THREAD) throw error; // it has ended by itself
      });
  };
  const faults: (() => Promise<unknown>)[] = [
    async () => {
      await worker.kill();
      await worker.restart();
    },
    async () => {
      for (let i = 0; i < 10; i++) await cutConnections();
    },
    async () => {
      await worker.stop();
      await worker.restart();
    },
  ];
  const grows = async (): Promise<void> => {
    const before = await count();
    await waitUntil('rows arrive', CATCH_UP_TIMEOUT_MS, async () => (await count()) > before, 20);
  };
  for (const strike of [...faults, ...faults]) {
    await grows();
    await strike();
  }
  await grows();
  await worker.stopConnector('rows');
  // What the source repeats after a fault are records of their own.
  const ends = await topicEnds({ kind: 'embedded', dataDir }, 'history_rows');
  const sum = ends.reduce((a, b) => a + b, 0);
  await waitUntil('all rows are in the target', CATCH_UP_TIMEOUT_MS, async () => (await count()) >= sum, 50);
  await worker.stop();
  const found = await target.rows(
    'select part, count(*) as n, count(distinct pos) as different, max(pos) + 1 as next from once group by part order by part',
  );
  assert.deepEqual(
    found.map(r => [r.part, Number(r.n), Number(r.different), Number(r.next)]),
    ends.map((end, part) => [part, end, end, end]),
  );
  const stored = await target.rows('select `partition` as p, next_offset as o from millrace_sink_offsets order by 1');
  assert.deepEqual(
    stored.map(r => [r.p, Number(r.o)]),
    ends.map((end, part) => [part, end]),
  );
});
