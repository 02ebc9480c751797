/** MySQL and MariaDB as a target of the shared sink task: its sessions, its catalog, its DDL, its table of offsets. */
import type { Connection } from 'mysql2/promise';
import { type Advance, OffsetLedger } from '../../shared/offsetLedger.ts';
import { checkRefused, OffsetsRefused } from '../../shared/refusedOffsets.ts';
import type { SqlDialect, SqlTarget } from '../../shared/sqlDialect.ts';
import { sqlSinkSettings } from '../../shared/sqlSinkConfig.ts';
import { laneCount } from '../../shared/sqlSinkDelivery.ts';
import type { SqlSinkKind } from '../../shared/sqlSinkTask.ts';
import { Applier } from './applier.ts';
import { readSchemaName, readTable } from './catalog.ts';
import { columnCodec } from './columnCodec.ts';
import { checkSinkConfig, connectionKeys, offsetStore, sinkConfigDef } from './config.ts';
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
import type { MysqlOffsets } from './offsetStore.ts';
import { Session } from './session.ts';
import {
  addColumnsSql,
  createSchemaSql,
  createTableSql,
  renameSql,
  tableSql,
  widenColumnsSql,
  widenSql,
} from './tableDdl.ts';
import { guardWidth } from './widthGuard.ts';

/** Database, table or column exists: another task did the same at the same time. */
const RACED = [1007, 1050, 1060];
/** Access to a database denied: of a statement, not of the login. */
const DATABASE_DENIED = 1044;

export const mysqlSink: SqlSinkKind<MysqlTypes> = {
  checkConfig: checkSinkConfig,
  settings: config => {
    const { values } = sinkConfigDef.parse(config);
    return { ...sqlSinkSettings(values, config), holdMs: values['refused.hold.ms'] };
  },
  target: ({ config, settings, shapes, context }) => {
    const { values } = sinkConfigDef.parse(config);
    const options = connectionOptions(connectionKeys(values));
    const sessions = Array.from({ length: laneCount(values) }, () => new Session(options, context.logger));
    const store = offsetStore(values, context.connectorName);
    const offsets = store && { store, ledger: new OffsetLedger(context.connectorName, store.table) };
    const mode = settings.insertMode;
    return mysqlTarget(
      sessions,
      sessions.map(session => new Applier({ session, shapes, mode, offsets, context })),
      offsets,
    );
  },
};

/** The catalog is read, and DDL runs, over the first connection. */
function mysqlTarget(
  sessions: readonly Session[],
  writers: readonly Applier[],
  offsets: MysqlOffsets | null,
): SqlTarget<MysqlTypes> {
  const session = sessions[0]!;
  return {
    dialect: mysqlDialect(session),
    writers,
    classify: classifyMysqlFailure,
    isContention,
    ledger: offsets?.ledger ?? null,
    claimOffsets: partitions =>
      session.use(async ({ connection }) => offsets?.store.claim(connection, partitions) ?? []),
    moveOffsets: advances =>
      session.use(async ({ connection }) => {
        if (offsets) await moveOffsets(connection, offsets, advances);
      }),
    open: () => session.use(async ({ connection }) => offsets?.store.create(connection)),
    close: async () => {
      await Promise.all(sessions.map(each => each.close()));
    },
    asFailure: asSinkError,
  };
}

async function moveOffsets(connection: Connection, offsets: MysqlOffsets, advances: readonly Advance[]): Promise<void> {
  try {
    await offsets.store.move(connection, advances);
  } catch (error) {
    if (!(error instanceof OffsetsRefused)) throw error;
    await checkRefused(connection, offsets, advances);
  }
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
  guardWidth,
  widenSql,
  renameSql,
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
