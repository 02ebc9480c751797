/** The worker of the demo: `millrace standalone` as a process of its own, spoken to over REST as any user would. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { freePort } from '../services/localPostgres.ts';

const CLI = join(import.meta.dirname, '../../dist/runtime/cli/main.js');
const SERVICES = join(import.meta.dirname, '../services');
const START_TIMEOUT_MS = 30_000;

interface Status {
  readonly name: string;
  readonly connector: { readonly state: string; readonly trace?: string };
  readonly tasks: readonly { readonly id: number; readonly state: string; readonly trace?: string }[];
}

export class DemoWorker {
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #dataDir: string;
  readonly #kafka: Servers | null;
  #output = '';

  private constructor(url: string, child: ChildProcess, dataDir: string, kafka: Servers | null) {
    this.url = url;
    this.#process = child;
    this.#dataDir = dataDir;
    this.#kafka = kafka;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-20_000);
      });
    }
  }

  static async start(kafka: boolean): Promise<DemoWorker> {
    const dataDir = await mkdtemp(join(tmpdir(), 'millrace-demo-'));
    const servers = kafka ? await Servers.start() : null;
    const listen = `127.0.0.1:${await freePort()}`;
    const args = [CLI, 'standalone', '--data-dir', dataDir, '--listen', listen, ...(servers?.flags() ?? [])];
    // a process group of its own: Ctrl-C reaches the demo first, which stops the worker in order
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const worker = new DemoWorker(`http://${listen}`, child, dataDir, servers);
    try {
      await worker.#ready();
    } catch (error) {
      await worker.stop();
      throw error;
    }
    return worker;
  }

  async #ready(): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (Date.now() < deadline) {
      if (this.#process.exitCode !== null) break;
      const answer = await fetch(`${this.url}/health`).catch(() => null);
      if (answer?.ok) return;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    throw new Error(`the worker did not start:\n${this.#output}`);
  }

  async createConnectors(postgresPort: number): Promise<void> {
    await this.#create('shop-source', {
      'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
      'database.hostname': '127.0.0.1',
      'database.port': String(postgresPort),
      'database.user': 'postgres',
      'database.password': 'postgres',
      'database.dbname': 'shop',
      'topic.prefix': 'shop',
      'plugin.name': 'pgoutput',
      'table.include.list': 'public\\..*',
    });
    await this.#create('copy-sink', {
      'connector.class': 'millrace.PostgresSink',
      'topics.regex': 'shop\\.public\\..*',
      'connection.url': `postgres://postgres:postgres@127.0.0.1:${postgresPort}/copy`,
      'table.name.format': '${source.table}',
      'insert.mode': 'upsert',
      'pk.mode': 'record_key',
      'delete.enabled': 'true',
      'auto.create': 'true',
      'auto.evolve': 'true',
      'consumer.override.metadata.max.age.ms': '1000',
    });
  }

  async #create(name: string, config: Record<string, string>): Promise<void> {
    const answer = await fetch(`${this.url}/connectors`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, config }),
    });
    if (answer.status !== 201) throw new Error(`POST /connectors ${name}: ${answer.status} ${await answer.text()}`);
  }

  /** Throws where a connector or task failed, or the worker ended. */
  async check(): Promise<void> {
    if (this.#process.exitCode !== null) throw new Error(`the worker ended:\n${this.#output}`);
    const all = (await (await fetch(`${this.url}/connectors?expand=status`)).json()) as Record<
      string,
      { status?: Status }
    >;
    for (const { status } of Object.values(all)) {
      for (const part of [status?.connector, ...(status?.tasks ?? [])]) {
        if (part?.state === 'FAILED') throw new Error(`${status?.name} failed:\n${part.trace}`);
      }
    }
  }

  /** Records written by the source and sent to the sink so far, from the worker's metrics. */
  async counts(): Promise<{ published: number; applied: number }> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const sum = (metric: string): number =>
      [...text.matchAll(new RegExp(`^${metric}\\{[^}]*\\} (\\S+)$`, 'gm'))].reduce(
        (total, m) => total + Number(m[1]),
        0,
      );
    return {
      published: sum('kafka_connect_source_task_source_record_write_total'),
      applied: sum('kafka_connect_sink_task_sink_record_send_total'),
    };
  }

  tailCommand(topic: string): string {
    const where = this.#kafka ? this.#kafka.flags() : ['--data-dir', this.#dataDir];
    return ['node', relative(process.cwd(), CLI), 'topics', 'tail', topic, ...where].join(' ');
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit');
      this.#process.kill('SIGTERM');
      await ended;
    }
    await this.#kafka?.stop();
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

/** A real Kafka and registry on free ports, with data that goes at the end; the programs stay in .services for the next time. */
class Servers {
  readonly #kafkaPort: number;
  readonly #registryPort: number;

  private constructor(kafkaPort: number, registryPort: number) {
    this.#kafkaPort = kafkaPort;
    this.#registryPort = registryPort;
  }

  static async start(): Promise<Servers> {
    const servers = new Servers(await freePort(), await freePort());
    await servers.#script('kafka.sh', 'start');
    await servers.#script('schema-registry.sh', 'start');
    return servers;
  }

  async #script(script: string, verb: string): Promise<void> {
    const env = { ...process.env, KAFKA_PORT: String(this.#kafkaPort), REGISTRY_PORT: String(this.#registryPort) };
    // the servers live on: their output goes to files of their own, so that nothing waits for it
    const child = spawn('bash', [join(SERVICES, script), verb], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`${script} ${verb} failed`);
  }

  flags(): string[] {
    return [
      '--bootstrap-servers',
      `127.0.0.1:${this.#kafkaPort}`,
      '--schema-registry',
      `http://127.0.0.1:${this.#registryPort}/apis/ccompat/v7`,
    ];
  }

  async stop(): Promise<void> {
    await this.#script('schema-registry.sh', 'clean');
    await this.#script('kafka.sh', 'clean');
  }
}
