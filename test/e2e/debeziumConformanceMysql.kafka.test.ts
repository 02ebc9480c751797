/**
 * Debezium's recorded MySQL events through a worker on Kafka with the JSON converter. Needs kcat and a client of MySQL; skipped without them. The topic of
 * schema changes is compared without a worker, in connectors/mysql.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectBroker } from '../../runtime/broker/connectBroker.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import { silentLogger } from './restConformance.ts';

const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';
const mysql = new URL(process.env.MYSQL_URL ?? 'mysql://root@127.0.0.1:13306');
const kit = join(import.meta.dirname, '../conformance/debezium');
const hasTools = ['kcat', 'mariadb'].every(tool => spawnSync('which', [tool]).status === 0);

/** Few: all cases run without a broker in connectors/mysql. These show what only the worker has a part in. */
const cases = ['basic-crud', 'integers', 'temporal', 'keys', 'compressed', 'resume', 'unwrap', 'snapshot-no-data'];

test('recorded MySQL events of Debezium come out of a worker on Kafka', {
  skip: !hasTools,
  timeout: 300_000,
}, async t => {
  const known = readdirSync(join(kit, 'cases/mysql'));
  assert.ok(cases.every(name => known.includes(name)));
  assert.ok(readFileSync(join(kit, 'leftOutMysql.txt'), 'utf8').includes('unwrap '));
  const groupId = `conformance-${randomUUID()}`;
  const worker = await WorkerProcess.start(['--bootstrap-servers', bootstrap, '--group-id', groupId]);
  t.after(async () => {
    await worker.stop();
    const broker = await connectBroker({ kind: 'kafka', settings: { 'bootstrap.servers': bootstrap } }, silentLogger);
    const admin = broker.admin();
    const prefixes = cases.map(name => `my_${name.replaceAll('-', '_')}`);
    const ours = (await admin.listTopics()).filter(
      topic =>
        topic.startsWith(`${groupId}-`) ||
        prefixes.some(
          prefix => topic === prefix || topic.startsWith(`${prefix}.`) || topic === `__debezium-heartbeat.${prefix}`,
        ),
    );
    await admin.deleteTopics(ours);
    await broker.close();
  });
  const child = spawn(process.execPath, ['run.mjs', 'check', ...cases.map(name => `mysql/${name}`)], {
    cwd: kit,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      CONNECT_URL: worker.url,
      BATCH: '8',
      KAFKA_BOOTSTRAP: bootstrap,
      MYSQL_HOST: mysql.hostname,
      MYSQL_PORT: mysql.port,
      IGNORE_TOPICS: '^my_[a-z_]+$',
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const code = await new Promise(resolve => child.once('close', resolve));
  const failures = output
    .split('\n')
    .filter(line => line.startsWith('mysql/') && !/: \d+ passed, 0 failed$/.test(line));
  assert.deepEqual(failures, []);
  assert.equal(code, 0, output.slice(-2000));
});
