/** The MySQL client, loaded when it is first needed: else every start would take a tenth of a second longer, whatever runs. */
import { createRequire } from 'node:module';
import type * as Core from 'mysql2';
import type * as Client from 'mysql2/promise';

const require = createRequire(import.meta.url);

export const mysqlClient = (): typeof Client => require('mysql2/promise') as typeof Client;

/** Resolves once it is logged in. What becomes of it later it tells by events of its own. */
export function createConnection(options: Client.ConnectionOptions): Promise<Client.Connection> {
  const core = (require('mysql2') as typeof Core).createConnection(options as Core.ConnectionOptions);
  // The driver may tell twice of a connection that ends during the login; where nobody listens any more, that would end the process.
  core.on('error', () => {});
  return new Promise((resolve, reject) => {
    core.once('connect', () => resolve(core.promise()));
    core.once('error', error => {
      core.destroy();
      reject(error);
    });
  });
}
