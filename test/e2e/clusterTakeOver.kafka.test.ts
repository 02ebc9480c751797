/** A worker that is gone: what it ran does not seem to run on, and who asked it for something does not wait for its answer. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../services/waitUntil.ts';
import { ClusterProcesses, plainJson } from './clusterProcesses.ts';

const sessionMs = 6_000;
const waitMs = 30_000;

/** A source without records, whose connector starts once the file `gate` is there. */
const gated = `
import { existsSync } from 'node:fs';
const pause = () => new Promise(resolve => setTimeout(resolve, 20));
export const plugins = [{
  kind: 'source', className: 'test.Gated', aliases: [], version: '1.0.0',
  configDef: { keys: {}, parse: () => ({ values: {}, errors: [] }) },
  createConnector() {
    let config;
    return {
      async start(given) { config = given; while (!existsSync(config.gate)) await pause(); },
      taskConfigs: () => [config],
      stop() {},
    };
  },
  createTask: () => ({ async start() {}, async poll() { await pause(); return []; }, async stop() {} }),
}];`;

test('a connector that starts slowly elsewhere does not read RUNNING on the worker that was killed', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-take-over-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const [plugin, gate] = [join(dir, 'gated.mjs'), join(dir, 'gate')];
  await writeFile(plugin, gated);
  await writeFile(gate, '');
  const cluster = ClusterProcesses.create(t, [
    ...plainJson,
    `session.timeout.ms=${sessionMs}`,
    'heartbeat.interval.ms=1000',
    'task.threads=0',
    'scheduled.rebalance.max.delay.ms=0',
    `plugin.path=${plugin}`,
  ]);
  const first = await cluster.addWorker();
  const second = await cluster.addWorker();
  for (const name of ['one', 'two']) await first.createConnector(name, { 'connector.class': 'test.Gated', gate });
  await cluster.settled(first, 4, [first, second], waitMs);
  const host = new URL(second.url).host;
  const seenOn = async (worker: string): Promise<string[]> =>
    [...(await cluster.placement(first))].filter(([, at]) => at === `RUNNING@${worker}`).map(([part]) => part);
  const lost = await seenOn(host);
  assert.equal(lost.length, 2);

  await rm(gate);
  await second.kill();
  // The task needs no connector to run.
  await waitUntil('the lost task runs here', waitMs, async () => (await seenOn(new URL(first.url).host)).length === 3);
  assert.deepEqual(await seenOn(host), []);
  await writeFile(gate, '');
  await cluster.settled(first, 4, [first], waitMs);
});

test('a request that was sent on to a leader that is halted is answered once another leads', async t => {
  const cluster = ClusterProcesses.create(t, [
    ...plainJson,
    `session.timeout.ms=${sessionMs}`,
    'heartbeat.interval.ms=1000',
    'task.threads=0',
  ]);
  const leader = await cluster.addWorker();
  const other = await cluster.addWorker();
  const change = (): Promise<Response> =>
    fetch(`${other.url}/connectors/c/config`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ 'connector.class': 'millrace.DatagenSource', topic: `${cluster.groupId}-c` }),
      signal: AbortSignal.timeout(waitMs),
    });
  process.kill(leader.pid, 'SIGSTOP');
  try {
    const halted = await change();
    assert.equal(halted.status, 503);
    assert.match(await halted.text(), /does not answer: it left the cluster, or leads no more/);
    assert.ok(halted.headers.has('retry-after'));
    assert.equal((await change()).status, 201);
  } finally {
    process.kill(leader.pid, 'SIGCONT');
  }
});
