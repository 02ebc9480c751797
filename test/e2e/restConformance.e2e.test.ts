import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { WorkerProcess } from '../services/workerProcess.ts';
import { kitWorkerArgs, runRestKit } from './restConformance.ts';

test('every step of the REST conformance kit passes with the embedded broker', async t => {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-rest-'));
  const worker = await WorkerProcess.start(['--data-dir', dataDir, ...kitWorkerArgs]);
  t.after(async () => {
    await worker.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const { passed, failed } = await runRestKit(worker.url);
  assert.deepEqual([...failed.values()], []);
  assert.ok(passed > 500, `only ${passed} steps were played`);
});
