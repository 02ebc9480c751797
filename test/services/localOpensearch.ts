/** A real OpenSearch server on a port of its own, with data that goes at the end; the program stays in .services for the next time. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runScript } from './localKafka.ts';
import { freePort } from './localPostgres.ts';

export class LocalOpensearch {
  readonly port: number;
  readonly #settings: string;

  private constructor(port: number, settings: readonly string[]) {
    this.port = port;
    this.#settings = settings.join('\n');
  }

  /** `settings` are lines of opensearch.yml. */
  static async start(settings: readonly string[] = []): Promise<LocalOpensearch> {
    const local = new LocalOpensearch(await freePort(), settings);
    try {
      await local.restart();
      return local;
    } catch (error) {
      await local.stop();
      throw error;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** After it was killed, on the same data. */
  restart(): Promise<void> {
    return this.#run('start');
  }

  /** Ends the server at once, as a crash would. */
  kill(): void {
    const services = process.env.SERVICES_DIR ?? '.services';
    const files = readdirSync(services).map(name => join(services, name, `run-${this.port}`, 'pid'));
    process.kill(Number(readFileSync(files.find(existsSync)!, 'utf8')), 'SIGKILL');
  }

  stop(): Promise<void> {
    return this.#run('clean');
  }

  #run(verb: string): Promise<void> {
    return runScript('opensearch.sh', verb, { PORT: String(this.port), OPENSEARCH_EXTRA: this.#settings });
  }
}
