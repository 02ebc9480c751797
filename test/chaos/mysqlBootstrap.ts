/** A table is copied while it changes all the time and the worker is killed again and again: in the end the target has the source's rows. */
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '../services/waitUntil.ts';
import { MysqlPipeline } from './mysqlPipeline.ts';
import { randomOf } from './random.ts';

export interface BootstrapRun {
  readonly rows: number;
  readonly changesPerSecond: number;
  readonly kills: number;
  /** The initial snapshot, which starts over when it is killed, or one by a signal, which goes on. */
  readonly mode: 'initial' | 'incremental';
  readonly seed: number;
  readonly timeoutMs: number;
}

const TICK_MS = 50;
const INSERT_ROWS = 10_000;

export async function runMysqlBootstrap(
  t: { after(f: () => Promise<void>): void },
  { rows, changesPerSecond, kills, mode, seed, timeoutMs }: BootstrapRun,
): Promise<{ readonly changes: number; readonly seconds: number }> {
  const pipeline = await MysqlPipeline.open(
    t,
    'CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(30), n INT NOT NULL DEFAULT 0)',
  );
  const { sql, worker, source } = pipeline;
  await sql.query(`USE ${source}`);
  await sql.query('CREATE TABLE sig (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32) NOT NULL, data VARCHAR(2048))');
  for (let from = 0; from < rows; from += INSERT_ROWS) {
    const part = Array.from({ length: Math.min(INSERT_ROWS, rows - from) }, (_, i) => [from + i, `row ${from + i}`]);
    await sql.query('INSERT INTO t (id, v) VALUES ?', [part]);
  }
  const random = randomOf(seed);
  let changes = 0;
  let isLoading = true;
  const load = (async () => {
    const perTick = Math.max(1, Math.round((changesPerSecond * TICK_MS) / 1000));
    let next = performance.now();
    while (isLoading) {
      const statements = Array.from({ length: perTick }, () => {
        const id = random(rows);
        const kind = random(10);
        changes++;
        if (kind === 0) return `DELETE FROM t WHERE id = ${id}`;
        if (kind < 3) return `REPLACE INTO t VALUES (${id}, 'new ${changes}', ${changes})`;
        return `UPDATE t SET n = ${changes} WHERE id = ${id}`;
      });
      await sql.query(`BEGIN; ${statements.join('; ')}; COMMIT`);
      next += TICK_MS;
      const waitMs = next - performance.now();
      if (waitMs > 0) await delay(waitMs);
    }
  })();
  const began = performance.now();
  const config = {
    'table.include.list': `${source}\\.t`,
    'signal.data.collection': `${source}.sig`,
    'incremental.snapshot.chunk.size': '5000',
    ...(mode === 'incremental' && { 'snapshot.mode': 'no_data' }),
  };
  const scanned = (): Promise<number> => worker.metric('kafka_connect_source_task_source_record_write_total');
  const offsets = async (): Promise<string> =>
    JSON.stringify(await worker.request('GET', '/connectors/source/offsets'));
  t.after(async () => {
    isLoading = false;
    await load.catch(() => {});
  });
  await pipeline.startSource(config);
  await pipeline.startSink();
  if (mode === 'incremental') {
    // Until an offset is committed a start without snapshot begins at the end of the log.
    await waitUntil('an offset is committed', timeoutMs, async () => (await offsets()).includes('"pos"'));
    const data = JSON.stringify({ 'data-collections': [`${source}\\.t`] });
    await sql.query("INSERT INTO sig VALUES ('s', 'execute-snapshot', ?)", [data]);
  }
  for (let kill = 0; kill < kills; kill++) {
    const part = Math.max(1, Math.floor((rows * (0.2 + random(60) / 100)) / (mode === 'initial' ? 1 : kills)));
    const before = await scanned();
    await waitUntil('records go out', timeoutMs, async () => (await scanned()) >= before + part, 10);
    await worker.kill();
    await worker.restart();
    await waitUntil('the worker goes on', timeoutMs, async () => (await scanned()) > 0, 20);
  }
  if (mode === 'incremental') {
    await waitUntil('the snapshot is complete', timeoutMs, async () => {
      const text = await offsets();
      return text.includes('"pos"') && !text.includes('incremental_snapshot_collections');
    });
  } else {
    await waitUntil('the snapshot is complete', timeoutMs, async () => {
      const metrics = await worker.metric('debezium_metrics_snapshot_completed');
      return metrics > 0 || (await worker.metric('debezium_metrics_connected')) > 0;
    });
  }
  isLoading = false;
  await load;
  await pipeline.finish(timeoutMs);
  await waitUntil(
    'the target has the source’s rows',
    timeoutMs,
    async () => (await pipeline.differences(['v', 'n'])) === 0,
  );
  return { changes, seconds: (performance.now() - began) / 1000 };
}
