import pg from 'pg';

/**
 * Measures how long a committed change takes to be committed in the target: the target's trigger tells of each probe row at its commit.
 * Probes sent before the first one arrived waited for the first copy, not for the stream: they do not count.
 */
export class LagProbe {
  readonly #client: pg.Client;
  readonly #lagsMs: number[] = [];
  #firstArrivalMs: number | null = null;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on('notification', message => {
      const sentAtMs = Number(message.payload?.split(' ')[1]);
      const now = Date.now();
      this.#firstArrivalMs ??= now;
      if (sentAtMs >= this.#firstArrivalMs) this.#lagsMs.push(now - sentAtMs);
    });
  }

  static async start(targetUrl: string): Promise<LagProbe> {
    const client = new pg.Client(targetUrl);
    await client.connect();
    const probe = new LagProbe(client);
    await client.query('LISTEN arrived');
    return probe;
  }

  /** Percentiles over all probes so far, in whole ms. */
  lag(): { p50Ms: number; p99Ms: number } {
    const sorted = [...this.#lagsMs].sort((a, b) => a - b);
    const at = (share: number): number =>
      Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
    return { p50Ms: at(0.5), p99Ms: at(0.99) };
  }

  async stop(): Promise<void> {
    await this.#client.end();
  }
}
