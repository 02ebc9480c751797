/**
 * One transaction of many bytes, written as fast as the server takes it and then committed: how long its last row takes to the topic after the commit, and how much memory
 * the worker needs. With `streaming.mode=off` the server keeps the transaction, as it does for every reader of protocol version 1.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { TopicReader } from '../bench/topicReader.ts';
import { LocalKafka } from '../services/localKafka.ts';
import { LocalPostgres } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { WorkerProcess } from '../services/workerProcess.ts';

const MIB = 1024 * 1024;
const ROW_BYTES = 1024;
const STATEMENT_ROWS = 64 * 1024;
const SAMPLE_MS = 100;
/** As one sets up a worker that has little memory: rows of a KiB come in batches of 2 MiB, and 8 MiB may be under way. */
const SMALL_WORKER = {
  CONNECT_TASK_THREADS: '1',
  NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=96',
  MALLOC_ARENA_MAX: '2',
};
const SMALL_SOURCE = {
  'streaming.buffer.bytes': String(16 * MIB),
  'max.batch.size': '2048',
  'producer.override.buffer.memory': String(8 * MIB),
};

export interface OpenTransaction {
  readonly mebibytes: number;
  readonly mode: 'auto' | 'off';
}

export interface OpenTransactionResult {
  readonly rows: number;
  /** From the first statement to the commit. */
  readonly writtenMs: number;
  /** From the commit until the last row is in the topic. */
  readonly lastRowMs: number;
  /** Most that the worker had of its own, without files that are mapped. */
  readonly workerMiB: number;
}

export async function runOpenTransaction({ mebibytes, mode }: OpenTransaction): Promise<OpenTransactionResult> {
  const cleanups: (() => Promise<void>)[] = [];
  try {
    const server = await LocalPostgres.start({ fsync: 'off', full_page_writes: 'off', max_wal_size: '2GB' });
    cleanups.push(() => server.stop());
    // The embedded broker would be part of the worker's memory.
    const kafka = await LocalKafka.start();
    cleanups.push(() => kafka.stop());
    const sql = new pg.Client(server.url('postgres'));
    await sql.connect();
    cleanups.push(() => sql.end());
    await sql.query('CREATE TABLE big (id bigint NOT NULL, payload text NOT NULL)');
    const worker = await WorkerProcess.start(
      ['--bootstrap-servers', kafka.bootstrapServers, '--schema-registry', kafka.registryUrl],
      SMALL_WORKER,
    );
    cleanups.push(() => worker.kill());
    await worker.createConnector('open', {
      'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
      'database.hostname': '127.0.0.1',
      'database.port': String(server.port),
      'database.user': 'postgres',
      'database.password': 'postgres',
      'database.dbname': 'postgres',
      'topic.prefix': 'open',
      'snapshot.mode': 'no_data',
      'streaming.mode': mode,
      ...SMALL_SOURCE,
      'topic.creation.default.partitions': '1',
      'topic.creation.default.replication.factor': '1',
    });
    const isStreaming = async (): Promise<boolean> =>
      (await sql.query('SELECT 1 FROM pg_replication_slots WHERE active')).rows.length === 1;
    await waitUntil('the stream has begun', 30_000, isStreaming);

    const rows = Math.ceil((mebibytes * MIB) / ROW_BYTES);
    const memory = new MemoryWatch(worker.pid);
    const began = performance.now();
    await sql.query('BEGIN');
    for (let from = 0; from < rows; from += STATEMENT_ROWS) {
      const to = Math.min(rows, from + STATEMENT_ROWS);
      await sql.query(
        `INSERT INTO big SELECT i, repeat(md5(i::text), ${ROW_BYTES / 32}) FROM generate_series(${from + 1}, ${to}) i`,
      );
    }
    await sql.query('COMMIT');
    const committed = performance.now();
    const reader = await TopicReader.open({
      kind: 'kafka',
      settings: { 'bootstrap.servers': kafka.bootstrapServers },
    });
    cleanups.push(() => reader.close());
    const failed = async (): Promise<void> => assert.deepEqual(await worker.failures(), []);
    const { endedAt } = await reader.drain('open.public.big', 0, rows, failed);
    assert.equal(await reader.endOffset('open.public.big'), rows);
    return {
      rows,
      writtenMs: Math.round(committed - began),
      lastRowMs: Math.round(endedAt - committed),
      workerMiB: Math.round(await memory.stop()),
    };
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

class MemoryWatch {
  #most = 0;
  #isStopped = false;
  readonly #watching: Promise<void>;

  constructor(pid: number) {
    this.#watching = this.#watch(pid);
  }

  async #watch(pid: number): Promise<void> {
    while (!this.#isStopped) {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      this.#most = Math.max(this.#most, Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)![1]) / 1024);
      await delay(SAMPLE_MS);
    }
  }

  /** MiB */
  async stop(): Promise<number> {
    this.#isStopped = true;
    await this.#watching;
    return this.#most;
  }
}
