/** The table that is measured, in two widths, and the changes made to it. */
import type pg from 'pg';

export const TABLE = 'bench_item';

const narrow = ['id integer PRIMARY KEY', 'a integer NOT NULL', 'b integer NOT NULL'];

/** Twenty-six columns of the kinds that tables of applications have. */
const wide: readonly [definition: string, value: string][] = [
  ['id integer PRIMARY KEY', 'i'],
  ['a integer NOT NULL', 'i % 1000'],
  ['b integer NOT NULL', 'i * 7'],
  ['c04 bigint', 'i::bigint * 7777777'],
  ['c05 smallint', 'i % 1000'],
  ['c06 boolean', 'i % 2 = 0'],
  ['c07 real', 'i / 7.0'],
  ['c08 double precision', 'i / 7.0'],
  ['c09 numeric(12,2)', 'i / 100.0'],
  ['c10 numeric(18,4)', 'i / 10000.0'],
  ['c11 varchar(40) NOT NULL', "'customer-' || i % 1000"],
  ['c12 varchar(80)', "'somebody' || i || '@example.org'"],
  ['c13 text', "'a longer remark, as people write it in such fields now and then'"],
  ['c14 char(10)', "'EUR'"],
  ['c15 date', "date '2024-01-01' + i % 500"],
  ['c16 time', "time '08:00' + i % 3600 * interval '1 second'"],
  ['c17 timestamp', "timestamp '2026-01-01' + i * interval '1.234567 seconds'"],
  ['c18 timestamptz', "timestamptz '2026-01-01 00:00+00' + i * interval '1.234567 seconds'"],
  ['c19 uuid', "('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid"],
  ['c20 jsonb', `jsonb_build_object('a', i, 'b', 'x')`],
  ['c21 bytea', 'int4send(i)'],
  ['c22 text', 'CASE WHEN i % 2 = 0 THEN NULL ELSE md5(i::text) END'],
  ['c23 integer', 'NULL'],
  ['c24 integer DEFAULT 5', 'i % 100'],
  ['c25 bigint', 'i'],
  ['c26 varchar(20)', "'Großé Straße'"],
];

export const createTable = (columns: 3 | 26): string =>
  `CREATE TABLE ${TABLE} (${(columns === 3 ? narrow : wide.map(([definition]) => definition)).join(', ')})`;

export async function fill(client: pg.Client, columns: 3 | 26, count: number): Promise<void> {
  const values = columns === 3 ? 'i, i % 1000, i * 7' : wide.map(([, value]) => value).join(', ');
  await client.query(`INSERT INTO ${TABLE} SELECT ${values} FROM generate_series(1, ${count}) i`);
  await client.query(`VACUUM ANALYZE ${TABLE}`);
}

const ROWS_PER_TRANSACTION = 100;

/** A procedure that makes changes in small transactions, as applications do, at the speed of the server. */
export async function createUpdater(client: pg.Client): Promise<void> {
  await client.query(`
    CREATE PROCEDURE bench_update(changes integer, rows integer) LANGUAGE plpgsql AS $$
    DECLARE done integer := 0; start integer; size integer;
    BEGIN
      WHILE done < changes LOOP
        start := done % rows;
        size := least(${ROWS_PER_TRANSACTION}, changes - done, rows - start);
        UPDATE ${TABLE} SET a = a + 1 WHERE id > start AND id <= start + size;
        COMMIT;
        done := done + size;
      END LOOP;
    END $$`);
}

/** Exactly `changes` updates of single rows. */
export async function update(client: pg.Client, changes: number, rows: number): Promise<void> {
  await client.query(`CALL bench_update(${changes}, ${rows})`);
}

/** Every 10 ms: 10,000 changes a second. */
export const ROWS_PER_STEP = 100;

/** A steady load of small transactions, while it is measured how long their changes take. Gives the times (ms since the epoch) at which each was begun. */
export async function steadyLoad(
  client: pg.Client,
  durationMs: number,
  step: (beganAtMs: number) => string = () => `UPDATE ${TABLE} SET a = a + 1 WHERE id <= ${ROWS_PER_STEP}`,
): Promise<number[]> {
  const now = (): number => performance.timeOrigin + performance.now();
  const began: number[] = [];
  const end = now() + durationMs;
  for (let next = now(); next < end; next += 10) {
    const wait = next - now();
    if (wait > 0) await new Promise(resolve => setTimeout(resolve, wait));
    began.push(now());
    await client.query(step(began.at(-1)!));
  }
  return began;
}
