/** From the connection keys of a sink to the options of the PostgreSQL client: JDBC URLs and URIs, with the parameters that people put in them. */
import { readFileSync } from 'node:fs';
import type { ClientConfig } from 'pg';
import { ConnectError } from '../../../runtime/api/index.ts';

export interface ConnectionKeys {
  readonly url: string;
  readonly user: string | null;
  readonly password: string | null;
}

const invalid = (why: string): ConnectError =>
  new ConnectError('CONFIG_INVALID', `Invalid value for configuration connection.url: ${why}`);

/** Throws CONFIG_INVALID. What is shown of the URL in a message never holds its password. */
export function connectionOptions(keys: ConnectionKeys): ClientConfig {
  const text = keys.url.replace(/^jdbc:postgresql:/i, 'postgres:').replace(/^postgresql:/i, 'postgres:');
  if (!/^postgres:/i.test(text))
    throw invalid(
      'this sink writes to PostgreSQL: jdbc:postgresql://host:port/database or postgres://host:port/database; for another database use its own sink class',
    );
  // JDBC has short forms without a host: jdbc:postgresql:database and jdbc:postgresql:/
  const full = text.startsWith('postgres://') ? text : `postgres://localhost/${text.slice(9).replace(/^\/+/, '')}`;
  let url: URL;
  try {
    url = new URL(full);
  } catch {
    throw invalid('it is no URL of the form jdbc:postgresql://host:port/database (one host only)');
  }
  if (url.hostname.includes(',')) throw invalid('it names several hosts; name one, or a proxy before them');
  const parameter = (name: string): string | null => url.searchParams.get(name);
  const user = keys.user ?? (url.username === '' ? parameter('user') : decodeURIComponent(url.username));
  const password = keys.password ?? (url.password === '' ? parameter('password') : decodeURIComponent(url.password));
  const schema = parameter('currentSchema');
  const options = parameter('options');
  return {
    host: decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '') || 'localhost',
    port: url.port === '' ? 5432 : Number(url.port),
    database: decodeURIComponent(url.pathname.slice(1)) || user || undefined,
    ...(user === null ? {} : { user }),
    ...(password === null ? {} : { password }),
    ssl: tls(parameter),
    application_name: parameter('ApplicationName') ?? parameter('application_name') ?? 'millrace',
    connectionTimeoutMillis: 1000 * Number(parameter('connectTimeout') ?? parameter('connect_timeout') ?? 30),
    keepAlive: true,
    ...(schema === null && options === null
      ? {}
      : { options: [options, schema && `-c search_path=${schema.replaceAll(' ', '\\ ')}`].filter(Boolean).join(' ') }),
  };
}

/** `prefer` and `allow` mean no TLS here: the client cannot fall back. */
function tls(parameter: (name: string) => string | null): ClientConfig['ssl'] {
  const mode = parameter('sslmode') ?? (parameter('ssl') === 'true' ? 'verify-full' : 'disable');
  const root = parameter('sslrootcert');
  const ca = root === null ? {} : { ca: readFileSync(root) };
  switch (mode) {
    case 'disable':
    case 'allow':
    case 'prefer':
      return false;
    case 'require':
      return { rejectUnauthorized: false };
    case 'verify-ca':
      return { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined };
    case 'verify-full':
      return { ...ca, rejectUnauthorized: true };
    default:
      throw invalid(`sslmode=${mode} is not one of disable, prefer, require, verify-ca, verify-full`);
  }
}
