/** Debezium's recorded PostgreSQL events through a worker on Kafka with the JSON converter. Needs kcat and psql; skipped without them. */
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
const pg = new URL(process.env.PG18_URL ?? 'postgres://postgres:postgres@127.0.0.1:15432');
const kit = join(import.meta.dirname, '../conformance/debezium');
const hasTools = ['kcat', 'psql'].every(tool => spawnSync('which', [tool]).status === 0);

/** Cases that need what comes with a later release; the unwrap case runs here, where transforms are. */
const leftOut = new Set(
  readFileSync(join(kit, 'leftOut.txt'), 'utf8')
    .split('\n')
    .map(line => line.split(' ')[0]!),
);
leftOut.delete('unwrap');
const cases = readdirSync(join(kit, 'cases/postgres')).filter(name => !leftOut.has(name));

test('recorded events of Debezium come out of a worker on Kafka', { skip: !hasTools, timeout: 900_000 }, async t => {
  const groupId = `conformance-${randomUUID()}`;
  const worker = await WorkerProcess.start(['--bootstrap-servers', bootstrap, '--group-id', groupId]);
  t.after(async () => {
    await worker.stop();
    const broker = await connectBroker({ kind: 'kafka', settings: { 'bootstrap.servers': bootstrap } }, silentLogger);
    const admin = broker.admin();
    const prefixes = cases.map(name => `pg_${name.replaceAll('-', '_')}`);
    const ours = (await admin.listTopics()).filter(
      topic =>
        topic.startsWith(`${groupId}-`) ||
        prefixes.some(prefix => topic.startsWith(`${prefix}.`) || topic === `__debezium-heartbeat.${prefix}`),
    );
    await admin.deleteTopics(ours);
    await broker.close();
  });
  const child = spawn(process.execPath, ['run.mjs', 'check', ...cases.map(name => `postgres/${name}`)], {
    cwd: kit,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      CONNECT_URL: worker.url,
      BATCH: '8',
      KAFKA_BOOTSTRAP: bootstrap,
      PG_HOST: pg.hostname,
      PG_PORT: pg.port,
      PG_USER: pg.username,
      PG_PASSWORD: pg.password,
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
    .filter(line => line.startsWith('postgres/') && !/: \d+ passed, 0 failed$/.test(line));
  assert.deepEqual(failures, []);
  assert.equal(code, 0, output.slice(-2000));
});
