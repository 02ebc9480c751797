/** Random changes of rows of every type through the log, a topic and the sinks of MySQL and PostgreSQL: both targets have the source's rows. */
import assert from 'node:assert/strict';
import pg from 'pg';
import { columns, everyTypeTable, workload } from '../connectors/mysql/everyType.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { MysqlPipeline } from './mysqlPipeline.ts';

const POSTGRES = process.env.POSTGRES_URL ?? 'postgres://postgres:postgres@127.0.0.1:15432/postgres';
const IN_TRANSACTION = 100;

/** Columns whose values PostgreSQL has too, and how both servers show them alike. */
const COMPARED: Readonly<Record<string, { mysql: string; postgres: string }>> = {
  ...Object.fromEntries(
    ['t', 'tu', 's', 'su', 'm', 'mu', 'i', 'iu', 'b', 'bu', 'dc', 'dl', 'v', 'tx', 'l1', 'u2', 'e', 'st'].map(name => [
      name,
      { mysql: `CAST(${name} AS CHAR)`, postgres: `${name}::text` },
    ]),
  ),
  // As text: the driver reads a DOUBLE of a result set with an error in its last digit.
  d: { mysql: 'CAST(d AS CHAR)', postgres: 'd' },
  da: { mysql: 'CAST(da AS CHAR)', postgres: 'da::text' },
  dt6: { mysql: "DATE_FORMAT(dt6, '%Y-%m-%d %H:%i:%s.%f')", postgres: "to_char(dt6, 'YYYY-MM-DD HH24:MI:SS.US')" },
  vb: { mysql: 'LOWER(HEX(vb))', postgres: "encode(vb, 'hex')" },
  bl: { mysql: 'LOWER(HEX(bl))', postgres: "encode(bl, 'hex')" },
};

export async function runMysqlTypes(
  t: { after(f: () => Promise<void>): void },
  { rows, seed, timeoutMs }: { readonly rows: number; readonly seed: number; readonly timeoutMs: number },
): Promise<{ readonly changes: number; readonly seconds: number }> {
  const pipeline = await MysqlPipeline.open(t, everyTypeTable(columns));
  const { sql, worker, source } = pipeline;
  await sql.query(`USE ${source}`);
  const postgres = new pg.Client(POSTGRES);
  await postgres.connect();
  t.after(async () => {
    await postgres.query(`DROP SCHEMA IF EXISTS ${source} CASCADE`);
    await postgres.end();
  });
  await postgres.query(`CREATE SCHEMA ${source}`);
  await pipeline.startSource({ 'bigint.unsigned.handling.mode': 'precise' });
  await pipeline.startSink();
  const { hostname, port, username, password } = new URL(POSTGRES);
  await worker.createConnector('postgres', {
    'connector.class': 'millrace.PostgresSink',
    topics: pipeline.topic,
    'connection.url': `jdbc:postgresql://${hostname}:${port}/postgres`,
    'connection.user': username,
    'connection.password': password,
    'table.name.format': `${source}.t`,
    'insert.mode': 'upsert',
    'pk.mode': 'record_key',
    'delete.enabled': 'true',
    'auto.create': 'true',
    'field.include.list': ['id', ...Object.keys(COMPARED)].join(','),
  });
  const began = performance.now();
  let changes = 0;
  let transaction: string[] = [];
  const commit = async (): Promise<void> => {
    await sql.query(`BEGIN; ${transaction.join('; ')}; COMMIT`);
    transaction = [];
  };
  for (const statement of workload(seed, columns, rows)) {
    changes++;
    transaction.push(statement);
    if (transaction.length === IN_TRANSACTION) await commit();
  }
  await commit();
  await pipeline.finish(timeoutMs);
  const names = columns.map(({ name }) => name);
  await waitUntil(
    'the MySQL target has the source’s rows',
    timeoutMs,
    async () => (await pipeline.differences(names)) === 0,
  );

  const list = (side: 'mysql' | 'postgres'): string =>
    Object.entries(COMPARED)
      .map(([name, shown]) => `${shown[side]} AS ${name}`)
      .join(', ');
  const inPostgres = `SELECT id::text AS id, ${list('postgres')} FROM ${source}.t ORDER BY ${source}.t.id`;
  const count = Number((await pipeline.rows('SELECT COUNT(*) AS n FROM t'))[0]!.n);
  await waitUntil('the PostgreSQL target has as many rows', timeoutMs, async () => {
    const failures = await worker.failures();
    if (failures.length > 0) throw new Error(failures.join('\n'));
    return Number((await postgres.query(`SELECT count(*) AS n FROM ${source}.t`)).rows[0].n) === count;
  });
  const expected = await pipeline.rows(`SELECT CAST(id AS CHAR) AS id, ${list('mysql')} FROM t ORDER BY t.id`);
  // Rows of one partition may come a moment after the number is right.
  await waitUntil('the PostgreSQL target has the source’s rows', timeoutMs, async () => {
    const { rows: found } = await postgres.query(inPostgres);
    return found.length === expected.length && found.every((row, i) => shown(row) === shown(expected[i]!));
  }).catch(async error => {
    const { rows: found } = await postgres.query(inPostgres);
    const at = found.findIndex((row, i) => shown(row) !== shown(expected[i]!));
    assert.deepEqual({ ...found[at] }, { ...expected[at] }, `seed ${seed}: ${error}`);
    throw error;
  });
  return { changes, seconds: (performance.now() - began) / 1000 };
}

const shown = (row: Record<string, unknown>): string =>
  JSON.stringify(['id', ...Object.keys(COMPARED)].map(name => (row[name] === null ? null : String(row[name]))));
