/**
 * The shop: a small schema with keys, text, numbers, times, JSON and arrays, and a live workload on it that inserts, updates and deletes
 * as a shop's own service would, in transactions. The workload counts the row changes it committed.
 */
import pg from 'pg';

export const SHOP_TABLES = ['customer', 'product', 'orders', 'order_item', 'lag_probe'] as const;

const SCHEMA = `
  CREATE TABLE customer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email varchar(120) NOT NULL UNIQUE,
    name text NOT NULL,
    tags text[] NOT NULL DEFAULT '{}',
    born date,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE product (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sku uuid NOT NULL DEFAULT gen_random_uuid(),
    title text NOT NULL,
    price numeric(10,2) NOT NULL,
    stock integer NOT NULL,
    details jsonb
  );
  CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customer,
    state varchar(12) NOT NULL DEFAULT 'new',
    placed_at timestamp NOT NULL DEFAULT now(),
    paid boolean NOT NULL DEFAULT false,
    total numeric(12,2)
  );
  CREATE TABLE order_item (
    order_id bigint NOT NULL REFERENCES orders ON DELETE CASCADE,
    line smallint NOT NULL,
    product_id integer NOT NULL REFERENCES product,
    quantity integer NOT NULL,
    weight double precision,
    PRIMARY KEY (order_id, line)
  );
  CREATE TABLE lag_probe (id integer PRIMARY KEY, sent_at_ms double precision NOT NULL);
`;

/** The probe's twin in the target tells, at its commit, when a change arrived. The other tables are made by the sink. */
export const TARGET_SCHEMA = `
  CREATE TABLE lag_probe (id integer PRIMARY KEY, sent_at_ms double precision NOT NULL);
  CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_notify('arrived', NEW.id || ' ' || NEW.sent_at_ms); RETURN NULL; END $$;
  CREATE TRIGGER tell AFTER INSERT ON lag_probe FOR EACH ROW EXECUTE FUNCTION tell();
`;

const CUSTOMERS = 500;
const PRODUCTS = 200;

export async function createShop(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(SCHEMA);
    await client.query(`
      INSERT INTO customer (email, name, tags, born)
        SELECT 'c' || n || '@example.org', 'Customer ' || n || CASE WHEN n % 7 = 0 THEN ' 🛒' ELSE '' END,
               CASE WHEN n % 3 = 0 THEN ARRAY['vip', 'tag,' || n] ELSE '{}' END,
               CASE WHEN n % 5 > 0 THEN date '1950-01-01' + n * 37 END
        FROM generate_series(1, ${CUSTOMERS}) n;
      INSERT INTO product (title, price, stock, details)
        SELECT 'Product ' || n, (n * 7.13)::numeric(10,2), 1000, CASE WHEN n % 2 = 0 THEN jsonb_build_object('colour', 'c' || n, 'size', n) END
        FROM generate_series(1, ${PRODUCTS}) n;
      INSERT INTO orders (customer_id, total) SELECT 1 + n % ${CUSTOMERS}, n * 1.5 FROM generate_series(1, 1000) n;
      INSERT INTO order_item SELECT o.id, l, 1 + (o.id * l) % ${PRODUCTS}, l, o.id * 0.1 FROM orders o, generate_series(1, 2) l;
    `);
  } finally {
    await client.end();
  }
}

const random = (max: number): number => 1 + Math.floor(Math.random() * max);

/** Runs until the signal aborts; `changes` counts committed row changes. */
export class ShopWorkload {
  changes = 0;
  readonly #client: pg.Client;
  #probe = 0;

  constructor(url: string) {
    this.#client = new pg.Client(url);
  }

  async run(signal: AbortSignal, transactionsPerSecond: number): Promise<void> {
    await this.#client.connect();
    const started = performance.now();
    try {
      for (let n = 1; !signal.aborted; n++) {
        await this.#transaction(n);
        const aheadMs = started + (n * 1000) / transactionsPerSecond - performance.now();
        if (aheadMs > 1) await new Promise(resolve => setTimeout(resolve, aheadMs));
      }
    } finally {
      await this.#client.end();
    }
  }

  async #transaction(n: number): Promise<void> {
    if (n % 10 === 0) {
      await this.#client.query('INSERT INTO lag_probe VALUES ($1, $2)', [++this.#probe, Date.now()]);
      this.changes += 1;
      return;
    }
    await this.#client.query('BEGIN');
    let rows = 0;
    const change = async (text: string, values: unknown[]): Promise<pg.QueryResult> => {
      const result = await this.#client.query(text, values);
      rows += result.rowCount ?? 0;
      return result;
    };
    const kind = n % 4;
    if (kind < 2) {
      const placed = await change('INSERT INTO orders (customer_id) VALUES ($1) RETURNING id', [random(CUSTOMERS)]);
      const items = random(3);
      for (let line = 1; line <= items; line++) {
        const item = [placed.rows[0].id, line, random(PRODUCTS), random(9), Math.random()];
        await change('INSERT INTO order_item VALUES ($1, $2, $3, $4, $5)', item);
        await change('UPDATE product SET stock = stock - $2 WHERE id = $1', [item[2], item[3]]);
      }
    } else if (kind === 2) {
      const paid = `UPDATE orders SET paid = true, state = 'paid', total = (SELECT sum(quantity * price) FROM order_item JOIN product p ON p.id = product_id WHERE order_id = orders.id)
        WHERE id IN (SELECT id FROM orders WHERE NOT paid ORDER BY id LIMIT 3)`;
      await change(paid, []);
      await change(
        "UPDATE product SET details = coalesce(details, '{}') || jsonb_build_object('seen', $2::int) WHERE id = $1",
        [random(PRODUCTS), n],
      );
    } else {
      const oldest = "(SELECT id FROM orders WHERE state = 'paid' ORDER BY id LIMIT 1)";
      await change(`DELETE FROM order_item WHERE order_id = ${oldest}`, []);
      await change(`DELETE FROM orders WHERE id = ${oldest}`, []);
      await change('UPDATE customer SET name = $2 WHERE id = $1', [random(CUSTOMERS), `Customer of round ${n}`]);
    }
    await this.#client.query('COMMIT');
    this.changes += rows;
  }
}
