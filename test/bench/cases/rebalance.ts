/**
 * What it costs a busy cluster that a worker joins: two workers run 12 tasks at 3,000 records/s each, a third comes. From the times of the records in the topics:
 * records per second of each task before, while the cluster rebalances, and after, and its longest silence. A task that does not move must not notice.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { connectBroker } from '../../../runtime/broker/connectBroker.ts';
import { readRecords } from '../../../runtime/broker/records/index.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import type { ConnectorStatus, WorkerProcess } from '../../services/workerProcess.ts';
import type { Options } from '../options.ts';
import { median, progress, type Report } from '../report.ts';
import type { Servers } from '../servers.ts';

const TASKS = 12;
const ROWS_PER_SECOND = 3_000;
const STEADY_MS = 10_000;
const WARM_UP_MS = 5_000;
const SETTLE_MS = 60_000;
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const SETTINGS = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'key.converter.schemas.enable=false',
  'value.converter.schemas.enable=false',
  'task.threads=1',
];

const names = Array.from({ length: TASKS }, (_, i) => `busy-${i}`);

/** The worker of each task, once all run on as many workers as there are. */
async function settled(asked: WorkerProcess, workers: number): Promise<ReadonlyMap<string, string>> {
  let placed = new Map<string, string>();
  await waitUntil(`${TASKS} tasks run on ${workers} workers`, SETTLE_MS, async () => {
    const all = await asked.request<Record<string, { status: ConnectorStatus }>>('GET', '/connectors?expand=status');
    placed = new Map();
    for (const [name, { status }] of Object.entries(all)) {
      for (const { state, worker_id } of status.tasks) if (state === 'RUNNING') placed.set(name, worker_id);
    }
    return placed.size === TASKS && new Set(placed.values()).size === workers;
  });
  return placed;
}

/** When the records of a topic were written, ms since the epoch, in order. */
async function recordTimes(servers: Servers, topic: string): Promise<number[]> {
  const broker = await connectBroker(servers.brokerSettings, quiet);
  try {
    const consumer = broker.consumer({ clientId: 'bench', groupId: null, isolation: 'read_committed' });
    const partition = { topic, partition: 0 };
    const [end] = await broker.admin().offsets([partition]);
    await consumer.assign([{ ...partition, from: 'beginning' }]);
    const times: number[] = [];
    while ((consumer.position(partition) ?? 0) < end!.latest) {
      for (const fetched of await consumer.poll(1_000)) {
        const records = await readRecords(fetched, 'read_committed');
        for (let i = 0; i < records.count; i++) times.push(records.timestamps[i]!);
      }
    }
    await consumer.close();
    return times.sort((a, b) => a - b);
  } finally {
    await broker.close();
  }
}

/** In [from, to), and the longest time without one. */
function during(times: readonly number[], from: number, to: number): { perSecond: number; silenceMs: number } {
  const inside = times.filter(time => time >= from && time < to);
  let silenceMs = 0;
  let before = from;
  for (const time of [...inside, to]) {
    silenceMs = Math.max(silenceMs, time - before);
    before = time;
  }
  return { perSecond: Math.round((inside.length / (to - from)) * 1000), silenceMs };
}

export async function rebalance(servers: Servers, _: Options, report: Report): Promise<void> {
  for (const support of ['disabled', 'enabled']) {
    const groupId = `bench-${support}-${process.pid}`;
    const settings = [...SETTINGS, `exactly.once.source.support=${support}`];
    const topicOf = (name: string): string => `${groupId}-${name}`;
    const first = await servers.startClusterWorker(groupId, settings);
    const second = await servers.startClusterWorker(groupId, settings);
    for (const name of names) {
      await first.createConnector(name, {
        'connector.class': 'millrace.DatagenSource',
        topic: topicOf(name),
        fields: 'id:long,name:string',
        'rows.per.second': String(ROWS_PER_SECOND),
      });
    }
    const before = await settled(first, 2);
    await delay(WARM_UP_MS);
    const beforeMs = Date.now();
    await delay(STEADY_MS);
    progress(`a third worker joins; exactly.once.source.support=${support}`);
    const joinMs = Date.now();
    const third = await servers.startClusterWorker(groupId, settings);
    const after = await settled(first, 3);
    const settledMs = Date.now();
    await delay(STEADY_MS);
    const endMs = Date.now();
    await Promise.all([first, second, third].map(worker => worker.stop()));
    const kept: number[] = [];
    const moved: number[] = [];
    for (const name of names) {
      const times = await recordTimes(servers, topicOf(name));
      const isMoved = before.get(name) !== after.get(name);
      const rebalancing = during(times, joinMs, settledMs);
      (isMoved ? moved : kept).push(rebalancing.silenceMs);
      report.figures(`exactly.once.source.support=${support}`, {
        task: `${name}-0`,
        moved: isMoved,
        before: during(times, beforeMs, joinMs).perSecond,
        during: rebalancing.perSecond,
        after: during(times, settledMs, endMs).perSecond,
        longestSilenceMs: rebalancing.silenceMs,
      });
    }
    report.figures(`exactly.once.source.support=${support}`, {
      seconds: (settledMs - joinMs) / 1000,
      tasksMoved: moved.length,
      silenceOfMovedMs: moved.length === 0 ? null : median(moved),
      silenceOfOthersMs: kept.length === 0 ? null : median(kept),
      longestSilenceOfOthersMs: kept.length === 0 ? null : Math.max(...kept),
    });
  }
}
