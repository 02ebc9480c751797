/**
 * Databases on the Firebird servers of the tests (test/services/firebird.sh), each with a journal of its own. FIREBIRD5_PORT and FIREBIRD4_PORT say where
 * the servers are; FIREBIRD_SERVICES_DIR, where their files are seen from here.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { connect, type Database, disconnect, type FirebirdAddress } from '../../connectors/firebird/connection.ts';
import { waitUntil } from './waitUntil.ts';

const run = promisify(execFile);
const START_TIMEOUT_MS = 20_000;
const SCRIPT = 'test/services/firebird.sh';

export type FirebirdVersion = 4 | 5;

const PORTS: Readonly<Record<FirebirdVersion, string>> = {
  4: process.env.FIREBIRD4_PORT ?? '13040',
  5: process.env.FIREBIRD5_PORT ?? '13050',
};

export class TestFirebird {
  readonly version: FirebirdVersion;
  readonly name: string;
  readonly address: FirebirdAddress;
  /** Where the server archives segments. */
  readonly archive: string;

  private constructor(version: FirebirdVersion, name: string, archive: string) {
    this.version = version;
    this.name = name;
    this.archive = archive;
    this.address = {
      host: '127.0.0.1',
      port: Number(PORTS[version]),
      database: `/data/${name}/${name}.fdb`,
      user: 'SYSDBA',
      password: process.env.FB_PASSWORD ?? 'masterkey',
      role: null,
    };
  }

  /** `journal` are settings of firebird.sh, such as JOURNAL_SEGMENT_SIZE. */
  static async create(
    t: { after(f: () => Promise<void>): void },
    version: FirebirdVersion,
    journal: Readonly<Record<string, string>> = {},
  ): Promise<TestFirebird> {
    const name = `t${randomBytes(5).toString('hex')}`;
    const printed = await script(version, ['createdb', name], { JOURNAL_ARCHIVE_TIMEOUT: '1', ...journal });
    const archive = /^archive=(.*)$/m.exec(printed)![1]!;
    const database = new TestFirebird(version, name, archive);
    t.after(async () => {
      await script(version, ['dropdb', name]);
    });
    return database;
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

/** Ends the server without a shutdown, as a crash would, and starts it again. */
export async function crashFirebird(version: FirebirdVersion): Promise<void> {
  await script(version, ['kill']);
  // The port may be taken for a moment still.
  await waitUntil('the server starts', START_TIMEOUT_MS, () =>
    script(version, ['start']).then(
      () => true,
      () => false,
    ),
  );
}

async function script(
  version: FirebirdVersion,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = { ...process.env, FB_MAJOR: String(version), PORT: PORTS[version], ...settings };
  const { stdout } = await run('bash', [SCRIPT, ...args], { env, timeout: 60_000 });
  return stdout;
}
