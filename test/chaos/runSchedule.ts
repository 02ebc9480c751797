/**
 * A random schedule through the whole pipeline, on a server that sends every transaction while it is open: the topics hold exactly the committed changes in commit order, as
 * the server tells them to another reader, and the target equals the source row by row.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Struct } from '../../schemas/data/index.ts';
import { compareTables } from '../demo/compareTables.ts';
import { avroConverter } from '../services/avroConverter.ts';
import { LocalPostgres } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import { createScheduleTables, endSchedule, runSchedule, type Schedule, scheduleTables } from './schedule.ts';
import { openServerChanges, readServerChanges } from './serverChanges.ts';
import { readValues } from './topicCheck.ts';

export interface ScheduleRun extends Schedule {
  /** Further settings of the source. */
  readonly source: Readonly<Record<string, string>>;
  readonly catchUpMs: number;
  readonly report: (line: string) => void;
}

export async function checkSchedule(run: ScheduleRun): Promise<void> {
  const cleanups: (() => Promise<void>)[] = [];
  try {
    const server = await LocalPostgres.start({
      debug_logical_replication_streaming: 'immediate',
      max_prepared_transactions: '50',
      fsync: 'off',
      full_page_writes: 'off',
    });
    cleanups.push(() => server.stop());
    const admin = new pg.Client(server.url('postgres'));
    await admin.connect();
    await admin.query('CREATE DATABASE random');
    await admin.query('CREATE DATABASE copy');
    await admin.end();
    const sql = new pg.Client(server.url('random'));
    await sql.connect();
    cleanups.push(() => sql.end());
    await createScheduleTables(sql, run.clients);
    await openServerChanges(sql);
    const dataDir = await mkdtemp(join(tmpdir(), 'millrace-schedule-'));
    cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
    const worker = await WorkerProcess.start(['--data-dir', dataDir], { CONNECT_ERRORS_RESTART_MAX: '0' });
    cleanups.push(() => worker.kill());
    await createConnectors(worker, server, run.source);
    const isStreaming = async (): Promise<boolean> =>
      (await sql.query("SELECT 1 FROM pg_replication_slots WHERE active AND plugin = 'pgoutput'")).rows.length === 1;
    await waitUntil('the stream has begun', 30_000, isStreaming);

    const started = performance.now();
    const commits = await runSchedule(server.url('random'), run);
    await endSchedule(sql, run.clients);
    const loadMs = Math.round(performance.now() - started);
    await waitUntil(
      'the target has the last row',
      run.catchUpMs,
      async () => {
        assert.deepEqual(await worker.failures(), []);
        return (await compareTables(server.url('random'), server.url('copy'), ['last'])).differences === 0;
      },
      100,
    );
    const tables = scheduleTables(run.clients);
    let last = '';
    await waitUntil(
      'the target equals the source',
      run.catchUpMs,
      async () => {
        assert.deepEqual(await worker.failures(), []);
        const { differences, rows, examples } = await compareTables(server.url('random'), server.url('copy'), tables);
        last = `${differences} of ${rows} rows differ: ${examples.map(text => text.slice(0, 200)).join('; ')}`;
        return differences === 0;
      },
      1000,
    ).catch(error => {
      throw new Error(`${last}\n${worker.output}`, { cause: error });
    });
    const equalMs = Math.round(performance.now() - started) - loadMs;

    const expected = await readServerChanges(sql);
    const check = {
      settings: { kind: 'embedded', dataDir } as const,
      converter: avroConverter(`${worker.url}/registry`),
    };
    let changes = 0;
    for (const table of tables) {
      const events: string[] = [];
      await readValues(check, `random.public.${table}`, envelope => events.push(eventOf(envelope)));
      assertSame(`changes of ${table}`, events, expected.tables.get(table) ?? []);
      changes += events.length;
    }
    const ended: string[] = [];
    await readValues(check, 'random.transaction', value => {
      if (value.get('status') === 'END' && value.get('event_count') !== 0n)
        ended.push(String(value.get('id')).split(':')[0]!);
    });
    assertSame('transactions', ended, expected.transactions);
    const isGivenUp = worker.output.includes('until the next start of the task');
    run.report(
      `${commits} transactions, ${changes} changes in ${loadMs} ms; equal ${equalMs} ms later${isGivenUp ? '; sent after their commit for a part' : ''}`,
    );
    assert.equal(isGivenUp, run.isWild, 'whether the source asked for transactions after their commit');
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

async function createConnectors(
  worker: WorkerProcess,
  server: LocalPostgres,
  source: Readonly<Record<string, string>>,
): Promise<void> {
  await worker.createConnector('random-source', {
    'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
    'database.hostname': '127.0.0.1',
    'database.port': String(server.port),
    'database.user': 'postgres',
    'database.password': 'postgres',
    'database.dbname': 'random',
    'topic.prefix': 'random',
    'snapshot.mode': 'no_data',
    'skipped.operations': 'none',
    'provide.transaction.metadata': 'true',
    // so small a memory that most of what is open is in files
    'streaming.buffer.bytes': '1048576',
    'topic.creation.default.partitions': '1',
    'topic.creation.default.replication.factor': '1',
    ...source,
  });
  await worker.createConnector('random-sink', {
    'connector.class': 'millrace.PostgresSink',
    'topics.regex': 'random\\.public\\..*',
    'connection.url': server.url('copy'),
    'table.name.format': '${source.table}',
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'truncate.enabled': 'true',
    'auto.create': 'true',
    'auto.evolve': 'true',
    'consumer.override.metadata.max.age.ms': '500',
  });
}

function eventOf(envelope: Struct): string {
  const op = envelope.get('op') as string;
  const [before, after] = (['before', 'after'] as const).map(name => envelope.get(name) as Struct | null);
  const xid = (envelope.get('source') as Struct).get('txId');
  if (op === 't') return `${xid} t`;
  return op === 'd' ? `${xid} d ${before!.get('id')}` : `${xid} ${op} ${after!.get('id')} ${after!.get('v')}`;
}

/** With the place where they part, since there may be millions. */
function assertSame(what: string, actual: readonly string[], expected: readonly string[]): void {
  const at = expected.findIndex((text, i) => text !== actual[i]);
  const place = at < 0 ? expected.length : at;
  if (at < 0 && actual.length === expected.length) return;
  assert.deepEqual(actual.slice(place - 3, place + 5), expected.slice(place - 3, place + 5), `${what} at ${place}`);
  assert.equal(actual.length, expected.length, what);
}
