/**
 * 500 connectors on two workers: how long they take to start, what they hold of memory, how fast REST lists them, how long a rebalance takes. By itself with two
 * idle tasks each. With --peer idle FileStream sources, which have one, here and on workers of Kafka Connect.
 */
import { waitUntil } from '../../services/waitUntil.ts';
import type { ConnectorStatus } from '../../services/workerProcess.ts';
import type { Options } from '../options.ts';
import { rssMiB } from '../processMeter.ts';
import { median, progress, type Report } from '../report.ts';
import type { Servers } from '../servers.ts';

/** Of either kind. */
export interface ClusterWorker {
  readonly url: string;
  pid(): Promise<number>;
  stop(): Promise<void>;
  restart(): Promise<void>;
}

interface Cluster {
  readonly system: string;
  readonly addWorker: () => Promise<ClusterWorker>;
  readonly tasksEach: number;
  readonly config: (name: string) => Readonly<Record<string, string>>;
}

const CONNECTORS = 500;
const SETTLE_MS = 600_000;
const LISTS = 20;
/** Connectors that are created at a time. */
const AT_A_TIME = 10;
const CONFLICT = 409;
const RETRY_MS = 200;
const CONFLICTS = 300;

const SETTINGS = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'log.level=warn',
];

async function request<T>({ url }: ClusterWorker, method: string, path: string, body?: object): Promise<T> {
  const json = body === undefined ? {} : { headers: { 'content-type': 'application/json' } };
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(url + path, { method, ...json, body: body && JSON.stringify(body) });
    const text = await answer.text();
    if (answer.ok) return JSON.parse(text) as T;
    // A rebalance is under way.
    if (answer.status !== CONFLICT || attempt === CONFLICTS)
      throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    await new Promise(resolve => setTimeout(resolve, RETRY_MS));
  }
}

/** Resolves when all parts run on as many workers. */
async function settled(asked: ClusterWorker, parts: number, workers: number): Promise<void> {
  type Listing = Record<string, { status: ConnectorStatus }>;
  await waitUntil(
    `${parts} parts run on ${workers} workers`,
    SETTLE_MS,
    async () => {
      const listing = await request<Listing>(asked, 'GET', '/connectors?expand=status').catch(() => ({}) as Listing);
      const all = Object.values(listing).flatMap(({ status }) => [status.connector, ...status.tasks]);
      const running = all.filter(part => part.state === 'RUNNING');
      progress(`${running.length} of ${parts} run`);
      return running.length === parts && new Set(running.map(part => part.worker_id)).size === workers;
    },
    500,
  );
}

async function listMs(worker: ClusterWorker, path: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < LISTS; i++) {
    const start = performance.now();
    await request(worker, 'GET', path);
    times.push(performance.now() - start);
  }
  return Math.round(median(times));
}

async function memoryMiB(workers: readonly ClusterWorker[]): Promise<number> {
  const pids = await Promise.all(workers.map(worker => worker.pid()));
  return pids.reduce((sum, pid) => sum + rssMiB(pid), 0);
}

async function scale({ system, addWorker, tasksEach, config }: Cluster, report: Report): Promise<void> {
  const tasks = CONNECTORS * tasksEach;
  const parts = CONNECTORS + tasks;
  const figures = (measurement: string, values: Readonly<Record<string, number>>): void =>
    report.figures(measurement, { system, connectors: CONNECTORS, tasks, ...values });
  const secondsSince = (startMs: number): number => Math.round(performance.now() - startMs) / 1000;
  const workers = [await addWorker(), await addWorker()] as const;
  const [first, second] = workers;
  const emptyMiB = await memoryMiB(workers);
  progress(`${system}: creating ${CONNECTORS} connectors`);
  const createMs = performance.now();
  for (let i = 0; i < CONNECTORS; i += AT_A_TIME) {
    const some = Array.from({ length: Math.min(AT_A_TIME, CONNECTORS - i) }, (_, j) => `idle-${i + j}`);
    await Promise.all(
      some.map(name => request(first, 'POST', '/connectors', { name, config: { name, ...config(name) } })),
    );
  }
  const secondsToCreate = secondsSince(createMs);
  await settled(second, parts, 2);
  figures('creation', { secondsToCreate, secondsUntilAllRun: secondsSince(createMs) });
  const fullMiB = await memoryMiB(workers);
  figures('memory', {
    emptyMiB: Math.round(emptyMiB),
    fullMiB: Math.round(fullMiB),
    kibPerTask: Math.round(((fullMiB - emptyMiB) * 1024) / tasks),
  });
  figures('list', {
    namesMs: await listMs(second, '/connectors'),
    statusMs: await listMs(second, '/connectors?expand=status'),
    statusAndInfoMs: await listMs(second, '/connectors?expand=status&expand=info'),
  });

  progress('a third worker joins');
  const joinMs = performance.now();
  const third = await addWorker();
  await settled(first, parts, 3);
  figures('join of a third worker', { secondsUntilAllRun: secondsSince(joinMs) });
  progress('it leaves');
  const leaveMs = performance.now();
  await third.stop();
  await settled(first, parts, 2);
  figures('leave of a third worker', { secondsUntilAllRun: secondsSince(leaveMs) });

  progress('both start again');
  await Promise.all(workers.map(worker => worker.stop()));
  const restartMs = performance.now();
  await Promise.all(workers.map(worker => worker.restart()));
  await settled(first, parts, 2);
  figures('start', { secondsUntilAllRun: secondsSince(restartMs) });
  await Promise.all(workers.map(worker => worker.stop()));
}

export async function clusterScale(servers: Servers, { peer }: Options, report: Report): Promise<void> {
  const groupOf = (system: string): string => `bench-scale-${system}-${process.pid}`;
  const ours = async (): Promise<ClusterWorker> => {
    const worker = await servers.startClusterWorker(groupOf('millrace'), SETTINGS);
    return {
      url: worker.url,
      pid: async () => worker.pid,
      stop: () => worker.stop(),
      restart: () => worker.restart(),
    };
  };
  if (!peer) {
    const config = {
      'connector.class': 'millrace.DatagenSource',
      topic: `${groupOf('millrace')}-idle`,
      iterations: '0',
    };
    await scale(
      { system: 'millrace', addWorker: ours, tasksEach: 2, config: () => ({ ...config, 'tasks.max': '2' }) },
      report,
    );
    return;
  }
  const config = (name: string): Record<string, string> => ({
    'connector.class': 'org.apache.kafka.connect.file.FileStreamSourceConnector',
    file: `/nonexistent/${name}`,
    topic: 'idle',
  });
  await scale({ system: 'millrace', addWorker: ours, tasksEach: 1, config }, report);
  const theirs = (): Promise<ClusterWorker> => servers.startPeerClusterWorker(groupOf('kafka-connect'));
  await scale({ system: 'kafka-connect', addWorker: theirs, tasksEach: 1, config }, report);
}
