import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { runScript } from '../services/localKafka.ts';
import { freePort } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { bootstrap, ClusterProcesses, topicValues } from './clusterProcesses.ts';

const settings = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'offset.flush.interval.ms=500',
  'task.threads=1',
  'scheduled.rebalance.max.delay.ms=0',
];
const takeOverMs = 30_000;
const sources = ['one', 'two'] as const;

/** Kafka Connect itself, in the same group. */
class JavaWorker {
  readonly url: string;
  readonly #env: Readonly<Record<string, string>>;

  constructor(t: TestContext, groupId: string, port: number, extra: readonly string[]) {
    this.url = `http://127.0.0.1:${port}`;
    this.#env = {
      KAFKA_BOOTSTRAP: bootstrap,
      CONNECT_GROUP: groupId,
      CONNECT_PORT: String(port),
      DEBEZIUM_VERSION: 'none',
      CONNECT_EXTRA: extra.join('\n'),
    };
    t.after(() => this.#run('clean'));
  }

  start(): Promise<void> {
    return this.#run('start');
  }

  stop(): Promise<void> {
    return this.#run('stop');
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

/** All parts run, on all of these workers, and every one of them says so alike. */
async function agreed(urls: readonly string[]): Promise<void> {
  let seen: unknown;
  const hosts = urls.map(url => new URL(url).host).sort();
  await waitUntil(`all runs on ${hosts}`, takeOverMs, async () => {
    const all = await Promise.all(urls.map(shown));
    seen = all;
    const parts = Object.values(all[0]!).flatMap(({ status }) => [status.connector, ...status.tasks]);
    const used = [...new Set(parts.map(({ worker_id }) => worker_id))].sort();
    const isRunning = parts.length === 2 * sources.length && parts.every(({ state }) => state === 'RUNNING');
    return isRunning && used.join() === hosts.join() && all.every(one => isDeepStrictEqual(one, all[0]));
  }).catch(error => {
    throw new Error(`${error.message}; seen: ${JSON.stringify(seen)}`);
  });
}

/** Exactly once: that both fence for each other, write as leaders in transactions, and go on behind the other's. */
const exactlyOnce = 'exactly.once.source.support=enabled';

test('with a Kafka Connect worker in one group: both lead, show the same, and take over from each other', async t => {
  const cluster = ClusterProcesses.create(t, [...settings, exactlyOnce]);
  const java = new JavaWorker(t, cluster.groupId, await freePort(), [exactlyOnce]);
  const dir = await mkdtemp(join(tmpdir(), 'millrace-mixed-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const topic = `${cluster.groupId}-lines`;
  let lines = 0;
  /** A line more in each file, and it arrives, once: the offsets of before were found. */
  const grow = async (): Promise<void> => {
    for (const name of sources) appendFileSync(join(dir, name), `${name}-${lines}\n`);
    lines++;
    const wanted = sources.flatMap(name => Array.from({ length: lines }, (_, i) => `${name}-${i}`)).sort();
    let values: string[] = [];
    await waitUntil('the new lines arrive', takeOverMs, async () => {
      values = await topicValues(topic);
      return values.length >= wanted.length;
    }).catch(error => {
      throw new Error(`${error.message}; there are ${values}`);
    });
    assert.deepEqual(values.sort(), wanted);
  };

  const ours = await cluster.addWorker();
  for (const name of sources) {
    await writeFile(join(dir, name), '');
    await ours.createConnector(name, {
      'connector.class': 'org.apache.kafka.connect.file.FileStreamSourceConnector',
      file: join(dir, name),
      topic,
      'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
    });
  }
  await agreed([ours.url]);
  await grow();

  // Ours leads.
  await java.start();
  await agreed([ours.url, java.url]);
  await grow();
  await ours.stop();
  await agreed([java.url]);
  await grow();

  // Java leads; task configs of what ours runs are sent to it, signed.
  await ours.restart();
  await agreed([ours.url, java.url]);
  await ours.request('PUT', '/connectors/one/config', {
    ...(await ours.request<Record<string, string>>('GET', '/connectors/one/config')),
    'batch.size': '100',
  });
  await ours.request('PUT', '/connectors/two/config', {
    ...(await ours.request<Record<string, string>>('GET', '/connectors/two/config')),
    'batch.size': '100',
  });
  await agreed([ours.url, java.url]);
  for (const name of sources) {
    await waitUntil(`the task of ${name} has its new configuration`, 30_000, async () => {
      const tasks = await ours.request<{ config: Record<string, string> }[]>('GET', `/connectors/${name}/tasks`);
      return tasks.length === 1 && tasks[0]!.config['batch.size'] === '100';
    });
  }
  await grow();
  await java.stop();
  await agreed([ours.url]);
  await grow();
});
