/** The connector and its plug-in entry: names, options, validation. A PostgreSQL source has one task. */
import {
  type Config,
  type ConfigError,
  ConnectError,
  type Connector,
  type ConnectorContext,
  type SourceConnector,
  type SourceOffset,
  type SourcePartition,
  type SourcePlugin,
} from '../../../runtime/api/index.ts';
import { parseSettings, sourceConfigDef } from '../config.ts';
import { keyChecks, readsKey } from '../configChecks.ts';
import { CONNECTOR_VERSION } from '../version.ts';
import { connect, sourceError } from './connection.ts';
import { parseOffset } from './position.ts';
import { preflight } from './preflight.ts';
import { PostgresSourceTask } from './task.ts';

class PostgresSourceConnector implements SourceConnector, Connector {
  private config: Config = {};

  start(config: Config, _context: ConnectorContext): void {
    this.config = config;
  }

  taskConfigs(): Config[] {
    return [this.config];
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
          'PG_OFFSET_INVALID',
          `The partition of this connector is {"server":"${config['topic.prefix']}"}.`,
        );
      }
      parseOffset(offset);
    }
    return true;
  }
}

const CONNECTION_KEYS = new Set(['PG_UNREACHABLE', 'PG_DATABASE_MISSING']);

async function validate(config: Config): Promise<readonly ConfigError[]> {
  const { settings, errors } = parseSettings(config);
  if (settings === null) return errors;
  try {
    const client = await connect(settings, 'validate');
    try {
      const { problems } = await preflight(client, settings, null);
      return problems.map(({ code, key, message }) => ({ key, message: `[${code}] ${message}` }));
    } finally {
      await client.end();
    }
  } catch (error) {
    const failure = sourceError(error, settings);
    const key =
      failure.code === 'PG_DATABASE_MISSING'
        ? 'database.dbname'
        : CONNECTION_KEYS.has(failure.code)
          ? 'database.hostname'
          : 'database.user';
    return [{ key, message: `[${failure.code}] ${failure.message}` }];
  }
}

export const sourcePlugin: SourcePlugin = {
  kind: 'source',
  className: 'io.debezium.connector.postgresql.PostgresConnector',
  aliases: ['millrace.PostgresSource', 'millrace.PostgresSourceConnector'],
  version: CONNECTOR_VERSION,
  configDef: sourceConfigDef,
  readsKey,
  validateKeys: keyChecks,
  validate,
  createConnector: () => new PostgresSourceConnector(),
  createTask: () => new PostgresSourceTask(),
};
