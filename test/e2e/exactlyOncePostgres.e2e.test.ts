/** Changes of a PostgreSQL table, in large and small transactions, while the worker is killed at random moments: each is in the topic once, in order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { waitUntil } from '../services/waitUntil.ts';
import { ClusterProcesses, plainJson, topicValues } from './clusterProcesses.ts';

const url = process.env.PG18_URL ?? 'postgres://postgres:postgres@127.0.0.1:15432';
const KILLS = 2;
const WAIT_MS = 60_000;

const settings = [
  ...plainJson,
  'offset.flush.interval.ms=500',
  'task.threads=1',
  'session.timeout.ms=6000',
  'heartbeat.interval.ms=1500',
  'scheduled.rebalance.max.delay.ms=0',
  'exactly.once.source.support=enabled',
];

interface Event {
  readonly after: { readonly id: number };
  readonly op: string;
}

test('each change is in the topic once, whenever the worker is killed', async t => {
  // Stops before the database goes.
  const cluster = ClusterProcesses.create(t, settings);
  const name = `eos_${Math.random().toString(36).slice(2, 10)}`;
  const admin = new pg.Client(`${url}/postgres`);
  await admin.connect();
  await admin.query(`create database ${name}`);
  const sql = new pg.Client(`${url}/${name}`);
  await sql.connect();
  t.after(async () => {
    await sql.end();
    await waitUntil('nobody reads the slot', WAIT_MS, async () => {
      const { rows } = await admin.query(`select active from pg_replication_slots where slot_name = '${name}'`);
      return rows.every(({ active }) => !active);
    });
    await admin.query(
      `select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = '${name}'`,
    );
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });
  await sql.query('create table item (id bigint primary key, text text)');

  const worker = await cluster.addWorker();
  const { hostname, port, username, password } = new URL(url);
  await worker.createConnector('changes', {
    'connector.class': 'io.debezium.connector.postgresql.PostgresConnector',
    'database.hostname': hostname,
    'database.port': port,
    'database.user': username,
    'database.password': password,
    'database.dbname': name,
    'topic.prefix': cluster.groupId,
    'slot.name': name,
    'publication.name': name,
    'snapshot.mode': 'no_data',
    'exactly.once.support': 'required',
  });
  const topic = `${cluster.groupId}.public.item`;
  let rows = 0;
  const insert = async (count: number): Promise<void> => {
    await sql.query(`insert into item select i, repeat('x', 50) from generate_series(${rows}, ${rows + count - 1}) i`);
    rows += count;
  };
  await waitUntil('the slot is read', WAIT_MS, async () => {
    const { rows: slots } = await admin.query(
      `select 1 from pg_replication_slots where slot_name = '${name}' and active`,
    );
    return slots.length > 0;
  });

  const done = new AbortController();
  const writing = (async () => {
    for (let i = 0; !done.signal.aborted; i++) {
      await insert(i % 20 === 0 ? 5_000 : 50);
      await delay(20);
    }
  })();
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const before = rows;
      await waitUntil('rows are written', WAIT_MS, () => rows > before + 5_000);
      await delay(Math.random() * 500);
      await worker.kill();
      await worker.restart();
      await waitUntil(
        'changes arrive again',
        WAIT_MS,
        async () => (await worker.metric('kafka_connect_source_task_source_record_write_total')) > 0,
      );
    }
  } finally {
    done.abort();
    await writing;
  }
  let ids: number[] = [];
  await waitUntil(
    'all changes are in the topic',
    WAIT_MS,
    async () => {
      const events = (await topicValues(topic)).map(value => JSON.parse(value) as Event);
      assert.ok(events.every(({ op }) => op === 'c'));
      ids = events.map(({ after }) => after.id);
      return ids.length >= rows;
    },
    1_000,
  ).catch(error => {
    throw new Error(
      `${error.message}: ${ids.length} of ${rows}, the last is ${ids.at(-1)}\n${worker.output.slice(-4_000)}`,
    );
  });
  const wrong = ids.findIndex((id, i) => id !== i);
  assert.equal(wrong, -1, `at ${wrong} of ${ids.length}: ${ids.slice(Math.max(0, wrong - 3), wrong + 3)}`);
  assert.equal(ids.length, rows);
  t.diagnostic(`${rows} changes, each once, over ${KILLS} kills`);
});
