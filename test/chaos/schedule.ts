/**
 * Random schedules of concurrent transactions from a seed: savepoints, rollbacks, prepared transactions that end later or elsewhere, DDL, truncate, values that are stored
 * apart (TOAST), and from one to `maxRows` rows. Each client has keys and tables of its own, so that none waits long for another.
 */
import pg from 'pg';
import { type Random, randomOf } from './random.ts';

export interface Schedule {
  readonly seed: number;
  readonly clients: number;
  /** Of each client. */
  readonly transactions: number;
  readonly maxRows: number;
  /** With what makes the source ask for transactions after their commit: TRUNCATE and logical messages in parts that are rolled back. */
  readonly isWild: boolean;
}

const SHARED = ['plain', 'full_rows'] as const;
const LAST = 'last';
const BIG = 'repeat(md5(random()::text), 100)';

export const scheduleTables = (clients: number): readonly string[] => [
  ...SHARED,
  ...Array.from({ length: clients }, (_, i) => [`own_${i}`, `bulk_${i}`]).flat(),
  LAST,
];

export async function createScheduleTables(sql: pg.Client, clients: number): Promise<void> {
  for (const table of scheduleTables(clients)) {
    await sql.query(`CREATE TABLE ${table} (id integer PRIMARY KEY, v integer, big text)`);
    await sql.query(`ALTER TABLE ${table} ALTER big SET STORAGE EXTERNAL`);
  }
  await sql.query('ALTER TABLE full_rows REPLICA IDENTITY FULL');
}

/** Returns how many transactions were committed. */
export async function runSchedule(url: string, schedule: Schedule): Promise<number> {
  const seeds = randomOf(schedule.seed);
  const clients = Array.from(
    { length: schedule.clients },
    (_, i) => new ScheduleClient(schedule, i, randomOf(seeds(1e9))),
  );
  await Promise.all(clients.map(client => client.run(url)));
  return clients.reduce((sum, client) => sum + client.commits, 0);
}

/** A change of each table, so that whatever DDL came last is published. The last of all is that of `last`. */
export async function endSchedule(sql: pg.Client, clients: number): Promise<void> {
  for (const table of scheduleTables(clients)) await sql.query(`INSERT INTO ${table} (id, v) VALUES (-1, 0)`);
}

class ScheduleClient {
  commits = 0;
  readonly #schedule: Schedule;
  readonly #client: number;
  readonly #random: Random;
  readonly #prepared: string[] = [];
  #columns = 0;
  #sql!: pg.Client;

  constructor(schedule: Schedule, client: number, random: Random) {
    this.#schedule = schedule;
    this.#client = client;
    this.#random = random;
  }

  async run(url: string): Promise<void> {
    const sql = new pg.Client(url);
    this.#sql = sql;
    await sql.connect();
    try {
      // what a prepared transaction of its own holds may be wanted by the next: that one is given up
      await sql.query("SET lock_timeout = '300ms'");
      for (let n = 0; n < this.#schedule.transactions; n++) {
        await this.#transaction(n);
        while (this.#prepared.length > 0 && this.#random(2) === 0) await this.#endPrepared();
      }
      while (this.#prepared.length > 0) await this.#endPrepared();
    } finally {
      await sql.end();
    }
  }

  async #transaction(n: number): Promise<void> {
    const random = this.#random;
    const { isWild } = this.#schedule;
    const end = random(10);
    const isKept = end >= 2;
    try {
      await this.#sql.query('BEGIN');
      if (isKept && random(4) === 0) await this.#sql.query(`TRUNCATE own_${this.#client}`);
      const savepoints: string[] = [];
      for (let step = 1 + random(10); step > 0; step--) {
        const what = random(12);
        if (isWild && what === 4) await this.#sql.query(`TRUNCATE own_${this.#client}`);
        else if (isWild && what === 5)
          await this.#sql.query("SELECT pg_logical_emit_message(true, 'of', 'the schedule')");
        else if (what === 0) {
          savepoints.push(`s${step}`);
          await this.#sql.query(`SAVEPOINT s${step}`);
        } else if (what <= 2 && savepoints.length > 0) {
          const at = random(savepoints.length);
          await this.#sql.query(`ROLLBACK TO ${savepoints[at]}`);
          savepoints.length = at + 1;
        } else if (what === 3 && savepoints.length > 0) await this.#sql.query(`RELEASE ${savepoints.pop()}`);
        else await this.#sql.query(this.#statement());
      }
      if (!isKept) await this.#sql.query('ROLLBACK');
      else if (end < 4) {
        const name = `client ${this.#client} no ${n}`;
        await this.#sql.query(`PREPARE TRANSACTION '${name}'`);
        this.#prepared.push(name);
      } else {
        await this.#sql.query('COMMIT');
        this.commits++;
      }
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await this.#sql.query('ROLLBACK');
    }
  }

  /** Any of them, so that they end in another order than they were prepared in. */
  async #endPrepared(): Promise<void> {
    const [name] = this.#prepared.splice(this.#random(this.#prepared.length), 1);
    const isCommitted = this.#random(3) > 0;
    await this.#sql.query(`${isCommitted ? 'COMMIT' : 'ROLLBACK'} PREPARED '${name}'`);
    if (isCommitted) this.commits++;
  }

  #statement(): string {
    const random = this.#random;
    const table = SHARED[random(2)]!;
    const own = `own_${this.#client}`;
    const v = random(1000);
    const id = (key: number): number => this.#client * 10_000 + key;
    const key = random(60);
    switch (random(12)) {
      case 0:
        // names are never used again: the sink cannot tell a column that is dropped and made anew
        return `ALTER TABLE ${own} ADD COLUMN c${this.#columns++} ${random(2) === 0 ? 'text' : 'integer DEFAULT 7'}`;
      case 1:
        return `ALTER TABLE ${own} ALTER v TYPE bigint`;
      case 2:
      case 3:
        return `INSERT INTO ${own} (id, v, big) VALUES (${key}, ${v}, ${BIG}) ON CONFLICT (id) DO UPDATE SET v = ${v}`;
      case 4:
        return `DELETE FROM ${table} WHERE id BETWEEN ${id(key)} AND ${id(key + 5)}`;
      case 5:
        return `UPDATE ${table} SET id = id + 100 WHERE id BETWEEN ${id(key)} AND ${id(key + 3)} AND NOT EXISTS (SELECT 1 FROM ${table} o WHERE o.id = ${table}.id + 100)`;
      case 6:
        return `UPDATE ${table} SET v = v + 1 WHERE id BETWEEN ${id(0)} AND ${id(200)}`;
      case 7:
        return `UPDATE ${table} SET big = ${BIG} WHERE id BETWEEN ${id(key)} AND ${id(key + 3)}`;
      case 8:
        return this.#bulk();
      default:
        return `INSERT INTO ${table} VALUES (${id(key)}, ${v}, ${random(3) === 0 ? 'NULL' : BIG}) ON CONFLICT (id) DO UPDATE SET v = ${v}`;
    }
  }

  /** As many small as large ones. */
  #bulk(): string {
    const random = this.#random;
    const table = `bulk_${this.#client}`;
    const count = Math.ceil(this.#schedule.maxRows ** (random(1000) / 1000));
    const v = random(1000);
    if (random(4) === 0) return `DELETE FROM ${table} WHERE id BETWEEN ${count} AND ${count * 2}`;
    return `INSERT INTO ${table} SELECT i, ${v} FROM generate_series(1, ${count}) i ON CONFLICT (id) DO UPDATE SET v = ${v}`;
  }
}

/** A lock that does not come, a deadlock, or what cannot be prepared. */
const isRefusal = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && /^(55P03|40P01|40001|0A000|55000|25P02)$/.test(error.code ?? '');
