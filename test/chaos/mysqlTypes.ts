/**
 * Random changes of rows of every type through the log, a topic and the sinks of MySQL and PostgreSQL: both targets have the source's rows, and zongji reads
 * the same ones in the log.
 */
import assert from 'node:assert/strict';
import pg from 'pg';
import { columns, everyTypeTable, workload } from '../connectors/mysql/everyType.ts';
import { RowDigests, readByMillrace, readByZongji } from '../connectors/mysql/logReaders.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { LAST_ID, MysqlPipeline } from './mysqlPipeline.ts';

const POSTGRES = process.env.POSTGRES_URL ?? 'postgres://postgres:postgres@127.0.0.1:15432/postgres';
const STATEMENTS_IN_TRANSACTION = 100;
const ROWS_PER_INSERT = 50;
const ROWS_PER_DIGEST = 1000;
/** So many rows are compared at once. */
const COMPARED_ROWS = 10_000;
const WAIT_MS = 500;

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

export interface TypesRun {
  readonly rows: number;
  readonly seed: number;
  readonly timeoutMs: number;
  readonly report: (line: string) => void;
}

export async function runMysqlTypes(
  t: { after(f: () => Promise<void>): void },
  { rows, seed, timeoutMs, report }: TypesRun,
): Promise<void> {
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
  const [log] = await pipeline.rows('SHOW BINARY LOG STATUS');
  const began = performance.now();
  const seconds = (): string => ((performance.now() - began) / 1000).toFixed(0);
  let transaction: string[] = [];
  const commit = async (): Promise<void> => {
    await sql.query(`BEGIN; ${transaction.join('; ')}; COMMIT`);
    transaction = [];
  };
  for (const statement of workload(seed, columns, rows, ROWS_PER_INSERT)) {
    transaction.push(statement);
    if (transaction.length === STATEMENTS_IN_TRANSACTION) await commit();
  }
  await commit();
  report(`all changes are made after ${seconds()} s`);
  await pipeline.finish(timeoutMs);
  const names = columns.map(({ name }) => name);
  const count = Number((await pipeline.rows('SELECT COUNT(*) AS n FROM t'))[0]!.n);
  const countIn = async (table: string): Promise<number> =>
    Number((await pipeline.rows(`SELECT COUNT(*) AS n FROM ${table}`))[0]!.n);
  await waitUntil(
    'the MySQL target has the source’s rows',
    timeoutMs,
    async () => (await countIn(`${pipeline.target}.t`)) === count && (await pipeline.differences(names)) === 0,
    WAIT_MS,
  );
  report(`${count} rows in MySQL as they are in the source after ${seconds()} s`);

  await waitUntil(
    'the PostgreSQL target has as many rows',
    timeoutMs,
    async () => {
      const failures = await worker.failures();
      if (failures.length > 0) throw new Error(failures.join('\n'));
      return Number((await postgres.query(`SELECT count(*) AS n FROM ${source}.t`)).rows[0].n) === count;
    },
    WAIT_MS,
  );
  for (let id = 0; id < rows; id += COMPARED_ROWS) await compare(pipeline, postgres, id, seed, timeoutMs);
  await compare(pipeline, postgres, LAST_ID, seed, timeoutMs);
  report(`${count} rows in PostgreSQL with the source’s values after ${seconds()} s`);

  const part = {
    ...{ url: pipeline.url, database: source },
    ...{ file: String(log!.File), position: Number(log!.Position), lastId: LAST_ID },
  };
  const [ours, theirs] = [new RowDigests(ROWS_PER_DIGEST), new RowDigests(ROWS_PER_DIGEST)];
  await readByMillrace(part, ours.take);
  await readByZongji(part, theirs.take);
  assert.equal(ours.count, theirs.count);
  ours.end();
  theirs.end();
  assert.deepEqual(ours.digests, theirs.digests, `seed ${seed}`);
  report(`${ours.count} changes of rows in the log, the same by zongji, after ${seconds()} s`);
}

/** Rows of one range of ids; those of one partition may come a moment after the number of rows is right. */
async function compare(
  pipeline: MysqlPipeline,
  postgres: pg.Client,
  from: number,
  seed: number,
  timeoutMs: number,
): Promise<void> {
  const list = (side: 'mysql' | 'postgres'): string =>
    Object.entries(COMPARED)
      .map(([name, shown]) => `${shown[side]} AS ${name}`)
      .join(', ');
  const where = `WHERE t.id > ${from - 1} AND t.id < ${from + COMPARED_ROWS} ORDER BY t.id`;
  const inPostgres = `SELECT id::text AS id, ${list('postgres')} FROM ${pipeline.source}.t ${where}`;
  const expected = await pipeline.rows(`SELECT CAST(id AS CHAR) AS id, ${list('mysql')} FROM t ${where}`);
  let found: Record<string, unknown>[] = [];
  const isSame = async (): Promise<boolean> => {
    found = (await postgres.query<Record<string, unknown>>(inPostgres)).rows;
    return found.length === expected.length && found.every((row, i) => shown(row) === shown(expected[i]!));
  };
  await waitUntil('the PostgreSQL target has the source’s rows', timeoutMs, isSame, WAIT_MS).catch(error => {
    const at = found.findIndex((row, i) => shown(row) !== shown(expected[i] ?? {}));
    assert.deepEqual({ ...found[at] }, { ...expected[at] }, `seed ${seed}: ${error}`);
    throw error;
  });
}

const shown = (row: Record<string, unknown>): string =>
  JSON.stringify(['id', ...Object.keys(COMPARED)].map(name => (row[name] === null ? null : String(row[name]))));
