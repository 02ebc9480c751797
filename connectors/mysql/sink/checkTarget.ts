/** Looks whether the target takes the login, before a connector is created: what is wrong then is said at once, as the source does. */
import type { ConnectionOptions } from 'mysql2/promise';
import type { ConfigError } from '../../../runtime/api/index.ts';
import { createConnection } from '../client.ts';
import { isTlsRefusal } from '../connectionLoss.ts';
import { asSinkError, isErrno } from './mysqlFailure.ts';

/** A request waits for it. */
const CONNECT_TIMEOUT_MS = 5000;
const UNKNOWN_DATABASE = 1049;

export async function checkTarget(
  options: ConnectionOptions & { host: string; port: number },
): Promise<readonly ConfigError[]> {
  const connectTimeout = Math.min(options.connectTimeout ?? CONNECT_TIMEOUT_MS, CONNECT_TIMEOUT_MS);
  try {
    const connection = await createConnection({ ...options, connectTimeout });
    connection.destroy();
    return [];
  } catch (error) {
    const { code, message } = asSinkError(error);
    const isLogin = code === 'SINK_LOGIN_FAILED';
    const key =
      isLogin && !isErrno(error, UNKNOWN_DATABASE) && !isTlsRefusal(error) ? 'connection.user' : 'connection.url';
    const advice = isLogin ? '' : '; check connection.url and that the server runs';
    return [{ key, message: `[${code}] MySQL at ${options.host}:${options.port}: ${message}${advice}` }];
  }
}
