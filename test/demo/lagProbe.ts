import pg from 'pg';
import { LagTimes } from './lagTimes.ts';

/** The target's trigger tells of each probe row at its commit. */
export class LagProbe {
  readonly times = new LagTimes();
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on('notification', message => this.times.arrived(Number(message.payload?.split(' ')[1])));
  }

  static async start(targetUrl: string): Promise<LagProbe> {
    const client = new pg.Client(targetUrl);
    await client.connect();
    const probe = new LagProbe(client);
    await client.query('LISTEN arrived');
    return probe;
  }

  async stop(): Promise<void> {
    await this.#client.end();
  }
}
