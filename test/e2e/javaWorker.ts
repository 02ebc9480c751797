/** A worker of Kafka Connect itself in the group of a test's cluster, and what both kinds of workers must show alike. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { runScript } from '../services/localKafka.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { bootstrap } from './clusterProcesses.ts';

export const takeOverMs = 30_000;

export class JavaWorker {
  readonly url: string;
  readonly #env: Readonly<Record<string, string>>;

  /** `settings`: more lines of its properties file. */
  constructor(t: TestContext, groupId: string, port: number, settings: readonly string[] = []) {
    this.url = `http://127.0.0.1:${port}`;
    this.#env = {
      KAFKA_BOOTSTRAP: bootstrap,
      CONNECT_GROUP: groupId,
      CONNECT_PORT: String(port),
      CONNECT_EXTRA: settings.join('\n'),
      DEBEZIUM_VERSION: 'none',
    };
    t.after(() => this.#run('clean'));
  }

  start(): Promise<void> {
    return this.#run('start');
  }

  stop(): Promise<void> {
    return this.#run('stop');
  }

  async pid(): Promise<number> {
    const services = process.env.SERVICES_DIR ?? join(import.meta.dirname, '../../.services');
    return Number(await readFile(join(services, `connect-${new URL(this.url).port}`, 'pid'), 'utf8'));
  }

  #run(verb: string): Promise<void> {
    return runScript('connect-debezium.sh', verb, this.#env);
  }
}

interface Shown {
  readonly status: {
    readonly connector: { readonly state: string; readonly worker_id: string };
    readonly tasks: readonly { readonly state: string; readonly worker_id: string }[];
  };
}

async function shown(url: string): Promise<Record<string, Shown>> {
  const answer = await fetch(`${url}/connectors?expand=status&expand=info`);
  assert.equal(answer.status, 200);
  return (await answer.json()) as Record<string, Shown>;
}

/** As many connectors and tasks run, on all of these workers, and every one of them says so alike. */
export async function agreed(urls: readonly string[], count: number): Promise<void> {
  let seen: unknown;
  const hosts = urls.map(url => new URL(url).host).sort();
  await waitUntil(`all runs on ${hosts}`, takeOverMs, async () => {
    const all = await Promise.all(urls.map(shown));
    seen = all;
    const parts = Object.values(all[0]!).flatMap(({ status }) => [status.connector, ...status.tasks]);
    const used = [...new Set(parts.map(({ worker_id }) => worker_id))].sort();
    const isRunning = parts.length === count && parts.every(({ state }) => state === 'RUNNING');
    return isRunning && used.join() === hosts.join() && all.every(one => isDeepStrictEqual(one, all[0]));
  }).catch(error => {
    throw new Error(`${error.message}; seen: ${JSON.stringify(seen)}`);
  });
}
