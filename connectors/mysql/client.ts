/** The MySQL client, loaded when it is first needed: else every start would take a tenth of a second longer, whatever runs. */
import { createRequire } from 'node:module';
import type * as Client from 'mysql2/promise';

const require = createRequire(import.meta.url);

export const mysqlClient = (): typeof Client => require('mysql2/promise') as typeof Client;
