/** The ledger's load (see ledger.ts) in MySQL, beside a table whose columns and name change all the while. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { connectMysql } from '../services/localMysql.ts';

export const LEDGER_TABLES = ['counter', 'item', 'volume', 'storm'] as const;
const COUNTERS = 40;
const ITEMS = 500;
const MANY_ROWS = 2000;
const STORM_ROWS = 50;
const RETRY_MS = 20;

const numbers = (count: number): string =>
  `WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${count}) SELECT`;

export const LEDGER = `
  CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL, note varchar(20));
  CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL);
  CREATE TABLE volume (id int PRIMARY KEY, amount decimal(12,2) NOT NULL, note text NOT NULL, at timestamp(6) NOT NULL DEFAULT current_timestamp(6));
  CREATE TABLE storm (id int PRIMARY KEY, v int NOT NULL, t varchar(10));
  SET cte_max_recursion_depth = ${MANY_ROWS + 1};
  INSERT INTO counter ${numbers(COUNTERS)} n, 0, NULL FROM r;
  INSERT INTO item ${numbers(ITEMS)} n, concat('item ', n) FROM r;
  INSERT INTO volume (id, amount, note) ${numbers(MANY_ROWS)} n, n * 1.25, repeat(concat('row ', n, ' '), 20) FROM r;
  INSERT INTO storm ${numbers(STORM_ROWS)} n, 0, 'first' FROM r`;

const random = (max: number): number => 1 + Math.floor(Math.random() * max);

/** Works until the signal aborts; a lost connection is made again. */
async function persist(url: string, signal: AbortSignal, work: (client: Connection) => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    const client = await connectMysql(url).catch(() => null);
    try {
      while (client !== null && !signal.aborted) await work(client);
    } catch {
      // the server is down, or two transactions met: try again
    } finally {
      client?.destroy();
    }
    await new Promise(resolve => setTimeout(resolve, RETRY_MS));
  }
}

/** One connection that writes. Several may run, each with a `lane` of its own; every second one has its transactions compressed. */
export class MysqlLedgerLoad {
  commits = 0;
  /** Keys of items whose insert was acknowledged. */
  readonly inserted: number[] = [];
  readonly #url: string;
  readonly #lanes: number;
  readonly #isCompressed: boolean;
  #nextItem: number;

  constructor(url: string, lane: number, lanes: number) {
    this.#url = url;
    this.#lanes = lanes;
    this.#isCompressed = lane % 2 === 1;
    this.#nextItem = ITEMS + 1 + lane;
  }

  async run(signal: AbortSignal): Promise<void> {
    let prepared: Connection | null = null;
    await persist(this.#url, signal, async client => {
      if (prepared !== client && this.#isCompressed)
        await client.query('SET SESSION binlog_transaction_compression = ON');
      prepared = client;
      await this.#transaction(client);
      this.commits++;
    });
  }

  async #transaction(client: Connection): Promise<void> {
    const kind = this.commits % 6;
    const first = random(COUNTERS - 4);
    // the note is of the count before
    const count = `UPDATE counter SET note = concat('n', n), n = n + 1 WHERE id BETWEEN ${first} AND ${first + 3}`;
    if (this.commits % 400 === 399) {
      await client.query('UPDATE volume SET amount = amount + 1');
    } else if (kind < 2) {
      await client.query(count);
    } else if (kind === 2) {
      await client.query('BEGIN');
      await client.query(count);
      await client.query(count);
      await client.query('UPDATE volume SET amount = amount + 1 WHERE id = ?', [random(1000)]);
      await client.query('COMMIT');
    } else if (kind === 3) {
      const id = this.#newItem();
      await client.query('INSERT INTO item VALUES (?, ?)', [id, `new ${id}`]);
      this.inserted.push(id);
      await client.query('DELETE FROM item WHERE id = ?', [random(id)]);
    } else if (kind === 4) {
      await client.query('UPDATE storm SET v = v + 1 WHERE id = ?', [random(STORM_ROWS)]);
    } else {
      // a key change: delete and create in the topic; the new keys are never used elsewhere
      const id = this.#newItem();
      await client.query('UPDATE item SET id = ? WHERE id > 0 ORDER BY id LIMIT 1', [-id]);
    }
  }

  #newItem(): number {
    const id = this.#nextItem;
    this.#nextItem += this.#lanes;
    return id;
  }
}

/** Columns that come and go, types that grow, and tables that are put in each other's place, as gh-ost and pt-online-schema-change do it. */
export class DdlStorm {
  statements = 0;
  readonly #url: string;
  readonly #pauseMs: number;
  #column = 0;

  constructor(url: string, pauseMs: number) {
    this.#url = url;
    this.#pauseMs = pauseMs;
  }

  run(signal: AbortSignal): Promise<void> {
    return persist(this.#url, signal, async client => {
      await this.#change(client);
      this.statements++;
      await new Promise(resolve => setTimeout(resolve, this.#pauseMs));
    });
  }

  async #change(client: Connection): Promise<void> {
    const [rows] = await client.query<RowDataPacket[]>(
      "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = database() AND table_name = 'storm' AND column_name LIKE 'c%' ORDER BY ordinal_position",
    );
    const added = rows.map(row => row.name as string);
    switch (this.statements % 4) {
      case 0: {
        // always another name: what a column of this name once had is not in the log of its next life
        const column = `c${++this.#column}_${Date.now() % 1e9}`;
        await client.query(`ALTER TABLE storm ADD COLUMN ${column} varchar(40)`);
        await client.query(`UPDATE storm SET ${column} = concat('${column} ', id, ' ', v)`);
        break;
      }
      case 1:
        if (added.length > 2) await client.query(`ALTER TABLE storm DROP COLUMN ${added[0]}`);
        break;
      case 2:
        await client.query(`ALTER TABLE storm MODIFY t varchar(${10 + (this.statements % 200)})`);
        await client.query("UPDATE storm SET t = left(concat(t, 'x'), 10) WHERE id = 1");
        break;
      default:
        await client.query(`
          DROP TABLE IF EXISTS _storm_gho, _storm_del;
          CREATE TABLE _storm_gho LIKE storm;
          LOCK TABLES storm WRITE, _storm_gho WRITE;
          INSERT INTO _storm_gho SELECT * FROM storm;
          RENAME TABLE storm TO _storm_del, _storm_gho TO storm;
          UNLOCK TABLES;
          DROP TABLE _storm_del`);
    }
  }
}

/** The count each row reached. */
export async function finalCounts(client: Connection): Promise<Map<number, number>> {
  const [rows] = await client.query<RowDataPacket[]>('SELECT id, n FROM counter');
  return new Map(rows.map(row => [Number(row.id), Number(row.n)]));
}
