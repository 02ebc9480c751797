/**
 * The demo: a real PostgreSQL or MySQL with a shop and a live workload on it; a worker that publishes the shop's changes as Avro events and applies
 * them to a second database; one status line. `--for SECONDS` ends by itself, comparing the databases; `--kafka` uses a real Kafka and registry.
 */
import { parseArgs } from 'node:util';
import type { DemoShop } from './demoShop.ts';
import { DemoWorker } from './demoWorker.ts';
import { MysqlShop } from './mysqlShop.ts';
import { PostgresShop } from './postgresShop.ts';

const HELP = `npm run demo -- [--for SECONDS] [--from postgres|mysql] [--mysql-url URL] [--kafka] [--rate N]

  --for SECONDS  stop the workload after SECONDS, wait until all is applied, compare the two databases, exit 0 if they are equal
  --from mysql   the shop is in MySQL, which is fetched and started (Debian-like Linux only), instead of PostgreSQL
  --mysql-url U  the shop is in that MySQL, such as mysql://root:secret@127.0.0.1:3306; two databases, millrace_demo_shop and _copy, are made and removed
  --kafka        a real local Kafka and schema registry instead of the embedded ones (needs Java 17 and Maven)
  --rate N       transactions per second of the workload (default 200)
`;

const { values: options } = parseArgs({
  options: {
    for: { type: 'string' },
    from: { type: 'string' },
    'mysql-url': { type: 'string' },
    kafka: { type: 'boolean', default: false },
    rate: { type: 'string', default: '200' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const forSeconds = options.for === undefined ? null : Number(options.for);
if (forSeconds !== null && !(forSeconds > 0)) {
  process.stderr.write(`--for takes a number of seconds above 0, not "${options.for}"\n`);
  process.exit(2);
}

const mysqlUrl = options['mysql-url'] ?? null;
const from = options.from ?? (mysqlUrl === null ? 'postgres' : 'mysql');
if ((from !== 'postgres' && from !== 'mysql') || (from === 'postgres' && mysqlUrl !== null)) {
  process.stderr.write(`--from takes postgres or mysql, and --mysql-url goes with mysql only\n`);
  process.exit(2);
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

const cleanups: (() => Promise<void>)[] = [];
let exitCode = 1;
try {
  exitCode = await demo();
} catch (error) {
  if (!stop.signal.aborted)
    process.stderr.write(`\ndemo: ${error instanceof Error ? (error.stack ?? error.message) : error}\n`);
} finally {
  say('Stopping…');
  for (const cleanup of cleanups.reverse()) await cleanup();
}
process.exit(exitCode);

async function startShop(): Promise<DemoShop> {
  if (from === 'postgres') {
    say('Starting PostgreSQL with two databases, shop and copy…');
    return PostgresShop.start();
  }
  say(
    mysqlUrl === null
      ? 'Starting MySQL with two databases…'
      : `Making two databases in the MySQL at ${new URL(mysqlUrl).host}…`,
  );
  return MysqlShop.start(mysqlUrl);
}

async function demo(): Promise<number> {
  const shop = await startShop();
  cleanups.push(() => shop.stop());

  say(
    options.kafka
      ? 'Starting Kafka, the schema registry and the worker…'
      : 'Starting the worker with its embedded broker and registry…',
  );
  const worker = await DemoWorker.start(options.kafka);
  cleanups.push(() => worker.stop());

  say('Creating the two connectors…');
  await worker.createConnectors(shop);
  say(`
  Status page   ${worker.url}/
  Connectors    ${worker.url}/connectors?expand=status&expand=info
  Metrics       ${worker.url}/metrics
  API           ${worker.url}/openapi.json
  Shop          ${shop.sourceUrl}
  Copy          ${shop.copyUrl}
  Events        ${worker.tailCommand(shop.topic)}
`);

  const endOfWorkload = new AbortController();
  const running = shop.runWorkload(AbortSignal.any([endOfWorkload.signal, stop.signal]), Number(options.rate));
  const started = Date.now();
  const status = async (): Promise<void> => {
    const { published, applied } = await worker.counts();
    const lag = shop.lag.percentiles();
    const line = `${Math.round((Date.now() - started) / 1000)} s: ${shop.changes} changes made, ${published} events published, ${applied} rows applied, lag p50 ${lag.p50Ms} ms p99 ${lag.p99Ms} ms`;
    process.stdout.write(process.stdout.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  };
  const over = (): boolean => stop.signal.aborted || (forSeconds !== null && Date.now() - started >= forSeconds * 1000);
  while (!over()) {
    await Promise.race([running, pause(process.stdout.isTTY ? 500 : 2000)]);
    await worker.check();
    await status();
  }
  endOfWorkload.abort();
  await running;
  if (process.stdout.isTTY) say('');
  if (forSeconds === null || stop.signal.aborted) return 0;

  say('Workload stopped; waiting until all is applied…');
  let compared = await shop.compare();
  for (let tries = 0; compared.differences > 0 && tries < 120 && !stop.signal.aborted; tries++) {
    await pause(500);
    await worker.check();
    compared = await shop.compare();
  }
  for (const example of compared.examples) say(`  differs: ${example}`);
  const { published } = await worker.counts();
  const lag = shop.lag.percentiles();
  say(
    `demo: ${shop.changes} changes, ${published} events, ${compared.rows} rows compared, ${compared.differences} differences, lag p50 ${lag.p50Ms} ms p99 ${lag.p99Ms} ms`,
  );
  return compared.differences === 0 && shop.changes > 1000 ? 0 : 1;
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      clearTimeout(timer);
      stop.signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    stop.signal.addEventListener('abort', done, { once: true });
  });
}
