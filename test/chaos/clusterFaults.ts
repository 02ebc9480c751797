/**
 * Three workers on a Kafka of the run's own, sources exactly once, under faults at random: workers are killed, stopped in order, halted, cut off from the
 * brokers; the broker is killed. Where it is asked to, the cluster starts with exactly-once delivery in preparation and goes over to it while it works.
 * Afterwards each row is there once, in order per key, none is missing, no sink has lost a line, and at no time two workers ran the same task.
 */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterProcesses, topicValues } from '../e2e/clusterProcesses.ts';
import { OwnKafka } from '../runtime/broker/kafka/ownKafka.ts';
import { freePort } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import type { WorkerProcess } from '../services/workerProcess.ts';
import { CutProxy } from './cutProxy.ts';
import { DoubleRuns } from './doubleRuns.ts';
import { RowCheck, rowFields } from './rowCheck.ts';

export const faults = ['kill -9', 'SIGTERM', 'halt', 'network cut', 'broker killed'] as const;
export type Fault = (typeof faults)[number];

export interface ClusterFaultsOptions {
  /** The next fault; null = no more. */
  readonly next: (random: () => number) => Fault | null;
  readonly seed: number;
  readonly haltMs: number;
  /** scheduled.rebalance.max.delay.ms */
  readonly delayMs: number;
  /** Connectors with generated rows and three tasks each, of files with one, and sinks of rows with three. */
  readonly rows: number;
  readonly files: number;
  readonly sinks: number;
  /** Of a connector. */
  readonly rowsPerSecond: number;
  /** Whether the cluster goes over to exactly-once delivery first. */
  readonly goesOver: boolean;
  readonly report: (line: string) => void;
}

const WORKERS = 3;
const ROW_TASKS = 3;
const SINK_TASKS = 3;
/** How much longer things may take on a machine that has other work to do. */
const SLOWER = Number(process.env.SLOW_MACHINE ?? 1);
/** Of a fault, and of the last one. */
const RECOVERY_MS = 60_000 * SLOWER;
const LAST_RECOVERY_MS = 30_000 * SLOWER;
const SESSION_MS = Math.min(6_000 * SLOWER, 20_000);
const LINE_MS = 50;

const settings = ({ delayMs, goesOver }: ClusterFaultsOptions): string[] => [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'key.converter.schemas.enable=false',
  'value.converter.schemas.enable=false',
  'offset.flush.interval.ms=1000',
  'task.threads=1',
  `session.timeout.ms=${SESSION_MS}`,
  'heartbeat.interval.ms=1500',
  `scheduled.rebalance.max.delay.ms=${delayMs}`,
  `exactly.once.source.support=${goesOver ? 'preparing' : 'enabled'}`,
];

interface Happened {
  readonly fault: Fault;
  readonly at: string;
  readonly downMs: number;
  /** null = the next fault came before. */
  readonly recoveredMs: number | null;
}

export async function runClusterFaults(t: TestContext, options: ClusterFaultsOptions): Promise<void> {
  const run = await ClusterRun.start(t, options);
  const happened: Happened[] = [];
  const doubles = DoubleRuns.watch(run.workers);
  try {
    if (options.goesOver) await run.enableExactlyOnce();
    for (let fault = options.next(run.random); fault !== null; ) {
      const done = await run.inflict(fault);
      const next = options.next(run.random);
      // Now and then the next fault does not wait.
      const waits = next === null || run.random() < 0.75;
      const fromMs = Date.now();
      if (waits) await run.settled(next === null ? LAST_RECOVERY_MS : RECOVERY_MS);
      happened.push({ fault, ...done, recoveredMs: waits ? Date.now() - fromMs : null });
      options.report(line(happened.at(-1)!));
      fault = next;
    }
  } catch (error) {
    throw new Error(`${(error as Error).message}\nso far:\n${happened.map(line).join('\n')}\n${run.outputs()}`, {
      cause: error,
    });
  } finally {
    await doubles.stop();
  }
  for (const text of table(happened)) options.report(text);
  try {
    options.report(await run.check());
    assert.deepEqual(doubles.found, [], 'tasks ran on two workers');
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${run.outputs()}`, { cause: error });
  }
  assert.deepEqual(
    run.workers.flatMap(worker => worker.complaints),
    [],
  );
}

const line = ({ fault, at, downMs, recoveredMs }: Happened): string =>
  `${fault} of ${at}, ${downMs} ms: ${recoveredMs === null ? 'the next fault came at once' : `all runs ${recoveredMs} ms later`}`;

function table(happened: readonly Happened[]): string[] {
  const lines = ['fault | times | recovered after, ms: median | longest', '--- | --- | --- | ---'];
  for (const fault of faults) {
    const of = happened.filter(one => one.fault === fault);
    const times = of.flatMap(({ recoveredMs }) => recoveredMs ?? []).sort((a, b) => a - b);
    if (of.length > 0)
      lines.push(`${fault} | ${of.length} | ${times[times.length >> 1] ?? '-'} | ${times.at(-1) ?? '-'}`);
  }
  return lines;
}

class ClusterRun {
  readonly random: () => number;
  readonly #options: ClusterFaultsOptions;
  readonly #cluster: ClusterProcesses;
  readonly #kafka: OwnKafka;
  readonly #proxies: readonly CutProxy[];
  readonly #dir: string;
  readonly #lines: number[];
  readonly #writing: NodeJS.Timeout;

  private constructor(
    options: ClusterFaultsOptions,
    cluster: ClusterProcesses,
    kafka: OwnKafka,
    proxies: readonly CutProxy[],
    dir: string,
  ) {
    this.#options = options;
    this.#cluster = cluster;
    this.#kafka = kafka;
    this.#proxies = proxies;
    this.#dir = dir;
    this.random = seeded(options.seed);
    this.#lines = Array.from({ length: options.files }, () => 0);
    this.#writing = setInterval(() => this.#writeLines(), LINE_MS);
  }

  /** Each worker has a way of its own to the broker, which can be cut. */
  static async start(t: TestContext, options: ClusterFaultsOptions): Promise<ClusterRun> {
    const port = await freePort();
    const inner = await Promise.all(Array.from({ length: WORKERS }, freePort));
    const outer = await Promise.all(Array.from({ length: WORKERS }, freePort));
    const own = (ports: readonly number[]): string => ports.map((p, i) => `,W${i}://127.0.0.1:${p}`).join('');
    const kafka = new OwnKafka(port, {
      KAFKA_EXTRA: [
        `listeners=PLAINTEXT://127.0.0.1:${port}${own(inner)},CONTROLLER://127.0.0.1:${port + 1}`,
        `advertised.listeners=PLAINTEXT://127.0.0.1:${port}${own(outer)}`,
        `listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT${inner.map((_, i) => `,W${i}:PLAINTEXT`).join('')}`,
      ].join('\n'),
    });
    // First come, first served at the end: the workers stop before what they stand on.
    const cluster = ClusterProcesses.create(t, settings(options), kafka.bootstrap);
    const proxies = await Promise.all(outer.map((from, i) => CutProxy.listen(from, inner[i]!)));
    t.after(() => Promise.all(proxies.map(proxy => proxy.close())));
    t.after(() => kafka.clean());
    const dir = await mkdtemp(join(tmpdir(), 'millrace-faults-'));
    await kafka.start();
    await Promise.all(proxies.map(proxy => cluster.addWorker(`127.0.0.1:${proxy.port}`)));
    const run = new ClusterRun(options, cluster, kafka, proxies, dir);
    t.after(async () => {
      clearInterval(run.#writing);
      await rm(dir, { recursive: true, force: true });
    });
    await run.#createConnectors();
    await run.settled(RECOVERY_MS);
    return run;
  }

  get workers(): readonly WorkerProcess[] {
    return this.#cluster.workers;
  }

  /** All parts run, on all workers, as one of them says. */
  async settled(timeoutMs: number): Promise<void> {
    const { rows, files, sinks } = this.#options;
    const parts = rows * (1 + ROW_TASKS) + files * 2 + sinks * (1 + SINK_TASKS);
    await this.#cluster.settled(this.#any(), parts, this.workers, timeoutMs);
  }

  /** One worker after the other, while all goes on. */
  async enableExactlyOnce(): Promise<void> {
    for (const worker of this.workers) {
      await worker.stop();
      await worker.restart(['--set', 'exactly.once.source.support=enabled']);
      await this.settled(RECOVERY_MS);
    }
  }

  async inflict(fault: Fault): Promise<{ at: string; downMs: number }> {
    const { haltMs, delayMs } = this.#options;
    const index = Math.floor(this.random() * WORKERS);
    const worker = this.workers[index]!;
    const downMs = Math.floor(this.random() * 2 * delayMs);
    switch (fault) {
      case 'kill -9':
      case 'SIGTERM':
        await (fault === 'SIGTERM' ? worker.stop() : worker.kill());
        await delay(downMs);
        await worker.restart();
        return { at: worker.url, downMs };
      case 'halt':
        process.kill(worker.pid, 'SIGSTOP');
        await delay(haltMs);
        process.kill(worker.pid, 'SIGCONT');
        return { at: worker.url, downMs: haltMs };
      case 'network cut': {
        const cutMs = Math.floor(haltMs * (0.25 + this.random()));
        this.#proxies[index]!.cut();
        await delay(cutMs);
        this.#proxies[index]!.mend();
        return { at: worker.url, downMs: cutMs };
      }
      case 'broker killed':
        await this.#kafka.kill();
        await delay(downMs);
        // Somebody may have its port for a moment.
        await this.#kafka.start().catch(() => this.#kafka.start());
        await this.#abortHangingTransactions();
        return { at: this.#kafka.bootstrap, downMs };
    }
  }

  /**
   * A broker that is alone in its cluster (Kafka 4.3.1) may end transactions at its start without telling their partitions, while these have no leader yet
   * ("Couldn't find leader endpoint … can be skipped"): they would never end there, and hold back whoever reads.
   */
  async #abortHangingTransactions(): Promise<void> {
    const program = join(import.meta.dirname, '../services/AbortHangingTransactions.java');
    const aborted = (await this.#kafka.tool(program, this.#kafka.bootstrap)).trim();
    if (aborted !== '') this.#options.report(`transactions without an end, aborted: ${aborted.replaceAll('\n', ', ')}`);
  }

  /** Stops the sources and looks at all there is. */
  async check(): Promise<string> {
    clearInterval(this.#writing);
    const asked = this.workers[0]!;
    let rows = 0;
    for (const name of names('rows', this.#options.rows)) {
      await asked.request('PUT', `/connectors/${name}/stop`);
      await waitUntil('the tasks have ended', RECOVERY_MS, async () => (await asked.status(name)).tasks.length === 0);
      const { offsets } = await asked.request<{
        offsets: { partition: { task: number }; offset: { row: number } }[];
      }>('GET', `/connectors/${name}/offsets`);
      const check = new RowCheck(name, ROW_TASKS);
      for (const value of await topicValues(this.#topic(name), this.#kafka.bootstrap)) check.add(value);
      assert.deepEqual(check.finish(new Map(offsets.map(o => [o.partition.task, o.offset.row]))), []);
      rows += check.rows;
    }
    let lines = 0;
    for (const [i, name] of names('lines', this.#options.files).entries()) {
      const wanted = Array.from({ length: this.#lines[i]! }, (_, n) => `${name} ${n}`);
      let values: string[] = [];
      await waitUntil(`the lines of ${name} are in the topic`, RECOVERY_MS, async () => {
        values = await topicValues(this.#topic(name), this.#kafka.bootstrap);
        return values.length >= wanted.length;
      }).catch(error => {
        throw new Error(`${error.message}: ${values.length} of ${wanted.length}, the last is ${values.at(-1)}`);
      });
      assert.deepEqual(values, wanted);
      lines += wanted.length;
    }
    for (const [i, name] of names('sink', this.#options.sinks).entries()) {
      const values = await topicValues(this.#topic(`rows-${i}`), this.#kafka.bootstrap);
      let missing: string[] = [];
      await waitUntil(`${name} has written all`, RECOVERY_MS, async () => {
        const written = new Set(readFileSync(join(this.#dir, name), 'utf8').split('\n'));
        missing = values.filter(value => !written.has(value));
        return missing.length === 0;
      }).catch(error => {
        throw new Error(`${error.message}; ${missing.length} of ${values.length} are missing: ${missing.slice(0, 5)}`);
      });
    }
    assert.ok(rows > 1_000 && lines > 10, `only ${rows} rows and ${lines} lines`);
    return `${rows} rows and ${lines} lines, each once, in order, none missing; ${this.#options.sinks} sinks have all`;
  }

  outputs(): string {
    return this.workers.map(({ url, output }) => `--- ${url}\n${output.slice(-12_000)}`).join('\n');
  }

  #any(): WorkerProcess {
    return this.workers[Math.floor(this.random() * WORKERS)]!;
  }

  #topic(name: string): string {
    return `${this.#cluster.groupId}-${name}`;
  }

  async #createConnectors(): Promise<void> {
    for (const name of names('rows', this.#options.rows)) {
      await this.#any().createConnector(name, {
        'connector.class': 'millrace.DatagenSource',
        topic: this.#topic(name),
        fields: rowFields,
        keys: '40',
        'rows.per.second': String(this.#options.rowsPerSecond),
        'tasks.max': String(ROW_TASKS),
        'topic.creation.default.partitions': '3',
        'topic.creation.default.replication.factor': '1',
      });
    }
    for (const name of names('lines', this.#options.files)) {
      const file = join(this.#dir, name);
      await this.#any().createConnector(name, {
        'connector.class': 'FileStreamSource',
        file,
        topic: this.#topic(name),
        'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
        // With a topic of its own for its offsets.
        'offsets.storage.topic': this.#topic('own-offsets'),
      });
    }
    for (const [i, name] of names('sink', this.#options.sinks).entries()) {
      await this.#any().createConnector(name, {
        'connector.class': 'FileStreamSink',
        topics: this.#topic(`rows-${i}`),
        file: join(this.#dir, name),
        'tasks.max': String(SINK_TASKS),
        'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
        'consumer.override.isolation.level': 'read_committed',
        'consumer.override.session.timeout.ms': String(SESSION_MS),
      });
    }
  }

  #writeLines(): void {
    for (const [i, name] of names('lines', this.#options.files).entries()) {
      appendFileSync(join(this.#dir, name), `${name} ${this.#lines[i]!++}\n`);
    }
  }
}

const names = (kind: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${kind}-${i}`);

/** Mulberry32. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let h = Math.imul(state ^ (state >>> 15), state | 1);
    h ^= h + Math.imul(h ^ (h >>> 7), h | 61);
    return ((h ^ (h >>> 14)) >>> 0) / 4_294_967_296;
  };
}
