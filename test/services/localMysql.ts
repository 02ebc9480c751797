/** A real MySQL server on a port of its own, with data that goes at the end; the program stays in .services for the next time. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Connection, createConnection } from 'mysql2/promise';
import { runScript } from './localKafka.ts';
import { freePort } from './localPostgres.ts';

export class LocalMysql {
  readonly port: number;
  readonly #args: string;

  private constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.#args = args.join(' ');
  }

  /** `args` are options of mysqld, such as --binlog-row-image=MINIMAL. */
  static async start(args: readonly string[] = []): Promise<LocalMysql> {
    const local = new LocalMysql(await freePort(), args);
    try {
      await local.restart();
      return local;
    } catch (error) {
      await local.stop();
      throw error;
    }
  }

  url(database = ''): string {
    return `mysql://root@127.0.0.1:${this.port}/${database}`;
  }

  /** A session in which text is compared as the server has it. */
  connect(database = ''): Promise<Connection> {
    return connectMysql(this.url(database));
  }

  /** After it was killed, on the same data. */
  restart(): Promise<void> {
    return this.#run('start');
  }

  /** Ends the server at once, as a crash would. */
  kill(): Promise<void> {
    return this.#run('kill');
  }

  /** The server does nothing any more, and nobody is told: its connections stay open. */
  suspend(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  get pid(): number {
    const file = join(process.env.SERVICES_DIR ?? '.services', 'mysql', String(this.port), 'server.pid');
    return Number(readFileSync(file, 'utf8'));
  }

  stop(): Promise<void> {
    return this.#run('clean');
  }

  #run(verb: string): Promise<void> {
    return runScript('mysql.sh', verb, { PORT: String(this.port), MYSQL_ARGS: this.#args });
  }
}

/** Values in the server's own text. */
export async function connectMysql(url: string): Promise<Connection> {
  const connection = await createConnection({
    uri: url,
    charset: 'utf8mb4',
    multipleStatements: true,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    jsonStrings: true,
  });
  connection.on('error', () => {}); // a server may end before its clients; queries reject by themselves
  await connection.query("SET time_zone = '+00:00'");
  return connection;
}
