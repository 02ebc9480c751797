/** The Firebird sink as a plug-in. */
import type { Config, ConfigError, SinkConnector, SinkPlugin } from '../../../runtime/api/index.ts';
import type { WantedOffset } from '../../shared/offsetLedger.ts';
import { SqlSinkTask } from '../../shared/sqlSinkTask.ts';
import { connect, type Database, disconnect, whileConnected } from '../connection.ts';
import { CONNECTOR_VERSION } from '../version.ts';
import { checkSinkConfig, offsetStore, sinkConfigDef, targetAddress } from './config.ts';
import { asSinkError } from './firebirdFailure.ts';
import { firebirdSink } from './target.ts';

class FirebirdSinkConnector implements SinkConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(maxTasks: number): Config[] {
    return Array.from({ length: maxTasks }, () => this.#config);
  }

  /** Where the offsets are kept in the target, they change there too. */
  async alterOffsets(config: Config, offsets: readonly WantedOffset[]): Promise<boolean> {
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

  stop(): void {}
}

/** Connects only where nothing else is wrong. Errors of single values are the worker's to tell. */
async function validate(config: Config): Promise<readonly ConfigError[]> {
  const { values, errors } = sinkConfigDef.parse(config);
  const keys = new Set(errors.map(e => e.key));
  const found = checkSinkConfig(config).filter(e => !keys.has(e.key));
  if (found.length > 0 || errors.length > 0) return found;
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
  validate,
  createConnector: () => new FirebirdSinkConnector(),
  createTask: () => new SqlSinkTask(firebirdSink),
};
