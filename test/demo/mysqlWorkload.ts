/**
 * The shop in MySQL: a small schema with keys, text, numbers, times and JSON, and a live workload on it that inserts, updates and deletes as a shop's own
 * service would, in transactions.
 */
import type { Connection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';

export const SHOP_TABLES = ['customer', 'product', 'orders', 'order_item', 'lag_probe'] as const;

const CUSTOMERS = 500;
const PRODUCTS = 200;

const numbers = (count: number): string =>
  `WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${count}) SELECT`;

export const SHOP = `
  CREATE TABLE customer (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    email varchar(120) NOT NULL UNIQUE,
    name text NOT NULL,
    level enum('new', 'regular', 'vip') NOT NULL DEFAULT 'new',
    born date,
    created_at timestamp(6) NOT NULL DEFAULT current_timestamp(6)
  );
  CREATE TABLE product (
    id int AUTO_INCREMENT PRIMARY KEY,
    sku binary(16) NOT NULL,
    title text NOT NULL,
    price decimal(10,2) NOT NULL,
    stock int NOT NULL,
    details json
  );
  CREATE TABLE orders (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    customer_id bigint NOT NULL,
    state varchar(12) NOT NULL DEFAULT 'new',
    placed_at datetime(3) NOT NULL DEFAULT current_timestamp(3),
    paid bit(1) NOT NULL DEFAULT b'0',
    total decimal(12,2),
    FOREIGN KEY (customer_id) REFERENCES customer (id)
  );
  CREATE TABLE order_item (
    order_id bigint NOT NULL,
    line smallint NOT NULL,
    product_id int NOT NULL,
    quantity int NOT NULL,
    weight double,
    PRIMARY KEY (order_id, line),
    FOREIGN KEY (order_id) REFERENCES orders (id)
  );
  CREATE TABLE lag_probe (id int PRIMARY KEY, sent_at_ms double NOT NULL);
  INSERT INTO customer (email, name, level, born) ${numbers(CUSTOMERS)}
    concat('c', n, '@example.org'), concat('Customer ', n, if(n % 7 = 0, ' 🛒', '')), 1 + n % 3,
    if(n % 5 > 0, date '1950-01-01' + INTERVAL n * 37 DAY, NULL) FROM r;
  INSERT INTO product (sku, title, price, stock, details) ${numbers(PRODUCTS)}
    unhex(left(sha2(n, 256), 32)), concat('Product ', n), n * 7.13, 1000, if(n % 2 = 0, json_object('colour', concat('c', n), 'size', n), NULL) FROM r;
  INSERT INTO orders (customer_id, total) ${numbers(1000)} 1 + n % ${CUSTOMERS}, n * 1.5 FROM r;
  INSERT INTO order_item SELECT o.id, l.n, 1 + (o.id * l.n) % ${PRODUCTS}, l.n, o.id * 0.1 FROM orders o, (SELECT 1 AS n UNION SELECT 2) l`;

const random = (max: number): number => 1 + Math.floor(Math.random() * max);

/** Runs until the signal aborts; `changes` counts committed row changes. */
export class MysqlWorkload {
  changes = 0;
  readonly #client: Connection;
  #probe = 0;

  constructor(client: Connection) {
    this.#client = client;
  }

  async run(signal: AbortSignal, transactionsPerSecond: number): Promise<void> {
    const started = performance.now();
    for (let n = 1; !signal.aborted; n++) {
      await this.#transaction(n);
      const aheadMs = started + (n * 1000) / transactionsPerSecond - performance.now();
      if (aheadMs > 1) await new Promise(resolve => setTimeout(resolve, aheadMs));
    }
  }

  async #transaction(n: number): Promise<void> {
    const client = this.#client;
    if (n % 10 === 0) {
      await client.query('INSERT INTO lag_probe VALUES (?, ?)', [++this.#probe, Date.now()]);
      this.changes += 1;
      return;
    }
    let rows = 0;
    const change = async (text: string, values: readonly unknown[]): Promise<number> => {
      const [result] = await client.query<ResultSetHeader>(text, [...values]);
      rows += /^update/i.test(text) ? result.changedRows : result.affectedRows;
      return result.insertId;
    };
    const ids = async (where: string): Promise<readonly unknown[]> =>
      (await client.query<RowDataPacket[]>(`SELECT id FROM orders WHERE ${where}`))[0].map(row => row.id);
    await client.query('BEGIN');
    const kind = n % 4;
    if (kind < 2) {
      const order = await change('INSERT INTO orders (customer_id) VALUES (?)', [random(CUSTOMERS)]);
      const items = random(3);
      for (let line = 1; line <= items; line++) {
        const [product, quantity] = [random(PRODUCTS), random(9)];
        await change('INSERT INTO order_item VALUES (?, ?, ?, ?, ?)', [order, line, product, quantity, Math.random()]);
        await change('UPDATE product SET stock = stock - ? WHERE id = ?', [quantity, product]);
      }
    } else if (kind === 2) {
      const total = 'SELECT sum(quantity * price) FROM order_item JOIN product p ON p.id = product_id';
      for (const id of await ids('paid = 0 ORDER BY id LIMIT 3')) {
        await change(
          `UPDATE orders SET paid = 1, state = 'paid', total = (${total} WHERE order_id = orders.id) WHERE id = ?`,
          [id],
        );
      }
      await change("UPDATE product SET details = json_set(coalesce(details, '{}'), '$.seen', ?) WHERE id = ?", [
        n,
        random(PRODUCTS),
      ]);
    } else {
      for (const id of await ids("state = 'paid' ORDER BY id LIMIT 1")) {
        await change('DELETE FROM order_item WHERE order_id = ?', [id]);
        await change('DELETE FROM orders WHERE id = ?', [id]);
      }
      await change('UPDATE customer SET name = ? WHERE id = ?', [`Customer of round ${n}`, random(CUSTOMERS)]);
    }
    await client.query('COMMIT');
    this.changes += rows;
  }
}
