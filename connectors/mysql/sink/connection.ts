/** From the connection keys of a sink to the options of the MySQL client: JDBC URLs and URIs, with the parameters that people put in them. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'mysql2/promise';
import { ConnectError } from '../../../runtime/api/index.ts';
import { mysqlClient } from '../client.ts';

export interface ConnectionKeys {
  readonly url: string;
  readonly user: string | null;
  readonly password: string | null;
}

type MySqlFormat = ReturnType<typeof mysqlClient>['format'];

const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;

const invalid = (why: string): ConnectError =>
  new ConnectError('CONFIG_INVALID', `Invalid value for configuration connection.url: ${why}`);

/** Throws CONFIG_INVALID. What is shown of the URL in a message never holds its password. */
export function connectionOptions(keys: ConnectionKeys): ConnectionOptions & { host: string; port: number } {
  const text = keys.url.replace(/^jdbc:/i, '').replace(/^mariadb:/i, 'mysql:');
  if (!/^mysql:\/\//i.test(text))
    throw invalid(
      'this sink writes to MySQL and MariaDB: jdbc:mysql://host:port/database, jdbc:mariadb://host:port/database or mysql://host:port/database; for another database use its own sink class',
    );
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalid('it is no URL of the form jdbc:mysql://host:port/database (one host only)');
  }
  if (url.hostname.includes(',')) throw invalid('it names several hosts; name one, or a proxy before them');
  const parameter = (...names: string[]): string | null => {
    const found = [...url.searchParams].find(([name]) => names.includes(name.toLowerCase()));
    return found === undefined ? null : found[1];
  };
  const database = decodeURIComponent(url.pathname.slice(1));
  const user = keys.user ?? (url.username === '' ? parameter('user') : decodeURIComponent(url.username));
  const password = keys.password ?? (url.password === '' ? parameter('password') : decodeURIComponent(url.password));
  const ssl = tls(parameter);
  return {
    host: decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '') || 'localhost',
    port: url.port === '' ? 3306 : Number(url.port),
    ...(database === '' ? {} : { database }),
    ...(user === null ? {} : { user }),
    ...(password === null ? {} : { password }),
    ...(ssl === null ? {} : { ssl }),
    connectTimeout: timeoutMs(parameter('connecttimeout')),
    charset: 'utf8mb4',
    // Texts with many statements; a server that asks for files of ours gets none.
    multipleStatements: true,
    flags: ['-LOCAL_FILES'],
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    enableKeepAlive: true,
    // The client looks for placeholders in texts of megabytes that have none.
    queryFormat: (sql: string, values: Parameters<MySqlFormat>[1]) =>
      Array.isArray(values) && values.length === 0 ? sql : mysqlClient().format(sql, values),
  };
}

/** In ms, as JDBC has it; 0 = without limit there. */
function timeoutMs(text: string | null): number {
  if (text === null) return DEFAULT_CONNECT_TIMEOUT_MS;
  const ms = Number(text);
  if (!Number.isInteger(ms) || ms < 0) throw invalid('connectTimeout is no number of milliseconds');
  return ms || DEFAULT_CONNECT_TIMEOUT_MS;
}

/** `PREFERRED` means no TLS here: the client cannot fall back. Both the MySQL and the MariaDB names of the modes are taken. */
function tls(parameter: (...names: string[]) => string | null): ConnectionOptions['ssl'] | null {
  const legacy = parameter('usessl') === 'true' ? 'required' : 'disabled';
  const mode = (parameter('sslmode', 'ssl-mode') ?? legacy).toLowerCase().replaceAll('-', '_');
  const root = parameter('serversslcert', 'sslca', 'ssl-ca');
  const ca = root === null ? {} : { ca: readFileSync(root) };
  switch (mode) {
    case 'disabled':
    case 'disable':
    case 'preferred':
      return null;
    case 'required':
    case 'trust':
      return { rejectUnauthorized: false };
    case 'verify_ca':
      return { ...ca, rejectUnauthorized: true, verifyIdentity: false };
    case 'verify_identity':
    case 'verify_full':
      return { ...ca, rejectUnauthorized: true, verifyIdentity: true };
    default:
      throw invalid(`sslMode=${mode} is not one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY`);
  }
}
