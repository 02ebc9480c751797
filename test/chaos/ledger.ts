/**
 * A load whose every commit can be checked afterwards: rows count up, n = n + 1, beside inserts, deletes, key changes and transactions of many rows.
 * The final n of a row says which values the topic must hold; lost connections and unknown commits do not matter.
 */
import pg from 'pg';

/** A snapshot reads them in this order: when a fault meets it in the long last one, rows of the others are published, and are deleted before the next. */
export const LEDGER_TABLES = ['counter', 'item', 'volume'] as const;
const COUNTERS = 40;
const ITEMS = 500;
const MANY_ROWS = 5000;

/** `volumeRows` rows make the initial snapshot long enough to be hit. */
export async function createLedger(url: string, volumeRows: number): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(`
      CREATE TABLE volume (id integer PRIMARY KEY, amount numeric(12,2) NOT NULL, note text NOT NULL, at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE counter (id integer PRIMARY KEY, n integer NOT NULL, note text);
      CREATE TABLE item (id integer PRIMARY KEY, name text NOT NULL);
      INSERT INTO counter SELECT n, 0, NULL FROM generate_series(1, ${COUNTERS}) n;
      INSERT INTO volume SELECT n, n * 1.25, repeat('row ' || n || ' ', 20) FROM generate_series(1, ${volumeRows}) n;
      INSERT INTO item SELECT n, 'item ' || n FROM generate_series(1, ${ITEMS}) n;
    `);
  } finally {
    await client.end();
  }
}

/** One connection that writes until the signal aborts; a lost connection is made again. Several may run, each with a `lane` of its own. */
export class LedgerLoad {
  commits = 0;
  /** Keys of items whose insert was acknowledged. */
  readonly inserted: number[] = [];
  readonly #url: string;
  readonly #lanes: number;
  #nextItem: number;

  constructor(url: string, lane: number, lanes: number) {
    this.#url = url;
    this.#lanes = lanes;
    this.#nextItem = ITEMS + 1 + lane;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const client = new pg.Client(this.#url);
      client.on('error', () => {}); // the server was killed: the next query tells, and a new connection is made
      try {
        await client.connect();
        while (!signal.aborted) {
          await this.#transaction(client);
          this.commits++;
        }
      } catch {
        await new Promise(resolve => setTimeout(resolve, 20)); // the server is down, or two transactions met: try again
      } finally {
        await client.end().catch(() => {});
      }
    }
  }

  async #transaction(client: pg.Client): Promise<void> {
    const kind = this.commits % 5;
    const random = (max: number): number => 1 + Math.floor(Math.random() * max);
    const count = `UPDATE counter SET n = n + 1, note = 'n' || n WHERE id BETWEEN $1 AND $1 + 3`;
    const first = random(COUNTERS - 4);
    if (this.commits % 400 === 399) {
      await client.query('UPDATE volume SET amount = amount + 1 WHERE id BETWEEN $1 AND $2', [
        first,
        first + MANY_ROWS,
      ]);
    } else if (kind < 2) {
      await client.query(count, [first]);
    } else if (kind === 2) {
      await client.query('BEGIN');
      await client.query(count, [first]);
      await client.query(count, [first]);
      await client.query('UPDATE volume SET amount = amount + 1 WHERE id = $1', [random(1000)]);
      await client.query('COMMIT');
    } else if (kind === 3) {
      const id = this.#newItem();
      await client.query('INSERT INTO item VALUES ($1, $2)', [id, `new ${id}`]);
      this.inserted.push(id);
      await client.query('DELETE FROM item WHERE id = $1', [random(id)]);
    } else {
      // a key change: delete and create in the topic; the new keys are never used elsewhere
      const id = this.#newItem();
      await client.query('UPDATE item SET id = -$1::int WHERE id = (SELECT min(id) FROM item WHERE id > 0)', [id]);
    }
  }

  #newItem(): number {
    const id = this.#nextItem;
    this.#nextItem += this.#lanes;
    return id;
  }
}

/** The count each row reached. */
export async function finalCounts(url: string): Promise<Map<number, number>> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ id: number; n: number }>('SELECT id, n FROM counter');
    return new Map(rows.map(r => [r.id, r.n]));
  } finally {
    await client.end();
  }
}
