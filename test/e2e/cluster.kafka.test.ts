import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../services/waitUntil.ts';
import { ClusterProcesses, plainJson, topicKeys } from './clusterProcesses.ts';

const sessionTimeoutMs = 6_000;
const settings = [
  ...plainJson,
  `session.timeout.ms=${sessionTimeoutMs}`,
  'heartbeat.interval.ms=1000',
  'offset.flush.interval.ms=500',
  'task.threads=1',
  // Longer than the test: whatever waited for it would fail the test.
  'scheduled.rebalance.max.delay.ms=300000',
];
/** A rebalance on a busy machine. */
const rebalanceMs = 20_000;
const rows = 4_000;
const parts = 3 + 1 + 1 + 4;

test('workers come, leave in order and are killed: work moves, comes back, and no record is lost', async t => {
  const cluster = ClusterProcesses.create(t, settings);
  const dir = await mkdtemp(join(tmpdir(), 'millrace-cluster-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const [input, output] = [join(dir, 'in.txt'), join(dir, 'out.txt')];
  await writeFile(input, '');
  const { groupId } = cluster;
  const linesTopic = `${groupId}-lines`;
  const rowsTopic = `${groupId}-rows`;
  const first = await cluster.addWorker();
  const second = await cluster.addWorker();
  // Asked at the one that does not lead.
  await second.createConnector('rows', {
    'connector.class': 'millrace.DatagenSource',
    topic: rowsTopic,
    fields: 'id:long,name:string',
    'rows.per.second': '150',
    iterations: String(rows),
    'tasks.max': '4',
  });
  await second.createConnector('lines-in', {
    'connector.class': 'FileStreamSource',
    file: input,
    topic: linesTopic,
    'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
  });
  await second.createConnector('lines-out', {
    'connector.class': 'FileStreamSink',
    topics: linesTopic,
    file: output,
    'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'consumer.override.group.id': cluster.sinkGroupId,
    // A killed member of the sink's group keeps its partitions for so long.
    'consumer.override.session.timeout.ms': String(sessionTimeoutMs),
  });
  await cluster.settled(second, parts, [first, second], rebalanceMs);

  let lines = 0;
  const writing = setInterval(() => appendFileSync(input, `line-${lines++}\n`), 20);
  t.after(() => clearInterval(writing));

  const third = await cluster.addWorker();
  await cluster.settled(first, parts, [first, second, third], rebalanceMs);

  // In order: the others take over at once, without the delay.
  await third.stop();
  await cluster.settled(first, parts, [first, second], rebalanceMs);

  // Killed: what it ran does not seem to run, and waits for it; started again, it gets just that back.
  const before = await cluster.placement(first);
  await second.kill();
  const killedMs = Date.now();
  const host = new URL(second.url).host;
  const isGone = async (): Promise<boolean> =>
    [...(await cluster.placement(first)).values()].every(at => at !== `RUNNING@${host}`);
  await waitUntil('nothing seems to run on the killed worker', 2 * sessionTimeoutMs, isGone);
  t.diagnostic(`the killed worker's tasks read UNASSIGNED after ${Date.now() - killedMs} ms`);
  assert.match(
    first.output,
    new RegExp(`worker ${second.url}/ is not in the cluster any more; what it ran goes to others in`),
  );
  await second.restart();
  await cluster.settled(first, parts, [first, second], rebalanceMs);
  assert.deepEqual(await cluster.placement(first), before);

  // The leader is killed: the next one leads and hands out what it ran.
  await first.kill();
  const early = await fetch(`${second.url}/connectors/rows/config`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  assert.equal(early.status, 503, 'a change that only the leader can make is to be sent again');
  assert.ok(early.headers.has('retry-after'));
  await cluster.settled(second, parts, [second], 2 * sessionTimeoutMs + rebalanceMs);

  clearInterval(writing);
  const wanted = Array.from({ length: lines }, (_, i) => `line-${i}`);
  let missing = wanted;
  await waitUntil('every line is in the file', 30_000, () => {
    const found = new Set(readFileSync(output, 'utf8').split('\n'));
    missing = wanted.filter(line => !found.has(line));
    return missing.length === 0;
  }).catch(error => {
    throw new Error(`${error.message}; ${missing.length} of ${lines} are missing: ${missing.slice(0, 5)}`);
  });
  const keys = Array.from({ length: rows }, (_, id) => JSON.stringify({ id }));
  let found: ReadonlySet<string> = new Set();
  await waitUntil('every row is in the topic', 60_000, async () => {
    found = await topicKeys(rowsTopic);
    return found.size >= rows;
  });
  assert.deepEqual(
    keys.filter(key => !found.has(key)),
    [],
  );
  assert.deepEqual(
    cluster.workers.flatMap(worker => worker.complaints),
    [],
  );
});
