/** The worker of the demo, its two connectors and what its status line needs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { LocalKafka } from '../services/localKafka.ts';
import { CLI, WorkerProcess } from '../services/workerProcess.ts';
import type { DemoShop } from './demoShop.ts';

export class DemoWorker {
  readonly #worker: WorkerProcess;
  readonly #where: readonly string[];
  readonly #cleanups: readonly (() => Promise<void>)[];

  private constructor(worker: WorkerProcess, where: readonly string[], cleanups: readonly (() => Promise<void>)[]) {
    this.#worker = worker;
    this.#where = where;
    this.#cleanups = cleanups;
  }

  /** With a real Kafka and registry, or with the embedded ones in a temporary folder. */
  static async start(kafka: boolean): Promise<DemoWorker> {
    if (kafka) {
      const servers = await LocalKafka.start();
      const where = ['--bootstrap-servers', servers.bootstrapServers, '--schema-registry', servers.registryUrl];
      return DemoWorker.#run(where, () => servers.stop());
    }
    const dataDir = await mkdtemp(join(tmpdir(), 'millrace-demo-'));
    return DemoWorker.#run(['--data-dir', dataDir], () => rm(dataDir, { recursive: true, force: true }));
  }

  static async #run(where: readonly string[], cleanup: () => Promise<void>): Promise<DemoWorker> {
    try {
      const worker = await WorkerProcess.start(where);
      return new DemoWorker(worker, where, [() => worker.stop(), cleanup]);
    } catch (error) {
      await cleanup();
      throw error;
    }
  }

  get url(): string {
    return this.#worker.url;
  }

  async createConnectors(shop: DemoShop): Promise<void> {
    await this.#worker.createConnector('shop-source', shop.source);
    await this.#worker.createConnector('copy-sink', {
      ...shop.sink,
      'table.name.format': '${source.table}',
      'insert.mode': 'upsert',
      'pk.mode': 'record_key',
      'delete.enabled': 'true',
      'auto.create': 'true',
      'auto.evolve': 'true',
      // topics appear while the sink runs: look for new ones every second
      'consumer.override.metadata.max.age.ms': '1000',
    });
  }

  /** Throws where a connector or task failed, or the worker ended. */
  async check(): Promise<void> {
    const failures = await this.#worker.failures();
    if (failures.length > 0) throw new Error(failures.join('\n'));
  }

  /** Records written by the source and sent to the sink so far. */
  async counts(): Promise<{ published: number; applied: number }> {
    return {
      published: await this.#worker.metric('kafka_connect_source_task_source_record_write_total'),
      applied: await this.#worker.metric('kafka_connect_sink_task_sink_record_send_total'),
    };
  }

  tailCommand(topic: string): string {
    return ['node', relative(process.cwd(), CLI), 'topics', 'tail', topic, ...this.#where].join(' ');
  }

  async stop(): Promise<void> {
    for (const cleanup of this.#cleanups) await cleanup();
  }
}
