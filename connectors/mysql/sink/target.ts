/** MySQL and MariaDB as a target of the shared sink task: its session, its catalog, its DDL. */
import type { SqlDialect, SqlTarget } from '../../shared/sqlDialect.ts';
import { sqlSinkSettings } from '../../shared/sqlSinkConfig.ts';
import { laneCount } from '../../shared/sqlSinkLanes.ts';
import type { SqlSinkKind } from '../../shared/sqlSinkTask.ts';
import { Applier } from './applier.ts';
import { readSchemaName, readTable } from './catalog.ts';
import { columnCodec } from './columnCodec.ts';
import { checkSinkConfig, connectionKeys, sinkConfigDef } from './config.ts';
import { connectionOptions } from './connection.ts';
import {
  asSinkError,
  classifyMysqlFailure,
  isContention,
  isErrno,
  isPrivilegeError,
  reasonOf,
} from './mysqlFailure.ts';
import type { MysqlTypes } from './mysqlTypes.ts';
import { Session } from './session.ts';
import { addColumnsSql, createSchemaSql, createTableSql, tableSql, widenColumnsSql } from './tableDdl.ts';

/** Database, table or column exists: another task did the same at the same time. */
const RACED = [1007, 1050, 1060];
/** Access to a database denied: of a statement, not of the login. */
const DATABASE_DENIED = 1044;

export const mysqlSink: SqlSinkKind<MysqlTypes> = {
  checkConfig: checkSinkConfig,
  settings: config => sqlSinkSettings(sinkConfigDef.parse(config).values, config),
  target: ({ config, settings, shapes, context }) => {
    const { values } = sinkConfigDef.parse(config);
    const options = connectionOptions(connectionKeys(values));
    const sessions = Array.from({ length: laneCount(values) }, () => new Session(options, context.logger));
    return mysqlTarget(
      sessions,
      sessions.map(session => new Applier(session, shapes, settings.insertMode, context)),
    );
  },
};

/** The catalog is read, and DDL runs, over the first connection. */
function mysqlTarget(sessions: readonly Session[], writers: readonly Applier[]): SqlTarget<MysqlTypes> {
  const session = sessions[0]!;
  return {
    dialect: mysqlDialect(session),
    writers,
    classify: classifyMysqlFailure,
    isContention,
    open: () => session.use(async () => {}),
    close: async () => {
      await Promise.all(sessions.map(each => each.close()));
    },
    asFailure: asSinkError,
  };
}

const mysqlDialect = (session: Session): SqlDialect<MysqlTypes> => ({
  columnCodec,
  readTable: name => session.use(open => readTable(open, name)),
  readSchemaName: schema => session.use(open => readSchemaName(open, schema)),
  tableSql,
  createSchemaSql,
  createTableSql: (name, wanted) => createTableSql(name, wanted, session.isMariaDb),
  addColumnsSql,
  widenColumnsSql,
  runDdl: sql =>
    session.use(async ({ connection }) => {
      await connection.query(sql);
    }),
  classifyDdl: error =>
    isErrno(error, ...RACED)
      ? 'raced'
      : isPrivilegeError(error) || isErrno(error, DATABASE_DENIED)
        ? 'privilege'
        : 'other',
  reasonOf,
});
