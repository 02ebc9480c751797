/** A worker of Kafka Connect itself, with the FileStream connectors: a peer in a cluster of ours, or one of a cluster of its own. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runScript } from './localKafka.ts';

export interface JavaWorkerOptions {
  readonly bootstrap: string;
  readonly groupId: string;
  readonly port: number;
  /** More lines of its properties file. */
  readonly settings?: readonly string[];
  /** Of the JVM; those of the script are for a quick start. */
  readonly jvmOptions?: string;
}

export class JavaWorker {
  readonly url: string;
  readonly #env: Readonly<Record<string, string>>;

  constructor({ bootstrap, groupId, port, settings = [], jvmOptions }: JavaWorkerOptions) {
    this.url = `http://127.0.0.1:${port}`;
    this.#env = {
      KAFKA_BOOTSTRAP: bootstrap,
      CONNECT_GROUP: groupId,
      CONNECT_PORT: String(port),
      CONNECT_EXTRA: settings.join('\n'),
      DEBEZIUM_VERSION: 'none',
      ...(jvmOptions !== undefined && { CONNECT_JVM_OPTS: jvmOptions }),
    };
  }

  start(): Promise<void> {
    return this.#run('start');
  }

  stop(): Promise<void> {
    return this.#run('stop');
  }

  /** Stops it, and removes its files. */
  clean(): Promise<void> {
    return this.#run('clean');
  }

  async pid(): Promise<number> {
    const services = process.env.SERVICES_DIR ?? join(import.meta.dirname, '../../.services');
    return Number(await readFile(join(services, `connect-${new URL(this.url).port}`, 'pid'), 'utf8'));
  }

  #run(verb: string): Promise<void> {
    return runScript('connect-debezium.sh', verb, this.#env);
  }
}
