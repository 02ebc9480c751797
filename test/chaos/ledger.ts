/**
 * A load whose every commit can be checked afterwards: rows count up, n = n + 1, beside inserts, deletes and key changes. The final n of a row
 * says which values the topic must hold, in order, at least once; lost connections and unknown commits do not matter.
 */
import pg from 'pg';

export const LEDGER_TABLES = ['counter', 'bulk', 'item'] as const;
const COUNTERS = 40;

/** `bulkRows` rows make the initial snapshot long enough to be hit. */
export async function createLedger(url: string, bulkRows: number): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(`
      CREATE TABLE counter (id integer PRIMARY KEY, n integer NOT NULL, note text);
      CREATE TABLE bulk (id integer PRIMARY KEY, amount numeric(12,2) NOT NULL, note text NOT NULL, at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE item (id integer PRIMARY KEY, name text NOT NULL);
      INSERT INTO counter SELECT n, 0, NULL FROM generate_series(1, ${COUNTERS}) n;
      INSERT INTO bulk SELECT n, n * 1.25, repeat('row ' || n || ' ', 20) FROM generate_series(1, ${bulkRows}) n;
      INSERT INTO item SELECT n, 'item ' || n FROM generate_series(1, 500) n;
    `);
  } finally {
    await client.end();
  }
}

/** Runs until the signal aborts; a lost connection is made again. */
export class LedgerLoad {
  commits = 0;
  readonly #url: string;
  #nextItem = 501;

  constructor(url: string) {
    this.#url = url;
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
        await new Promise(resolve => setTimeout(resolve, 20)); // the server is down: try again
      } finally {
        await client.end().catch(() => {});
      }
    }
  }

  async #transaction(client: pg.Client): Promise<void> {
    const kind = this.commits % 5;
    const random = (max: number): number => 1 + Math.floor(Math.random() * max);
    if (kind < 3) {
      const first = random(COUNTERS - 4);
      await client.query("UPDATE counter SET n = n + 1, note = 'n' || n WHERE id BETWEEN $1 AND $1 + 3", [first]);
    } else if (kind === 3) {
      const id = this.#nextItem++;
      await client.query('INSERT INTO item VALUES ($1, $2) ON CONFLICT DO NOTHING', [id, `new ${id}`]);
      await client.query('DELETE FROM item WHERE id = $1', [random(id)]);
      await client.query('UPDATE bulk SET amount = amount + 1 WHERE id = $1', [random(1000)]);
    } else {
      // a key change: delete and create in the topic; the new keys are never used elsewhere
      const id = this.#nextItem++;
      await client.query('UPDATE item SET id = -$1::int WHERE id = (SELECT min(id) FROM item WHERE id > 0)', [id]);
    }
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
