/** A database of a test's own in a real server, as the contracts of SQL sinks ask for it: plain SQL that all servers take. */
import type { Config } from '../../runtime/api/index.ts';

export type SqlRow = Readonly<Record<string, unknown>>;

export interface SqlTarget extends AsyncDisposable {
  /** What a sink needs to connect. */
  readonly connection: Config;
  uniqueName(): string;
  execute(sql: string): Promise<unknown>;
  rows(sql: string): Promise<SqlRow[]>;
}
