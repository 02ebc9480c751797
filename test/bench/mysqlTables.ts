/** The table that is measured in MySQL, in two widths, and the changes made to it: small transactions, as applications make them, at the speed of the server. */
import type { Connection } from 'mysql2/promise';
import { TABLE } from './tables.ts';

const narrow = ['id int PRIMARY KEY', 'a int NOT NULL', 'b int NOT NULL'];

/** Twenty-six columns of the kinds that tables of applications have, and that all readers of the log know. */
const wide: readonly [definition: string, value: string][] = [
  ['id int PRIMARY KEY', 'n'],
  ['a int NOT NULL', 'n % 1000'],
  ['b int NOT NULL', 'n * 7'],
  ['c04 bigint', 'n * 7777777'],
  ['c05 smallint', 'n % 1000'],
  ['c06 tinyint', 'n % 2'],
  ['c07 float', 'n / 7.0'],
  ['c08 double', 'n / 7.0'],
  ['c09 decimal(12,2)', 'n / 100.0'],
  ['c10 decimal(18,4)', 'n / 10000.0'],
  ['c11 varchar(40) NOT NULL', "concat('customer-', n % 1000)"],
  ['c12 varchar(80)', "concat('somebody', n, '@example.org')"],
  ['c13 text', "'a longer remark, as people write it in such fields now and then'"],
  ['c14 char(10)', "'EUR'"],
  ['c15 date', "date '2024-01-01' + INTERVAL n % 500 DAY"],
  ['c16 time', 'sec_to_time(28800 + n % 3600)'],
  ['c17 datetime(6)', "timestamp '2026-01-01 00:00:00' + INTERVAL n * 1.234567 SECOND"],
  ['c18 timestamp(6) NULL', "timestamp '2020-01-01 00:00:00' + INTERVAL n * 1.234567 SECOND"],
  ['c19 int unsigned', 'n * 11'],
  ["c20 enum('new', 'paid', 'sent', 'returned')", '1 + n % 4'],
  ['c21 varbinary(16)', 'unhex(lpad(hex(n), 8, 0))'],
  ['c22 varchar(64)', 'if(n % 2 = 0, NULL, left(sha2(n, 256), 32))'],
  ['c23 int', 'NULL'],
  ['c24 int DEFAULT 5', 'n % 100'],
  ['c25 bigint', 'n'],
  ['c26 varchar(20)', "'Großé Straße'"],
];

export const createTable = (columns: 3 | 26): string =>
  `CREATE TABLE ${TABLE} (${(columns === 3 ? narrow : wide.map(([definition]) => definition)).join(', ')})`;

const ROWS_PER_TRANSACTION = 100;

/** The session's database gets the table and procedures that make changes; what they count with is not in the log. */
export async function createMysqlTable(client: Connection, columns: 3 | 26, numbers: number): Promise<void> {
  const values = columns === 3 ? 'n, n % 1000, n * 7' : wide.map(([, value]) => value).join(', ');
  await client.query(`
    SET sql_log_bin = 0, cte_max_recursion_depth = ${numbers + 1};
    CREATE TABLE bench_number (n int PRIMARY KEY);
    INSERT INTO bench_number WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${numbers}) SELECT n FROM r;
    SET sql_log_bin = 1;
    ${createTable(columns)};
    CREATE PROCEDURE bench_insert(done int, last int)
      WHILE done < last DO
        INSERT INTO ${TABLE} SELECT ${values} FROM bench_number WHERE n > done AND n <= least(last, done + ${ROWS_PER_TRANSACTION});
        SET done = least(last, done + ${ROWS_PER_TRANSACTION});
      END WHILE;
    CREATE PROCEDURE bench_update(done int, last int)
      WHILE done < last DO
        UPDATE ${TABLE} SET a = a + 1 WHERE id > done AND id <= least(last, done + ${ROWS_PER_TRANSACTION});
        SET done = least(last, done + ${ROWS_PER_TRANSACTION});
      END WHILE`);
}

export const WORKLOADS = ['insert', 'update'] as const;
export type Workload = (typeof WORKLOADS)[number];

/** One change of each row of (from, to]. */
export async function change(client: Connection, workload: Workload, from: number, to: number): Promise<void> {
  await client.query(`CALL bench_${workload}(${from}, ${to})`);
}
