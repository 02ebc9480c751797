/** A real Kafka and schema registry on ports of their own, with data that goes at the end; the programs stay in .services for the next time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from './localPostgres.ts';

/** Runs one of the scripts beside this file. Its servers live on; they write to files of their own. */
export async function runScript(script: string, verb: string, env: Readonly<Record<string, string>>): Promise<void> {
  const child = spawn('bash', [join(import.meta.dirname, script), verb], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${script} ${verb} failed`);
}

export class LocalKafka {
  readonly #kafkaPort: number;
  readonly #registryPort: number;

  private constructor(kafkaPort: number, registryPort: number) {
    this.#kafkaPort = kafkaPort;
    this.#registryPort = registryPort;
  }

  static async start(): Promise<LocalKafka> {
    const local = new LocalKafka(await freePort(), await freePort());
    try {
      await local.startBroker();
      await local.#registry('start');
      return local;
    } catch (error) {
      await local.stop();
      throw error;
    }
  }

  get bootstrapServers(): string {
    return `127.0.0.1:${this.#kafkaPort}`;
  }

  get registryUrl(): string {
    return `http://127.0.0.1:${this.#registryPort}/apis/ccompat/v7`;
  }

  startBroker(): Promise<void> {
    return this.#kafka('start');
  }

  /** Ends the broker at once, as a crash would. */
  killBroker(): Promise<void> {
    return this.#kafka('kill');
  }

  async stop(): Promise<void> {
    await this.#registry('clean');
    await this.#kafka('clean');
  }

  #kafka(verb: string): Promise<void> {
    return runScript('kafka.sh', verb, { KAFKA_PORT: String(this.#kafkaPort) });
  }

  #registry(verb: string): Promise<void> {
    return runScript('schema-registry.sh', verb, { REGISTRY_PORT: String(this.#registryPort) });
  }
}
