/**
 * Two sinks write every record of one topic as a new row, one of them exactly once, while the worker is killed, its connections are cut and the target
 * crashes. A record that is applied twice is there twice. The other sink, at least once, shows that the faults do make repeats.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import pg from 'pg';
import { topicEnds } from '../chaos/topicCheck.ts';
import { LocalPostgres } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';

const TOPIC = 'history_rows';
/** More than are made while the faults last, however slow the machine is. */
const ROWS = 10_000_000;
const ROUNDS = 2;
const CATCH_UP_TIMEOUT_MS = 60_000;

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // told by the query
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

it('writes each record once, whatever is killed', { timeout: 180_000 }, async t => {
  const target = await LocalPostgres.start({ fsync: 'off' });
  t.after(() => target.stop());
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-exactly-once-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  await query(target.url('postgres'), 'create database history');
  const url = target.url('history');
  for (const table of ['once', 'at_least_once']) {
    await query(url, `create table ${table} (topic text, part int, pos bigint, id bigint, a int)`);
  }
  const worker = await WorkerProcess.start(['--data-dir', dataDir], {
    MILLRACE_TEST_HOOKS: '1', // SIGUSR2 ends a task thread
    CONNECT_ERRORS_RESTART_MAX: '-1',
    CONNECT_ERRORS_RESTART_DELAY_MAX_MS: '1000',
  });
  t.after(() => worker.kill());

  await worker.createConnector('rows', {
    'connector.class': 'DatagenSource',
    topic: TOPIC,
    fields: 'id:long,a:int',
    iterations: String(ROWS),
    'rows.per.second': '2500',
    'batch.rows': '100',
    'topic.creation.default.partitions': '3',
    'topic.creation.default.replication.factor': '1',
  });
  const sink = (table: string): Record<string, string> => ({
    'connector.class': 'millrace.PostgresSink',
    'tasks.max': '2',
    topics: TOPIC,
    'connection.url': url,
    'table.name.format': table,
    'insert.mode': 'insert',
    'pk.mode': 'kafka',
    'pk.fields': 'topic,part,pos',
    'retry.backoff.ms': '50',
    'consumer.override.session.timeout.ms': '6000',
  });
  await worker.createConnector('once', { ...sink('once'), 'delivery.guarantee': 'exactly-once' });
  await worker.createConnector('at-least-once', sink('at_least_once'));

  const count = async (table: string): Promise<number> =>
    Number((await query(url, `select count(*) as n from ${table}`))[0]!.n);
  const grows = async (): Promise<void> => {
    const before = await count('once');
    await waitUntil('rows arrive', CATCH_UP_TIMEOUT_MS, async () => (await count('once')) > before, 20);
  };
  const cutConnections = (): Promise<unknown> =>
    query(url, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'millrace'");
  const faults: (() => Promise<unknown>)[] = [
    async () => {
      await worker.kill();
      await worker.restart();
    },
    async () => {
      for (let i = 0; i < 10; i++) {
        await cutConnections();
        await pause(Math.random() * 40);
      }
    },
    async () => {
      await target.kill();
      await target.restart();
    },
    async () => process.kill(worker.pid, 'SIGUSR2'),
    async () => {
      await worker.stop();
      await worker.restart();
    },
    async () => {
      await Promise.all([target.kill(), worker.kill()]);
      await Promise.all([target.restart(), worker.restart()]);
    },
  ];
  for (let round = 0; round < ROUNDS; round++) {
    for (const strike of faults) {
      await grows();
      await pause(Math.random() * 100);
      await strike();
    }
  }

  const ends = async (): Promise<readonly number[]> => topicEnds({ kind: 'embedded', dataDir }, TOPIC);
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  await grows();
  await worker.stopConnector('rows');
  // What the source repeats after a fault are records of their own.
  const expected = await ends();
  await waitUntil(
    'all rows are in the target',
    CATCH_UP_TIMEOUT_MS,
    async () => (await count('once')) >= sum(expected),
    100,
  ).catch(async error => {
    throw new Error(`${await count('once')} of ${sum(expected)} rows\n${worker.output.slice(-4000)}`, { cause: error });
  });
  await worker.stop();
  const found = await query(
    url,
    `select part, count(*)::int as n, count(distinct pos)::int as different, max(pos)::int + 1 as next from once group by part order by part`,
  );
  assert.deepEqual(
    found,
    expected.map((end, part) => ({ part, n: end, different: end, next: end })),
  );
  assert.deepEqual(
    await query(
      url,
      'select connector, partition as part, next_offset::int as next from millrace_sink_offsets order by partition',
    ),
    expected.map((next, part) => ({ connector: 'once', part, next })),
  );
  const repeats = (await count('at_least_once')) - sum(expected);
  assert.ok(repeats > 0, 'the faults made no repeats: this test shows nothing');
  t.diagnostic(`${ROUNDS * faults.length} faults, ${sum(expected)} rows once, ${repeats} repeats at least once`);
});
