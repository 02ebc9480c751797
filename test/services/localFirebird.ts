/**
 * Firebird servers of the tests (test/services/firebird.sh) and databases on them, each with a journal of its own. FIREBIRD5_PORT and FIREBIRD4_PORT say
 * where the shared servers are. Tests that kill a server start one of their own.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { connect, type Database, disconnect, type FirebirdAddress } from '../../connectors/firebird/connection.ts';
import { freePort } from './localPostgres.ts';
import { waitUntil } from './waitUntil.ts';

const run = promisify(execFile);
const START_TIMEOUT_MS = 20_000;
const SCRIPT = 'test/services/firebird.sh';

export type FirebirdVersion = 4 | 5;

interface Cleanups {
  after(f: () => Promise<void>): void;
}

const PORTS: Readonly<Record<FirebirdVersion, string>> = {
  4: process.env.FIREBIRD4_PORT ?? '13040',
  5: process.env.FIREBIRD5_PORT ?? '13050',
};

export class FirebirdServer {
  readonly version: FirebirdVersion;
  readonly port: number;
  /** '' = the shared one. */
  readonly #instance: string;

  private constructor(version: FirebirdVersion, port: number, instance: string) {
    this.version = version;
    this.port = port;
    this.#instance = instance;
  }

  static shared(version: FirebirdVersion): FirebirdServer {
    return new FirebirdServer(version, Number(PORTS[version]), '');
  }

  /** A server of its own, which goes with the test. */
  static async start(t: Cleanups, version: FirebirdVersion): Promise<FirebirdServer> {
    const server = new FirebirdServer(version, await freePort(), randomBytes(4).toString('hex'));
    t.after(async () => {
      await server.script(['purge']);
    });
    await server.script(['start']);
    return server;
  }

  /** Ends the server without a shutdown, as a crash would. */
  async kill(): Promise<void> {
    await this.script(['kill']);
  }

  /** Starts it after `kill`. */
  async restart(): Promise<void> {
    // The port may be taken for a moment still.
    await waitUntil('the server starts', START_TIMEOUT_MS, () =>
      this.script(['start']).then(
        () => true,
        () => false,
      ),
    );
  }

  async script(args: readonly string[], settings: Readonly<Record<string, string>> = {}): Promise<string> {
    const own = { FB_MAJOR: String(this.version), FB_INSTANCE: this.#instance, PORT: String(this.port) };
    const { stdout } = await run('bash', [SCRIPT, ...args], {
      env: { ...process.env, ...own, ...settings },
      timeout: 60_000,
    });
    return stdout;
  }
}

export class TestFirebird {
  readonly server: FirebirdServer;
  readonly name: string;
  readonly address: FirebirdAddress;
  /** Where the server archives segments. */
  readonly archive: string;

  private constructor(server: FirebirdServer, name: string, archive: string) {
    this.server = server;
    this.name = name;
    this.archive = archive;
    this.address = {
      host: '127.0.0.1',
      port: server.port,
      database: `/data/${name}/${name}.fdb`,
      user: 'SYSDBA',
      password: process.env.FB_PASSWORD ?? 'masterkey',
      role: null,
    };
  }

  /** `journal` are settings of firebird.sh, such as JOURNAL_SEGMENT_SIZE. */
  static async create(
    t: Cleanups,
    on: FirebirdVersion | FirebirdServer,
    journal: Readonly<Record<string, string>> = {},
  ): Promise<TestFirebird> {
    const server = typeof on === 'number' ? FirebirdServer.shared(on) : on;
    const name = `t${randomBytes(5).toString('hex')}`;
    const printed = await server.script(['createdb', name], { JOURNAL_ARCHIVE_TIMEOUT: '1', ...journal });
    const archive = /^archive=(.*)$/m.exec(printed)![1]!;
    const database = new TestFirebird(server, name, archive);
    t.after(async () => {
      await server.script(['dropdb', name]);
    });
    return database;
  }

  /** As sinks take it. */
  get url(): string {
    return `firebird://${this.address.host}:${this.address.port}/${this.address.database}`;
  }

  connect(): Promise<Database> {
    return connect(this.address, new AbortController().signal);
  }

  /** Statements, each in a transaction of its own. */
  async run(...statements: readonly string[]): Promise<void> {
    const database = await this.connect();
    try {
      for (const statement of statements) await database.queryAsync(statement);
    } finally {
      await disconnect(database);
    }
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    const database = await this.connect();
    try {
      return await database.queryAsync(sql);
    } finally {
      await disconnect(database);
    }
  }
}
