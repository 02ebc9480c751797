/** Looks whether the target takes the login, before a connector is created: what is wrong then is said at once. */
import type { ConfigError } from '../../runtime/api/index.ts';
import type { SinkValues } from './config.ts';
import { ElasticClient, NoAnswer } from './elasticClient.ts';
import { asSinkFailure, isTlsRefusal } from './elasticFailure.ts';
import { readServer } from './server.ts';

/** A request waits for it. */
const LIMIT_MS = 5000;

export async function checkTarget(values: SinkValues): Promise<readonly ConfigError[]> {
  const client = new ElasticClient(values, AbortSignal.timeout(LIMIT_MS), LIMIT_MS);
  try {
    await readServer(client);
    return [];
  } catch (error) {
    const { code, message } = asSinkFailure(error);
    const isLogin = code === 'SINK_LOGIN_FAILED' && !(error instanceof NoAnswer && isTlsRefusal(error));
    const key = !isLogin
      ? 'connection.url'
      : values['connection.api.key'] === null
        ? 'connection.username'
        : 'connection.api.key';
    const advice = code === 'SINK_UNAVAILABLE' ? '; check connection.url and that the server runs' : '';
    return [{ key, message: `[${code}] ${message}${advice}` }];
  } finally {
    await client.close();
  }
}
