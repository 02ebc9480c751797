/** Looks whether the target takes the login, before a connector is created: what is wrong then is said at once, as the source does. */
import { Client, type ClientConfig } from 'pg';
import type { ConfigError } from '../../../runtime/api/index.ts';
import { asSinkError, isState } from './pgFailure.ts';

/** A request waits for it. */
const CONNECT_TIMEOUT_MS = 5000;

export async function checkTarget(options: ClientConfig): Promise<readonly ConfigError[]> {
  const timeoutMs = Math.min(options.connectionTimeoutMillis || CONNECT_TIMEOUT_MS, CONNECT_TIMEOUT_MS);
  const client = new Client({ ...options, connectionTimeoutMillis: timeoutMs });
  // What happens to the connection is told by `connect`; later it is of no use any more.
  client.on('error', () => {});
  try {
    await client.connect();
    return [];
  } catch (error) {
    const { code, message } = asSinkError(error);
    const key = code === 'SINK_LOGIN_FAILED' && !isState(error, '3D000') ? 'connection.user' : 'connection.url';
    const where = `${options.host}:${options.port}`;
    const advice = code === 'SINK_LOGIN_FAILED' ? '' : '; check connection.url and that the server runs';
    return [{ key, message: `[${code}] PostgreSQL at ${where}: ${message}${advice}` }];
  } finally {
    await client.end().catch(() => {
      // It never came to be; the error that matters is the one above.
    });
  }
}
