/** A row of 64 MiB and a transaction of many such sizes, through topics into another database. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { waitUntil } from '../services/waitUntil.ts';
import { MysqlLedgerPipeline } from './mysqlLedgerPipeline.ts';
import { topicEnds } from './topicCheck.ts';

const TIMEOUT_MS = 120_000;
const MIB = 1024 * 1024;

/** With the limits as they are the row is refused by an error that names them; with raised limits it arrives. */
export async function rowOf64MiB(): Promise<void> {
  const pipeline = await MysqlLedgerPipeline.start({
    schema: 'CREATE TABLE big (id int PRIMARY KEY, body longtext)',
    tables: ['big'],
    mysqlArgs: ['--max-allowed-packet=512M'],
    source: {
      'topic.creation.default.partitions': '1',
      'topic.creation.default.replication.factor': '1',
      'topic.creation.default.max.message.bytes': String(150 * MIB),
    },
    sink: { 'consumer.override.max.partition.fetch.bytes': String(160 * MIB) },
  });
  try {
    await pipeline.query("INSERT INTO big VALUES (1, 'small')");
    await pipeline.caughtUp(TIMEOUT_MS);
    await pipeline.query(`INSERT INTO big VALUES (2, repeat('0123456789abcdef', ${4 * MIB}))`);
    await waitUntil('the row is refused', TIMEOUT_MS, async () => (await pipeline.failure()) !== null);
    const failure = (await pipeline.failure())!;
    assert.match(failure, /BROKER_RECORD_TOO_LARGE/);
    assert.match(failure, /producer\.override\.max\.request\.size/);
    assert.match(failure, /max\.message\.bytes/);
    await pipeline.setSource({ 'producer.override.max.request.size': String(150 * MIB) });
    await pipeline.caughtUp(TIMEOUT_MS);
  } finally {
    await pipeline.close();
  }
}

export interface LargeTransaction {
  readonly rows: number;
  readonly rowBytes: number;
  readonly maxWorkerMiB: number;
  readonly report: (line: string) => void;
}

/** Memory of the worker stays bounded however long a transaction is. */
export async function largeTransaction(run: LargeTransaction): Promise<void> {
  const pipeline = await MysqlLedgerPipeline.start({
    schema: `CREATE TABLE many (id int PRIMARY KEY, body longtext);
      CREATE PROCEDURE fill(count int) BEGIN
        DECLARE n int DEFAULT 0;
        START TRANSACTION;
        WHILE n < count DO
          SET n = n + 1;
          INSERT INTO many VALUES (n, concat(n, repeat(sha2(n, 256), ${run.rowBytes / 64})));
        END WHILE;
        COMMIT;
      END`,
    tables: ['many'],
    mysqlArgs: ['--innodb-redo-log-capacity=1G'],
    // what comes of it is measured in the topic: a copy in MySQL would double the disk
    sink: { 'topics.regex': 'none' },
  });
  try {
    await waitUntil('the log is read', TIMEOUT_MS, () => pipeline.isStreaming());
    await pipeline.query(`CALL fill(${run.rows})`);
    await waitUntil('all rows are in the topic', 10 * TIMEOUT_MS, async () => {
      assert.equal(await pipeline.failure(), null);
      const ends = await topicEnds(pipeline.brokerSettings, 'ledger.ledger.many').catch(() => [0]);
      return ends.reduce((sum, end) => sum + end, 0) >= run.rows;
    });
    const peakMiB = await peakMemory(pipeline.worker.pid);
    run.report(`${(run.rows * run.rowBytes) / MIB} MiB in one transaction: the worker took ${peakMiB} MiB at most`);
    assert.ok(peakMiB < run.maxWorkerMiB, `the worker took ${peakMiB} MiB`);
  } finally {
    await pipeline.close();
  }
}

async function peakMemory(pid: number): Promise<number> {
  const kib = /^VmHWM:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1];
  return Math.round(Number(kib) / 1024);
}
