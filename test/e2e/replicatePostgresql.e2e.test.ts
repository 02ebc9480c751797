/** The files of examples/replicate-postgresql, as the page tells to use them: copied, followed, altered, stopped and killed at either end. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import pg from 'pg';
import { compareTables } from '../demo/compareTables.ts';
import { LocalPostgres } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/replicate-postgresql');
const TIMEOUT_MS = 60_000;
const TABLES = ['customer', 'purchase', 'reading'];
const SCHEMA = `
  create table customer (id bigint primary key, email text unique, name varchar(20) not null, since timestamptz default now());
  create table purchase (id bigint primary key, customer bigint not null references customer, total numeric(9,2), state smallint);
  create table reading (id bigint, day date, value double precision, gap interval, tags text[], primary key (id, day))
    partition by range (day);
  create table reading_old partition of reading for values from ('2020-01-01') to ('2026-01-01');
  create table reading_new partition of reading for values from ('2026-01-01') to ('2030-01-01')`;
const ROWS = 2000;

type Query = (text: string) => Promise<unknown>;

async function withClient<T>(url: string, work: (query: Query) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // told by the query
  try {
    await client.connect();
    return await work(text => client.query(text));
  } finally {
    await client.end().catch(() => {});
  }
}

/** Small transactions without end: new rows, changed rows, values that move, keys that change, deletes. */
async function load(url: string, signal: AbortSignal): Promise<number> {
  let commits = 0;
  while (!signal.aborted) {
    await withClient(url, async query => {
      while (!signal.aborted) {
        const id = ROWS + 1 + commits * 2;
        const old = 1 + Math.floor(Math.random() * ROWS);
        await query(`begin;
          insert into customer values (${id}, 'c${id}@example.org', 'new ${id}');
          insert into purchase values (${id}, ${id}, ${id}.25, 1), (${id + 1}, ${id}, null, 2);
          update purchase set total = coalesce(total, 0) + 1, state = state + 1 where id = ${old};
          update customer set email = 'moved${id}@example.org' where id = ${old};
          update customer set email = 'c${old}@example.org' where id = ${id};
          insert into reading values (${id}, '2026-02-03', ${id} / 7.0, '1 mon 2 days', '{a,"b c"}');
          update reading set day = '2026-05-06' where id = ${old};
          delete from reading where id = ${id - 40};
          delete from purchase where id = ${id - 39}; commit`);
        commits++;
      }
    }).catch(() => {}); // the server was killed: what was not committed is made anew, or is there
  }
  return commits;
}

it('keeps a copy equal to its source', { timeout: 180_000 }, async t => {
  const [source, target] = [await LocalPostgres.start({ fsync: 'off' }), await LocalPostgres.start({ fsync: 'off' })];
  t.after(() => Promise.all([source.stop(), target.stop()]));
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-replicate-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  await withClient(source.url('postgres'), query => query('create database shop'));
  await withClient(target.url('postgres'), query => query('create database copy'));
  const [from, to] = [source.url('shop'), target.url('copy')];
  for (const url of [from, to]) await withClient(url, query => query(SCHEMA));
  await withClient(from, query =>
    query(`
      insert into customer select i, 'c' || i || '@example.org', 'customer ' || i from generate_series(1, ${ROWS}) i;
      insert into purchase select i, 1 + i % 100, i / 4.0, i % 3 from generate_series(1, ${ROWS}) i;
      insert into reading select i, '2025-12-31'::date - i % 30, i / 3.0, i * '1 minute'::interval, array['x'] from generate_series(1, ${ROWS}) i`),
  );
  const worker = await WorkerProcess.start([join(EXAMPLES, 'worker.properties'), '--data-dir', dataDir], {
    SOURCE_HOST: '127.0.0.1',
    SOURCE_PORT: String(source.port),
    SOURCE_USER: 'postgres',
    SOURCE_PASSWORD: 'postgres',
    SOURCE_DATABASE: 'shop',
    TARGET_HOST: '127.0.0.1',
    TARGET_PORT: String(target.port),
    TARGET_USER: 'postgres',
    TARGET_PASSWORD: 'postgres',
    TARGET_DATABASE: 'copy',
    CONNECT_ERRORS_RESTART_MAX: '-1',
    CONNECT_ERRORS_RESTART_DELAY_MAX_MS: '2000',
  });
  t.after(() => worker.kill());

  const stopLoad = new AbortController();
  const loading = load(from, stopLoad.signal);
  t.after(() => stopLoad.abort());
  for (const file of ['source.json', 'sink.json']) {
    await worker.request('POST', '/connectors', JSON.parse(await readFile(join(EXAMPLES, file), 'utf8')));
  }
  let last = '';
  const equal = async (): Promise<boolean> => {
    const { rows, differences, examples } = await compareTables(from, to, TABLES);
    last = `${differences} of ${rows} rows differ: ${examples.join('; ')}`;
    return differences === 0 && rows > 3 * ROWS;
  };
  const targetMoves = async (): Promise<void> => {
    const top = async (): Promise<number> =>
      withClient(to, async query => {
        const { rows } = (await query('select coalesce(max(id), 0)::int as top from customer')) as {
          rows: { top: number }[];
        };
        return rows[0]!.top;
      }).catch(() => 0);
    const before = Math.max(ROWS, await top());
    await waitUntil('the target follows', TIMEOUT_MS, async () => (await top()) > before, 50).catch(async error => {
      const status = await worker.request('GET', '/connectors?expand=status');
      throw new Error(`${JSON.stringify(status)}\n${worker.output.slice(-3000)}`, { cause: error });
    });
  };
  await targetMoves();

  await withClient(from, query =>
    query(
      `alter table purchase add column note text default 'none'; alter table purchase alter column state type integer`,
    ),
  );
  const { config } = JSON.parse(await readFile(join(EXAMPLES, 'sink.json'), 'utf8')) as {
    config: Record<string, string>;
  };
  await worker.request('PUT', '/connectors/replica-sink/config', { ...config, 'batch.size': '500' });
  await targetMoves();
  for (const strike of [
    () => worker.kill().then(() => worker.restart()),
    () => target.kill().then(() => target.restart()),
    () => source.kill().then(() => source.restart()),
    () => worker.stop().then(() => worker.restart()),
  ]) {
    await strike();
    await targetMoves();
  }
  // Dropped and made again: it goes on from its offsets.
  await worker.request('DELETE', '/connectors/replica-sink');
  await worker.request('POST', '/connectors', { name: 'replica-sink', config });
  await targetMoves();
  await withClient(from, query => query('truncate reading'));
  stopLoad.abort();
  const commits = await loading;
  await withClient(from, query =>
    query(
      `insert into reading select i, '2026-01-01', i, '1 year', null from generate_series(1, ${ROWS}) i on conflict do nothing`,
    ),
  );
  await waitUntil('the copy equals its source', TIMEOUT_MS, equal, 300).catch(async error => {
    const status = await worker.request('GET', '/connectors?expand=status');
    throw new Error(`${last}\n${JSON.stringify(status)}`, { cause: error });
  });
  assert.ok(commits > 100, `only ${commits} commits`);
  assert.deepEqual(worker.complaints, []);
  await worker.stop();
  assert.equal(worker.exitCode, 0);
});
