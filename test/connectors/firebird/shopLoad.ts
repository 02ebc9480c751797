/**
 * A mixed workload on a Firebird database: short and long transactions, savepoints, changes of keys, blobs, sequences, DDL in between. What is rolled
 * back, or undone by a savepoint, carries a mark of its own, which no consumer may ever see once the server has said that it is undone.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, disconnect, quoteText, type Transaction } from '../../../connectors/firebird/connection.ts';
import type { TestFirebird } from '../../services/localFirebird.ts';

const LONG_STATEMENTS = 80;
const RETRY_MS = 100;

export async function createShop(database: TestFirebird): Promise<void> {
  await database.run(
    `create table ITEM (ID integer not null primary key, N bigint, V varchar(60), A numeric(18,4), B blob sub_type text, X blob sub_type binary,
       D timestamp, Z timestamp with time zone, I int128, F decfloat(34), K boolean)`,
    'create table PAIR (A integer not null, B varchar(20) not null, V varchar(60), primary key (A, B))',
    'create table ENTRY (ID bigint not null primary key, CLIENT integer not null, NOTE varchar(60))',
    'create sequence ENTRY_ID',
    "insert into ITEM (ID, N, V) values (-1, 1, 'before the snapshot')",
    "insert into PAIR values (-1, 'before', 'the snapshot')",
  );
}

/** What is made while the load runs; each takes effect between transactions. */
const DDL: readonly string[] = [
  'alter table ITEM add E1 integer',
  'create table LATER (ID integer not null primary key, V varchar(60))',
  'alter table PAIR alter column V type varchar(90)',
  'alter table ITEM add E2 varchar(30), add E3 blob sub_type text',
  'alter table ITEM alter column V type varchar(120)',
  'recreate sequence LATER_ID',
];
/** Firebird takes 255 formats of a table. */
const MAX_STORM = 120;

/** Numbers in [0, below) from a seed (mulberry32). */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return below => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** One connection's work, in rows of its own; it connects again where the server dies. */
export class ShopClient {
  readonly #database: TestFirebird;
  readonly #client: number;
  readonly #random: (below: number) => number;
  readonly #doesDdl: boolean;
  #connection: Database | null = null;
  #ddl = 0;
  #storms = 0;
  /** Of which the server said that it has them. */
  commits = 0;
  losses = 0;
  /** Marks of what the server said that it undid. */
  readonly undone = new Set<string>();
  readonly #seed: number;
  #marks = 0;

  constructor(database: TestFirebird, client: number, seed: number, doesDdl: boolean) {
    this.#database = database;
    this.#client = client;
    this.#seed = seed;
    this.#random = randomFrom(seed + client);
    this.#doesDdl = doesDdl;
  }

  /** Works until told to stop. `pauseMs` is between transactions. */
  async run(signal: AbortSignal, pauseMs = 0): Promise<void> {
    for (let n = 0; !signal.aborted; n++) {
      try {
        this.#connection ??= await this.#database.connect();
        await this.#transaction(this.#connection);
        if (this.#doesDdl && n % 6 === 5) await this.#change(this.#connection);
      } catch (error) {
        if (!isLoss(error)) throw error;
        this.losses++;
        await disconnect(this.#connection);
        this.#connection = null;
        await delay(RETRY_MS);
      }
      if (pauseMs > 0) await delay(pauseMs, undefined, { signal }).catch(() => {});
    }
    await disconnect(this.#connection);
    this.#connection = null;
  }

  async #transaction(connection: Database): Promise<void> {
    // With the server's automatic undo a transaction that is rolled back ends as committed, its changes taken back: after a kill -9 in that moment the database was
    // seen to have them, though its journal says ROLLBACK.
    const transaction = await connection.transactionAsync({ autoUndo: false });
    const mark = this.#random(4) === 0 ? this.#mark() : null;
    const count = this.#random(10) === 0 ? LONG_STATEMENTS : 1 + this.#random(4);
    await this.#statements(transaction, count, mark);
    if (this.#random(3) === 0) {
      await transaction.queryAsync('savepoint S');
      const undone = this.#random(2) === 0 ? this.#mark() : null;
      await this.#statements(transaction, 3, undone ?? mark);
      if (undone !== null) {
        await transaction.queryAsync('rollback to savepoint S');
        this.undone.add(undone);
      }
      await this.#statements(transaction, 1, mark);
    }
    if (mark !== null) {
      await transaction.rollbackAsync();
      this.undone.add(mark);
    } else {
      await transaction.commitAsync();
      this.commits++;
    }
  }

  #mark(): string {
    return `undone ${this.#seed}.${this.#client}.${++this.#marks}`;
  }

  /** `mark` stands in every row that must not be seen; deletes, which show nothing, are left out then. */
  async #statements(transaction: Transaction, count: number, mark: string | null): Promise<void> {
    const random = this.#random;
    for (let i = 0; i < count; i++) {
      const id = this.#client * 1000 + random(40);
      const text = mark ?? `${'ü€x'.repeat(random(15))}${random(1e6)}`;
      switch (random(8)) {
        case 0:
          if (mark === null) await transaction.queryAsync(`delete from ITEM where ID = ${id}`);
          break;
        case 1:
          await transaction.queryAsync(`update ITEM set N = ${random(1e9)}, V = ? where ID = ${id}`, [text]);
          break;
        case 2:
          await transaction.queryAsync(
            `insert into ENTRY (ID, CLIENT, NOTE) values (next value for ENTRY_ID, ${this.#client}, ?)`,
            [text],
          );
          break;
        case 3:
          await transaction.queryAsync('update or insert into PAIR (A, B, V) values (?, ?, ?) matching (A, B)', [
            id,
            `b${random(3)}`,
            text,
          ]);
          break;
        case 4:
          // A change of key, to one that is free.
          await transaction.queryAsync(
            `update PAIR set B = 'c' || gen_id(ENTRY_ID, 1), V = ? where A = ${id} and B = 'b0'`,
            [text],
          );
          break;
        default:
          await this.#item(transaction, id, text);
      }
    }
  }

  async #item(transaction: Transaction, id: number, text: string): Promise<void> {
    const random = this.#random;
    // As literals: the client throws where nobody can catch it if a connection is lost while it sends a blob.
    const blob = random(4) === 0 ? 'null' : quoteText(`${text} ${'blöb '.repeat(random(400))}`);
    const bytes = random(4) === 0 ? 'null' : `x'${Buffer.alloc(random(3000), random(256)).toString('hex')}'`;
    await transaction.queryAsync(
      `update or insert into ITEM (ID, N, V, A, B, X, D, Z, I, F, K) values (${id}, ${BigInt(random(2 ** 31)) << 31n}, ?, ${random(1e9)}.${random(1000)}, ${blob}, ${bytes},
         dateadd(${random(1e9)} millisecond to timestamp '2001-02-03 04:05:06.7891'), timestamp '2024-02-29 01:02:03.4567 Europe/Berlin',
         ${random(1e9)}00000000000000000000${random(1e9)}, ${random(1e9)}.${random(1e9)}, ${random(2) === 0})
       matching (ID)`,
      [text],
    );
  }

  /** The next DDL, which may be there already where its answer was lost; then rows of what it made. */
  async #change(connection: Database): Promise<void> {
    const sql = DDL[this.#ddl];
    const random = this.#random;
    if (sql !== undefined) {
      await this.#alter(connection, sql);
      this.#ddl++;
    } else await this.#storm(connection);
    if (this.#ddl >= 1)
      await connection.queryAsync(`update ITEM set E1 = ${random(1e6)} where ID < ${this.#ownBelow()}`);
    if (this.#ddl >= 2)
      await connection.queryAsync(
        `update or insert into LATER values (${random(30)}, 'later ${random(1e6)}') matching (ID)`,
      );
    if (this.#ddl >= 4)
      await connection.queryAsync(`update ITEM set E2 = 'e${random(1e6)}', E3 = 'more' where ID < ${this.#ownBelow()}`);
  }

  /** Columns come and go. No DDL that fails at its commit: Firebird damages its own records by what is written after one ("decompression overran buffer"). */
  async #storm(connection: Database): Promise<void> {
    const n = this.#storms;
    if (n >= MAX_STORM) return;
    const column = `T${this.#seed}_${n - (n % 2)}`;
    switch (n % 2) {
      case 0:
        await this.#alter(connection, `alter table ITEM add ${column} varchar(${1 + this.#random(40)})`);
        await connection.queryAsync(`update ITEM set ${column} = 'x' where ID < ${this.#ownBelow()}`);
        break;
      default:
        await this.#alter(connection, `alter table ITEM drop ${column}, add ${column}B bigint`);
        await connection.queryAsync(`update ITEM set ${column}B = 1 where ID < ${this.#ownBelow()}`);
    }
    // One whose answer was lost is made again.
    this.#storms++;
  }

  /**
   * Bounds rows of this client alone. Firebird 4.0.5 and 5.0.4 let an update that waits for another transaction, which is then rolled back, go on from that
   * transaction's values: they stay in the database, and its journal has them as the row before the update.
   */
  #ownBelow(): number {
    return this.#client * 1000 + this.#random(60);
  }

  async #alter(connection: Database, sql: string): Promise<void> {
    await connection.queryAsync(sql).catch((error: unknown) => {
      const isThere = /already exists|duplicate value|violation of primary or unique key|not found|does not/i;
      if (isLoss(error) || !isThere.test(String(error))) throw error;
    });
  }

  /** Whether all DDL was made. */
  get isThroughDdl(): boolean {
    return !this.#doesDdl || this.#ddl === DDL.length;
  }
}

/**
 * The server died, or is not back yet. Conflicts between clients, which only their DDL has, are tried again too, and those with a transaction that a lost
 * connection left behind.
 */
const isLoss = (error: unknown): boolean =>
  /FB_UNREACHABLE|FB_LOGIN_FAILED/.test(String((error as { code?: unknown }).code)) ||
  /lost|closed|ECONN|EPIPE|shutdown|bugcheck|deadlock|lock conflict|concurrent|in use|violation of primary/i.test(
    String(error),
  );
