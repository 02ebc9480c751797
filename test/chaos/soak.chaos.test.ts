/**
 * Full speed for SOAK_SECONDS (600): the worker's memory stays flat after the warm-up, the source keeps no WAL for us, retention keeps the store small,
 * and afterwards the target is equal, an idle worker costs next to nothing, and it stops in time.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '../services/waitUntil.ts';
import { LedgerLoad } from './ledger.ts';
import { LedgerPipeline } from './ledgerPipeline.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 600);
const LANES = 3;
const MIB = 1024 * 1024;
const RETENTION_BYTES = 64 * MIB;
/** Growth of the median from the first to the last fifth after the warm-up: the garbage collector's own swing. */
const MAX_GROWTH_MIB = 60;
const MAX_KEPT_WAL_BYTES = 64 * MIB;

/** Memory of its own, without the pages of the store that are mapped. */
async function ownMemoryMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)![1]) / 1024;
}

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

describe(`PostgreSQL to PostgreSQL at full speed for ${SECONDS} s`, () => {
  it('keeps memory, WAL and store small', async t => {
    const pipeline = await LedgerPipeline.start({
      broker: 'embedded',
      volumeRows: 5000,
      source: {
        'topic.creation.default.partitions': '1',
        'topic.creation.default.replication.factor': '1',
        'topic.creation.default.retention.bytes': String(RETENTION_BYTES),
      },
    });
    const stop = new AbortController();
    const lanes = Array.from({ length: LANES }, (_, lane) => new LedgerLoad(pipeline.sourceUrl, lane, LANES));
    const loading = Promise.all(lanes.map(lane => lane.run(stop.signal)));
    try {
      const { worker } = pipeline;
      const memory: number[] = [];
      for (let second = 0; second < SECONDS; second++) {
        await delay(1000);
        assert.deepEqual(await worker.failures(), []);
        memory.push(await ownMemoryMiB(worker.pid));
      }
      stop.abort();
      await loading;
      const commits = lanes.reduce((sum, lane) => sum + lane.commits, 0);
      const loadEnded = Date.now();
      await pipeline.caughtUp(180_000);
      const equalMs = Date.now() - loadEnded;

      const warm = memory.slice(Math.floor(memory.length / 3));
      const fifth = Math.ceil(warm.length / 5);
      const [first, last] = [median(warm.slice(0, fifth)), median(warm.slice(-fifth))];
      await waitUntil(
        'the slot lets the WAL go',
        60_000,
        async () => (await pipeline.keptWalBytes()) < MAX_KEPT_WAL_BYTES,
      );
      const idleCpu = await pipeline.idleCpu();
      t.diagnostic(
        `${commits} commits; memory ${first.toFixed(0)} MiB after the warm-up, ${last.toFixed(0)} MiB at the end, ${Math.max(...memory).toFixed(0)} MiB at most; ` +
          `equal ${equalMs} ms after the load; WAL kept ${await pipeline.keptWalBytes()} bytes; idle CPU ${(idleCpu * 100).toFixed(1)} %`,
      );
      assert.ok(last - first < MAX_GROWTH_MIB, `memory grew from ${first} to ${last} MiB`);
      await pipeline.stopsWell();
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${await pipeline.describe()}`, { cause: error });
    } finally {
      stop.abort();
      await loading;
      await pipeline.close();
    }
  });
});
