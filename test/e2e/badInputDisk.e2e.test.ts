/** A full disk under the embedded log: the worker lives on, tasks say what is wrong, and nothing is lost when there is room again. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../services/waitUntil.ts';
import { Bench } from './badInput.ts';

const DISK_MB = 40;

test('a full disk fails the source with its code, and the pipeline goes on when there is room', async t => {
  const disk = await mkdtemp(join(tmpdir(), 'millrace-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    await rm(disk, { recursive: true });
    t.skip('mounting a tmpfs is not permitted here (needs root)');
    return;
  }
  let bench: Bench | null = null;
  t.after(async () => {
    await bench?.close();
    execFileSync('umount', ['-l', disk]);
    await rm(disk, { recursive: true, force: true });
  });
  bench = await Bench.start({ args: ['--data-dir', join(disk, 'data')] });
  const { worker } = bench;
  const source = await bench.startSource('filled');
  const sink = await bench.startSink('filled');
  await bench.copied('filled');

  await writeFile(join(disk, 'filler'), Buffer.alloc((DISK_MB - 16) * 1024 * 1024, 1));
  await bench.source('INSERT INTO filled SELECT i, repeat(md5(i::text), 30) FROM generate_series(1000, 40000) i');
  const failure = await bench.failure(source, 'RESTARTING');
  assert.match(failure, /^\[BROKER_DISK_FULL\] .*data.*bytes free/);
  await waitUntil('the sink waits or runs', 10_000, async () => {
    const state = (await worker.status(sink)).tasks[0]?.state;
    return state === 'RUNNING' || state === 'RESTARTING';
  });
  assert.equal((await fetch(`${worker.url}/health`)).ok, true, 'the worker lives on');

  execFileSync('mount', ['-o', 'remount,size=400m', disk]);
  await bench.copied('filled');
  assert.deepEqual(worker.complaints, []);
});
