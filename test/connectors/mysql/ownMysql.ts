/** A MySQL or MariaDB server of a test's own, on a port that is free, for what no shared server can bear: other settings, ends, replication. Removed at the end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Cleanup } from './mysqlHarness.ts';

type Kind = 'mysql' | 'mariadb';

export class OwnMysql {
  readonly port: number;
  private readonly kind: Kind;

  private constructor(port: number, kind: Kind) {
    this.port = port;
    this.kind = kind;
  }

  static async start(t: Cleanup, kind: Kind = 'mysql', options: readonly string[] = []): Promise<OwnMysql> {
    const server = new OwnMysql(await freePort(), kind);
    t.after(() => server.run('clean'));
    await server.run('start', options);
    return server;
  }

  get url(): string {
    return `mysql://root@127.0.0.1:${this.port}`;
  }

  kill(): Promise<void> {
    return this.run('kill');
  }

  async run(command: 'start' | 'stop' | 'kill' | 'clean', options: readonly string[] = []): Promise<void> {
    const script = join(import.meta.dirname, `../../services/${this.kind}.sh`);
    const child = spawn('bash', [script, command], {
      env: { ...process.env, PORT: String(this.port), [`${this.kind.toUpperCase()}_ARGS`]: options.join(' ') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    // The server keeps the pipe of its script open: the script's end counts.
    const [code] = (await once(child, 'exit')) as [number];
    child.stderr.destroy();
    if (code !== 0) throw new Error(`${this.kind}.sh ${command} ended with ${code}: ${output}`);
  }
}

/** Below those that systems give out by themselves. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 14_000 + Math.floor(Math.random() * 1000);
    const probe = createServer();
    const isFree = await new Promise<boolean>(resolve => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise(resolve => probe.close(resolve));
    return port;
  }
}
