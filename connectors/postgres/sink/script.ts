/**
 * Several statements with all their data, COPY FROM STDIN among them, sent in one go and closed by one Sync: one implicit transaction and one round
 * trip. The server takes COPY data when it comes to the statement; after an error it drops what follows, up to the Sync, and rolls everything back.
 */
import type { Client, Connection, Submittable } from 'pg';

export interface Statement {
  readonly sql: string;
  /** Parameters in binary form. */
  readonly params: readonly Buffer[];
  /** COPY data, in parts; they must stay as they are until the script has ended. */
  readonly copy: readonly Uint8Array[] | null;
}

const COPY_DATA = 0x64;
const MAX_CHUNK_BYTES = 1 << 20;
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4]);

interface WireConnection {
  readonly stream: NodeJS.WritableStream & { cork(): void; uncork(): void };
  parse(query: { text: string; name: string; types: number[] }): void;
  bind(config: { portal: string; statement: string; binary: boolean; values: readonly Buffer[] }): void;
  execute(config: { portal: string; rows: string }): void;
  sync(): void;
}

type Settle = (error: Error | null, rowCounts: readonly number[]) => void;

class ScriptQuery implements Submittable {
  readonly #statements: readonly Statement[];
  readonly #settle: Settle;
  readonly #rowCounts: number[] = [];
  #failed = false;

  constructor(statements: readonly Statement[], settle: Settle) {
    this.#statements = statements;
    this.#settle = settle;
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as WireConnection;
    wire.stream.cork();
    for (const { sql, params, copy } of this.#statements) {
      wire.parse({ text: sql, name: '', types: [] });
      wire.bind({ portal: '', statement: '', binary: false, values: params });
      wire.execute({ portal: '', rows: '' });
      if (copy) {
        for (const part of copy) writeCopyData(wire.stream, part);
        wire.stream.write(COPY_DONE);
      }
    }
    wire.sync();
    wire.stream.uncork();
  }

  handleCommandComplete(message: { text: string }): void {
    this.#rowCounts.push(Number(/\d+$/.exec(message.text)?.[0] ?? 0));
  }

  handleError(error: Error): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#settle(error, this.#rowCounts);
  }

  handleReadyForQuery(): void {
    if (!this.#failed) this.#settle(null, this.#rowCounts);
  }

  handleCopyInResponse(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}
}

function writeCopyData(stream: NodeJS.WritableStream, part: Uint8Array): void {
  for (let at = 0; at < part.length; at += MAX_CHUNK_BYTES) {
    const chunk = part.subarray(at, at + MAX_CHUNK_BYTES);
    const head = Buffer.allocUnsafe(5);
    head[0] = COPY_DATA;
    head.writeInt32BE(chunk.length + 4, 1);
    stream.write(head);
    stream.write(chunk);
  }
}

const failedStatements = new WeakMap<object, number>();

/** The index of the statement that a script failed at. */
export const failedStatement = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null ? failedStatements.get(error) : undefined;

/** Runs the statements as one transaction; resolves to the number of rows that each touched. */
export function runScript(client: Client, statements: readonly Statement[]): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    const settle: Settle = (error, counts) => {
      if (error === null) resolve(counts);
      else {
        failedStatements.set(error, counts.length);
        reject(error);
      }
    };
    client.query(new ScriptQuery(statements, settle));
  });
}
