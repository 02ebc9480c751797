/** A Kafka of the test's own, to be killed and restarted. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../..', import.meta.url));

export class OwnKafka {
  readonly port: number;
  readonly #env: NodeJS.ProcessEnv;

  constructor(port: number, env: Readonly<Record<string, string>> = {}) {
    this.port = port;
    this.#env = { ...process.env, ...env, KAFKA_PORT: String(port) };
  }

  get bootstrap(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** With KAFKA_SECURE=1: a PEM file of its certificates. */
  pemFile(name: string): string {
    const services = this.#env.SERVICES_DIR ?? join(root, '.services');
    return join(services, `kafka-${this.#env.KAFKA_VERSION ?? '4.3.1'}`, `run-${this.port}`, 'tls', name);
  }

  pem(name: string): Promise<string> {
    return readFile(this.pemFile(name), 'utf8');
  }

  async pid(): Promise<number> {
    const services = this.#env.SERVICES_DIR ?? join(root, '.services');
    const file = join(services, `kafka-${this.#env.KAFKA_VERSION ?? '4.3.1'}`, `run-${this.port}`, 'pid');
    return Number(await readFile(file, 'utf8'));
  }

  start(): Promise<void> {
    return this.#run('start');
  }

  kill(): Promise<void> {
    return this.#run('kill');
  }

  clean(): Promise<void> {
    return this.#run('clean');
  }

  /** One of Kafka's own tools; its output. */
  async tool(className: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await run('bash', ['test/services/kafka.sh', 'run', className, ...args], {
      cwd: root,
      env: this.#env,
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  }

  async #run(command: string): Promise<void> {
    await run('bash', ['test/services/kafka.sh', command], { cwd: root, env: this.#env });
  }
}
