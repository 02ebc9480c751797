/**
 * The demo: a real PostgreSQL with a shop and a live workload on it; a worker that publishes the shop's changes as Avro events and applies
 * them to a second database; one status line. `--for SECONDS` ends by itself, comparing the databases; `--kafka` uses a real Kafka and registry.
 */
import { parseArgs } from 'node:util';
import pg from 'pg';
import { LocalPostgres } from '../services/localPostgres.ts';
import { compareTables } from './compareTables.ts';
import { DemoWorker } from './demoWorker.ts';
import { LagProbe } from './lagProbe.ts';
import { createShop, SHOP_TABLES, ShopWorkload, TARGET_SCHEMA } from './shop.ts';

const HELP = `npm run demo -- [--for SECONDS] [--kafka] [--rate N]

  --for SECONDS  stop the workload after SECONDS, wait until all is applied, compare the two databases, exit 0 if they are equal
  --kafka        a real local Kafka and schema registry instead of the embedded ones (needs Java 17 and Maven)
  --rate N       transactions per second of the workload (default 200)
`;

const { values: options } = parseArgs({
  options: {
    for: { type: 'string' },
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

async function demo(): Promise<number> {
  say('Starting PostgreSQL with two databases, shop and copy…');
  const postgres = await LocalPostgres.start({ fsync: 'off' });
  cleanups.push(() => postgres.stop());
  const shopUrl = postgres.url('shop');
  const copyUrl = postgres.url('copy');
  await query(postgres.url('postgres'), 'CREATE DATABASE shop');
  await query(postgres.url('postgres'), 'CREATE DATABASE copy');
  await createShop(shopUrl);
  await query(copyUrl, TARGET_SCHEMA);

  say(
    options.kafka
      ? 'Starting Kafka, the schema registry and the worker…'
      : 'Starting the worker with its embedded broker and registry…',
  );
  const worker = await DemoWorker.start(options.kafka);
  cleanups.push(() => worker.stop());
  const probe = await LagProbe.start(copyUrl);
  cleanups.push(() => probe.stop());

  say('Creating the two connectors…');
  await worker.createConnectors(postgres.port);
  say(`
  Status page   ${worker.url}/
  Connectors    ${worker.url}/connectors?expand=status&expand=info
  Metrics       ${worker.url}/metrics
  API           ${worker.url}/openapi.json
  Shop          ${shopUrl}
  Copy          ${copyUrl}
  Events        ${worker.tailCommand('shop.public.orders')}
`);

  const workload = new ShopWorkload(shopUrl);
  const endOfWorkload = new AbortController();
  const running = workload.run(AbortSignal.any([endOfWorkload.signal, stop.signal]), Number(options.rate));
  const started = Date.now();
  const status = async (): Promise<void> => {
    const { published, applied } = await worker.counts();
    const lag = probe.lag();
    const line = `${Math.round((Date.now() - started) / 1000)} s: ${workload.changes} changes made, ${published} events published, ${applied} rows applied, lag p50 ${lag.p50Ms} ms p99 ${lag.p99Ms} ms`;
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
  let compared = await compareTables(shopUrl, copyUrl, SHOP_TABLES);
  for (let tries = 0; compared.differences > 0 && tries < 120 && !stop.signal.aborted; tries++) {
    await pause(500);
    await worker.check();
    compared = await compareTables(shopUrl, copyUrl, SHOP_TABLES);
  }
  for (const example of compared.examples) say(`  differs: ${example}`);
  const { published } = await worker.counts();
  const lag = probe.lag();
  say(
    `demo: ${workload.changes} changes, ${published} events, ${compared.rows} rows compared, ${compared.differences} differences, lag p50 ${lag.p50Ms} ms p99 ${lag.p99Ms} ms`,
  );
  return compared.differences === 0 && workload.changes > 1000 ? 0 : 1;
}

async function query(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
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
