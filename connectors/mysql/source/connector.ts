/** The connectors and their plug-in entries: names, options, validation. A MySQL or MariaDB source has one task. */
import {
  type Config,
  type ConfigError,
  ConnectError,
  type Connector,
  type ConnectorContext,
  type ErrorCode,
  type SourceConnector,
  type SourceOffset,
  type SourcePartition,
  type SourcePlugin,
} from '../../../runtime/api/index.ts';
import { parseSettings, sourceConfigDef } from '../config.ts';
import { keyChecks, readsKey } from '../configChecks.ts';
import { CONNECTOR_VERSION } from '../version.ts';
import { connect, sourceError } from './connection.ts';
import type { ConnectorName } from './envelope.ts';
import { parseOffset } from './position.ts';
import { preflight } from './preflight.ts';
import { MysqlSourceTask } from './task.ts';

class MysqlSourceConnector implements SourceConnector, Connector {
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
          'MYSQL_OFFSET_INVALID',
          `The partition of this connector is {"server":"${config['topic.prefix']}"}.`,
        );
      }
      parseOffset(offset);
    }
    return true;
  }
}

/** Where validation shows that there is no connection. */
const KEYS: Readonly<Partial<Record<ErrorCode, string>>> = {
  MYSQL_UNREACHABLE: 'database.hostname',
  MYSQL_TLS_FAILED: 'database.ssl.mode',
};

async function validate(config: Config, connector: ConnectorName): Promise<readonly ConfigError[]> {
  const { settings, errors } = parseSettings(config, connector);
  if (settings === null) return errors;
  try {
    const connection = await connect(settings);
    try {
      const { problems } = await preflight(connection, settings, null);
      return problems.map(({ code, key, message }) => ({ key, message: `[${code}] ${message}` }));
    } finally {
      await connection.end();
    }
  } catch (error) {
    const failure = sourceError(error, settings);
    return [{ key: KEYS[failure.code] ?? 'database.user', message: `[${failure.code}] ${failure.message}` }];
  }
}

const plugin = (connector: ConnectorName, className: string, aliases: readonly string[]): SourcePlugin => ({
  kind: 'source',
  className,
  aliases,
  version: CONNECTOR_VERSION,
  configDef: sourceConfigDef,
  readsKey,
  validateKeys: keyChecks,
  validate: config => validate(config, connector),
  createConnector: () => new MysqlSourceConnector(),
  createTask: () => new MysqlSourceTask(connector),
});

export const mysqlSourcePlugin = plugin('mysql', 'io.debezium.connector.mysql.MySqlConnector', [
  'millrace.MysqlSource',
  'millrace.MysqlSourceConnector',
]);

export const mariadbSourcePlugin = plugin('mariadb', 'io.debezium.connector.mariadb.MariaDbConnector', [
  'millrace.MariadbSource',
  'millrace.MariadbSourceConnector',
]);
