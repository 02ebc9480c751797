/** A transaction of OPEN_MIB (500) MiB, sent while it is open and, beside it, after the commit as with protocol version 1. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runOpenTransaction } from './openTransaction.ts';

const MEBIBYTES = Number(process.env.OPEN_MIB ?? 500);
const WORKER_MIB = 256;

it(`a transaction of ${MEBIBYTES} MiB needs no more than ${WORKER_MIB} MiB, and its last row comes as early as where the server keeps it until the commit`, async t => {
  const results = [];
  for (const mode of ['auto', 'off'] as const) {
    const result = await runOpenTransaction({ mebibytes: MEBIBYTES, mode });
    t.diagnostic(`streaming.mode=${mode}: ${JSON.stringify(result)}`);
    results.push(result);
    assert.ok(result.workerMiB <= WORKER_MIB, `streaming.mode=${mode}: the worker had ${result.workerMiB} MiB`);
  }
  const [streamed, plain] = results;
  // Most of the time goes to writing the topic, either way; half as much again is what other work on the machine may cost.
  assert.ok(streamed!.lastRowMs < 1.5 * plain!.lastRowMs);
});
