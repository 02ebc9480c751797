/** The connector and its plug-in entry: names, options, validation. A Firebird source has one task: each reader of a journal deletes what it has read. */
import { access, constants } from 'node:fs/promises';
import {
  type Config,
  type ConfigError,
  ConnectError,
  type SourceConnector,
  type SourceOffset,
  type SourcePartition,
  type SourcePlugin,
} from '../../../runtime/api/index.ts';
import { parseSettings, sourceConfigDef } from '../config.ts';
import { connect, type Database, disconnect, firebirdError, whileConnected } from '../connection.ts';
import { CONNECTOR_VERSION } from '../version.ts';
import { readCatalog } from './catalog.ts';
import { parseOffset } from './position.ts';
import { FirebirdSourceTask } from './task.ts';

class FirebirdSourceConnector implements SourceConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(): Config[] {
    return [this.#config];
  }

  stop(): void {}

  exactlyOnceSupport(): 'SUPPORTED' {
    return 'SUPPORTED';
  }

  canDefineTransactionBoundaries(): 'UNSUPPORTED' {
    return 'UNSUPPORTED';
  }

  alterOffsets(config: Config, offsets: readonly (readonly [SourcePartition, SourceOffset | null])[]): boolean {
    for (const [partition, offset] of offsets) {
      if (offset === null) continue;
      if (partition.server !== config['topic.prefix'] || Object.keys(partition).length !== 1) {
        throw new ConnectError(
          'FB_OFFSET_INVALID',
          `The partition of this connector is {"server":"${config['topic.prefix']}"}.`,
        );
      }
      parseOffset(offset);
    }
    return true;
  }
}

async function validate(config: Config): Promise<readonly ConfigError[]> {
  const { settings, errors } = parseSettings(config);
  if (settings === null) return errors;
  const told = (key: string, code: string, message: string): ConfigError => ({ key, message: `[${code}] ${message}` });
  const rights = settings.deletesSegments ? constants.R_OK | constants.W_OK : constants.R_OK;
  try {
    await access(settings.directory, rights);
  } catch (error) {
    const need = settings.deletesSegments ? 'read and written' : 'read';
    const why = `${settings.directory} cannot be ${need} by this worker: ${(error as Error).message}`;
    return [told('journal.source.dir', 'FB_DIRECTORY_UNUSABLE', why)];
  }
  let database: Database | null = null;
  try {
    database = await connect(settings.address, new AbortController().signal);
    const attached = database;
    const { isPublished } = await whileConnected(attached, () => readCatalog(attached, null));
    if (isPublished) return [];
    const why = 'the database has no publication: run ALTER DATABASE ENABLE PUBLICATION and INCLUDE ALL TO PUBLICATION';
    return [told('database.dbname', 'FB_PUBLICATION_DISABLED', why)];
  } catch (error) {
    const failure = firebirdError(error, settings.address);
    const key = failure.code === 'FB_UNREACHABLE' ? 'database.hostname' : 'database.user';
    return [told(key, failure.code, failure.message)];
  } finally {
    await disconnect(database);
  }
}

export const sourcePlugin: SourcePlugin = {
  kind: 'source',
  className: 'millrace.FirebirdSource',
  aliases: ['millrace.FirebirdSourceConnector'],
  version: CONNECTOR_VERSION,
  configDef: sourceConfigDef,
  validate,
  createConnector: () => new FirebirdSourceConnector(),
  createTask: () => new FirebirdSourceTask(),
};
