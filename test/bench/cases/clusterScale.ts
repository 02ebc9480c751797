/** 500 connectors with 1,000 idle tasks on two workers: how long they take to start, what they hold of memory, how fast REST lists them, how long a rebalance takes. */
import { waitUntil } from '../../services/waitUntil.ts';
import type { ConnectorStatus, WorkerProcess } from '../../services/workerProcess.ts';
import type { Options } from '../options.ts';
import { rssMiB } from '../processMeter.ts';
import { median, progress, type Report } from '../report.ts';
import type { Servers } from '../servers.ts';

const CONNECTORS = 500;
const TASKS_EACH = 2;
const PARTS = CONNECTORS * (1 + TASKS_EACH);
const SETTLE_MS = 600_000;
const LISTS = 20;
/** Connectors that are created at a time. */
const AT_A_TIME = 10;

const SETTINGS = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'log.level=warn',
];

type Listing = Record<string, { status: ConnectorStatus }>;

/** Resolves when all parts run on as many workers. */
async function settled(asked: WorkerProcess, workers: number): Promise<number> {
  const startMs = performance.now();
  await waitUntil(
    `${PARTS} parts run on ${workers} workers`,
    SETTLE_MS,
    async () => {
      const listing = await asked.request<Listing>('GET', '/connectors?expand=status').catch(() => ({}) as Listing);
      const parts = Object.values(listing).flatMap(({ status }) => [status.connector, ...status.tasks]);
      const running = parts.filter(part => part.state === 'RUNNING');
      progress(`${running.length} of ${PARTS} run`);
      return running.length === PARTS && new Set(running.map(part => part.worker_id)).size === workers;
    },
    500,
  );
  return performance.now() - startMs;
}

async function listMs(worker: WorkerProcess, path: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < LISTS; i++) {
    const start = performance.now();
    await worker.request('GET', path);
    times.push(performance.now() - start);
  }
  return Math.round(median(times));
}

const memory = (workers: readonly WorkerProcess[]): number =>
  workers.reduce((sum, worker) => sum + rssMiB(worker.pid), 0);

export async function clusterScale(servers: Servers, _: Options, report: Report): Promise<void> {
  const groupId = `bench-scale-${process.pid}`;
  const workers = [
    await servers.startClusterWorker(groupId, SETTINGS),
    await servers.startClusterWorker(groupId, SETTINGS),
  ];
  const [first, second] = workers as [WorkerProcess, WorkerProcess];
  const emptyMiB = memory(workers);
  const createMs = performance.now();
  for (let i = 0; i < CONNECTORS; i += AT_A_TIME) {
    const some = Array.from({ length: Math.min(AT_A_TIME, CONNECTORS - i) }, (_unused, j) => `idle-${i + j}`);
    await Promise.all(
      some.map(name =>
        first.createConnector(name, {
          'connector.class': 'millrace.DatagenSource',
          topic: `${groupId}-idle`,
          iterations: '0',
          'tasks.max': String(TASKS_EACH),
        }),
      ),
    );
  }
  const createdMs = performance.now();
  await settled(second, 2);
  const runningMs = performance.now();
  const fullMiB = memory(workers);
  report.figures('creation', {
    connectors: CONNECTORS,
    tasks: CONNECTORS * TASKS_EACH,
    secondsToCreate: Math.round(createdMs - createMs) / 1000,
    secondsUntilAllRun: Math.round(runningMs - createMs) / 1000,
  });
  report.figures('memory', {
    emptyMiB: Math.round(emptyMiB),
    fullMiB: Math.round(fullMiB),
    kibPerTask: Math.round(((fullMiB - emptyMiB) * 1024) / (CONNECTORS * TASKS_EACH)),
  });
  report.figures('list', {
    namesMs: await listMs(second, '/connectors'),
    statusMs: await listMs(second, '/connectors?expand=status'),
    statusAndInfoMs: await listMs(second, '/connectors?expand=status&expand=info'),
  });

  progress('a third worker joins');
  const joinMs = performance.now();
  const third = await servers.startClusterWorker(groupId, SETTINGS);
  await settled(first, 3);
  report.figures('join of a third worker', { secondsUntilAllRun: Math.round(performance.now() - joinMs) / 1000 });
  progress('it leaves');
  const leaveMs = performance.now();
  await third.stop();
  await settled(first, 2);
  report.figures('leave of a third worker', { secondsUntilAllRun: Math.round(performance.now() - leaveMs) / 1000 });

  progress('both start again');
  await Promise.all(workers.map(worker => worker.stop()));
  const restartMs = performance.now();
  await Promise.all(workers.map(worker => worker.restart()));
  await settled(first, 2);
  report.figures('start', { secondsUntilAllRun: Math.round(performance.now() - restartMs) / 1000 });
}
