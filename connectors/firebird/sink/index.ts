/** The Firebird sink as a plug-in, and Firebird as a target of the shared sink task. */
import type { Config, ConfigError, SinkConnector, SinkPlugin } from '../../../runtime/api/index.ts';
import type { SqlTarget } from '../../shared/sqlDialect.ts';
import { sqlSinkSettings } from '../../shared/sqlSinkConfig.ts';
import { type SqlSinkKind, SqlSinkTask } from '../../shared/sqlSinkTask.ts';
import { connect, type Database, disconnect, gdsCode } from '../connection.ts';
import { CONNECTOR_VERSION } from '../version.ts';
import { Applier } from './applier.ts';
import { readTable } from './catalog.ts';
import { columnCodec } from './columnCodec.ts';
import { checkSinkConfig, sinkConfigDef, targetAddress } from './config.ts';
import type { FbTypes } from './fbTypes.ts';
import { asSinkError, isPrivilege, reasonOf } from './firebirdFailure.ts';
import { Session } from './session.ts';
import { addColumnsSql, createTableSql, tableSql } from './tableDdl.ts';

/** "unsuccessful metadata update", mostly because it is there already, and unique violations of the catalogue. */
const RACED = [335544351, 335544665, 335544349];

const firebirdSink: SqlSinkKind<FbTypes> = {
  checkConfig: checkSinkConfig,
  settings: config => sqlSinkSettings(sinkConfigDef.parse(config).values, config),
  target: ({ config, settings, shapes, context }) => {
    const session = new Session(targetAddress(sinkConfigDef.parse(config).values), context.logger);
    return firebirdTarget(session, new Applier(session, shapes, settings.insertMode, context));
  },
};

const firebirdTarget = (session: Session, writer: Applier): SqlTarget<FbTypes> => ({
  dialect: {
    columnCodec,
    readTable: name => session.use(database => readTable(database, name)),
    // Firebird has none: that part of a name is left out.
    readSchemaName: async schema => schema,
    tableSql,
    createSchemaSql: () => 'select 1 from rdb$database',
    createTableSql,
    addColumnsSql,
    widenColumnsSql: () => null,
    runDdl: sql =>
      session.use(async database => {
        await database.queryAsync(sql);
      }),
    classifyDdl: error => (RACED.includes(gdsCode(error) ?? 0) ? 'raced' : isPrivilege(error) ? 'privilege' : 'other'),
    reasonOf,
  },
  writers: [writer],
  classify: error => writer.classify(error),
  isContention: () => false,
  // At least once only.
  ledger: null,
  claimOffsets: async () => [],
  moveOffsets: async () => {},
  open: () => session.use(async () => {}),
  close: () => session.close(),
  asFailure: asSinkError,
});

class FirebirdSinkConnector implements SinkConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(maxTasks: number): Config[] {
    return Array.from({ length: maxTasks }, () => this.#config);
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
