/** A MySQL server of a test's own, on a port that is free, for what no shared server can bear: other settings, ends, replication. Removed at the end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Cleanup } from './mysqlHarness.ts';

const script = join(import.meta.dirname, '../../services/mysql.sh');

export class OwnMysql {
  readonly port: number;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(t: Cleanup, options: readonly string[] = []): Promise<OwnMysql> {
    const server = new OwnMysql(await freePort());
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
    const child = spawn('bash', [script, command], {
      env: { ...process.env, PORT: String(this.port), MYSQL_ARGS: options.join(' ') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    // The server keeps the pipe of its script open: the script's end counts.
    const [code] = (await once(child, 'exit')) as [number];
    child.stderr.destroy();
    if (code !== 0) throw new Error(`mysql.sh ${command} ended with ${code}: ${output}`);
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
