/** The Firebird sink as a plug-in. */
import type { Config, ConfigError, SinkPlugin } from '../../../runtime/api/index.ts';
import type { WantedOffset } from '../../shared/offsetLedger.ts';
import type { SqlSinkValues } from '../../shared/sqlSinkConfig.ts';
import { SqlSinkTask } from '../../shared/sqlSinkTask.ts';
import { UniformSinkConnector } from '../../shared/uniformSinkConnector.ts';
import { validateTarget } from '../../shared/validateTarget.ts';
import { connect, type Database, disconnect, whileConnected } from '../connection.ts';
import { CONNECTOR_VERSION } from '../version.ts';
import { checkSinkConfig, offsetStore, sinkConfigDef, targetAddress } from './config.ts';
import { asSinkError } from './firebirdFailure.ts';
import { firebirdSink } from './target.ts';

class FirebirdSinkConnector extends UniformSinkConnector {
  /** Where the offsets are kept in the target, they change there too. */
  override async alterOffsets(config: Config, offsets: readonly WantedOffset[]): Promise<boolean> {
    const { values } = sinkConfigDef.parse(config);
    const store = offsetStore(values, config.name ?? '');
    if (store === null) return true;
    let database: Database | null = null;
    try {
      database = await connect(targetAddress(values), new AbortController().signal);
      const target = database;
      await whileConnected(target, async () => {
        await store.create(target);
        await store.alter(target, offsets);
      });
      return true;
    } catch (error) {
      throw asSinkError(error);
    } finally {
      await disconnect(database);
    }
  }
}

/** Whether the database can be reached, and takes the login. */
async function checkTarget(values: SqlSinkValues): Promise<readonly ConfigError[]> {
  let database: Database | null = null;
  try {
    database = await connect(targetAddress(values), new AbortController().signal);
    return [];
  } catch (error) {
    const { code, message } = asSinkError(error);
    const key = code === 'SINK_LOGIN_FAILED' ? 'connection.user' : 'connection.url';
    return [{ key, message: `[${code}] ${message}` }];
  } finally {
    await disconnect(database);
  }
}

export const sinkPlugin: SinkPlugin = {
  kind: 'sink',
  className: 'millrace.FirebirdSink',
  aliases: ['millrace.FirebirdSinkConnector'],
  version: CONNECTOR_VERSION,
  configDef: sinkConfigDef,
  validate: validateTarget(sinkConfigDef, checkSinkConfig, checkTarget),
  createConnector: () => new FirebirdSinkConnector(),
  createTask: () => new SqlSinkTask(firebirdSink),
};
