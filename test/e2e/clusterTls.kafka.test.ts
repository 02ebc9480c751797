/** Two workers that talk to each other over TLS, and ask users for a password: what one cannot do is sent on to the other. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { RestClient } from '../../runtime/cli/restClient.ts';
import { freePort } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { CLI, type ConnectorStatus } from '../services/workerProcess.ts';
import { bootstrap, connectKafka } from './clusterProcesses.ts';

const fixture = (name: string): string => join(import.meta.dirname, '../fixtures/tls', name);
const waitMs = 60_000;

test('workers of a cluster forward requests and task configs over TLS, with basic authentication', async t => {
  const groupId = `cluster-tls-${randomUUID()}`;
  const dir = await mkdtemp(join(tmpdir(), 'cluster-tls-'));
  await writeFile(join(dir, 'users.properties'), 'ops=s3cret\n');
  const processes: ChildProcess[] = [];
  let output = '';
  t.after(async () => {
    for (const process of processes) {
      const ended = process.exitCode === null ? once(process, 'exit') : null;
      process.kill();
      await ended;
    }
    const broker = await connectKafka();
    const admin = broker.admin();
    await admin.deleteTopics((await admin.listTopics()).filter(topic => topic.startsWith(groupId)));
    await admin.deleteGroup(groupId).catch(() => undefined);
    await broker.close();
    await rm(dir, { recursive: true, force: true });
  });
  const start = async (): Promise<RestClient> => {
    const url = `https://localhost:${await freePort()}`;
    const settings = [
      `listeners=${url}`,
      `listeners.https.ssl.keystore.location=${fixture('server.pem')}`,
      `listeners.https.ssl.truststore.location=${fixture('ca.pem')}`,
      // Workers show each other the same certificate.
      'listeners.https.ssl.client.auth=requested',
      `rest.basic.auth.file=${join(dir, 'users.properties')}`,
      'task.threads=1',
      'key.converter=org.apache.kafka.connect.json.JsonConverter',
      'value.converter=org.apache.kafka.connect.json.JsonConverter',
    ];
    const args = ['worker', '--bootstrap-servers', bootstrap, '--group-id', groupId];
    const process_ = spawn(process.execPath, [CLI, ...args, ...settings.flatMap(setting => ['--set', setting])], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    processes.push(process_);
    for (const stream of [process_.stdout, process_.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    const client = new RestClient({ url, user: 'ops:s3cret', ca: fixture('ca.pem') }, {});
    await waitUntil('the worker is ready', waitMs, async () => {
      assert.equal(process_.exitCode, null, output);
      return client.request('GET', '/health').then(
        () => true,
        () => false,
      );
    });
    return client;
  };
  const workers = [await start(), await start()];
  // One of the two does not lead; and of four connectors each runs some, whose task configs the leader has to be given.
  for (const [i, worker] of [0, 1, 0, 1].map(i => workers[i]!).entries()) {
    const config = {
      'connector.class': 'millrace.DatagenSource',
      topic: `${groupId}-rows`,
      'rows.per.second': '5',
    };
    await worker.request('POST', '/connectors', { name: `c${i}`, config });
  }
  for (const worker of workers) {
    await waitUntil('all run, on both', waitMs, async () => {
      const all = await worker.request<Record<string, { status: ConnectorStatus }>>('GET', '/connectors?expand=status');
      const statuses = Object.values(all).map(({ status }) => status);
      const places = new Set(statuses.flatMap(({ tasks }) => tasks.map(({ worker_id }) => worker_id)));
      return (
        statuses.length === 4 &&
        places.size === 2 &&
        statuses.every(({ tasks }) => tasks.length === 1 && tasks[0]!.state === 'RUNNING')
      );
    }).catch(error => {
      throw new Error(`${(error as Error).message}\n${output}`);
    });
    // On whichever worker it runs.
    for (let i = 0; i < 4; i++) await worker.request('POST', `/connectors/c${i}/tasks/0/restart`);
  }
  await assert.rejects(
    new RestClient({ url: workers[0]!.url, ca: fixture('ca.pem') }, {}).request('GET', '/connectors'),
    { code: 'CLI_REQUEST_FAILED', message: /answered 401/ },
  );
});
