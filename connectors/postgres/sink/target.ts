/** PostgreSQL as a target of the shared sink task: its session, its catalog, its DDL. */
import type { SqlDialect, SqlTarget } from '../../shared/sqlDialect.ts';
import { sqlSinkSettings } from '../../shared/sqlSinkConfig.ts';
import type { SqlSinkKind } from '../../shared/sqlSinkTask.ts';
import { Applier } from './applier.ts';
import { readSchemaName, readTable } from './catalog.ts';
import { columnCodec } from './columnCodec.ts';
import { checkSinkConfig, connectionKeys, sinkConfigDef } from './config.ts';
import { connectionOptions } from './connection.ts';
import { asSinkError, isState, reasonOf } from './pgFailure.ts';
import type { PgTypes } from './pgTypes.ts';
import { Session } from './session.ts';
import { addColumnsSql, createSchemaSql, createTableSql, tableSql, widenColumnsSql } from './tableDdl.ts';

/** Duplicate table, column, object, and unique violations of the catalog: another task did the same at the same time. */
const RACED = ['42P07', '42701', '42710', '23505', 'XX000'];

export const postgresSink: SqlSinkKind<PgTypes> = {
  checkConfig: checkSinkConfig,
  settings: config => sqlSinkSettings(sinkConfigDef.parse(config).values, config),
  target: ({ config, settings, shapes, context }) => {
    const { values } = sinkConfigDef.parse(config);
    const session = new Session(connectionOptions(connectionKeys(values)), context.logger);
    return postgresTarget(session, new Applier(session, shapes, settings.insertMode, context));
  },
};

const postgresTarget = (session: Session, writer: Applier): SqlTarget<PgTypes> => ({
  dialect: postgresDialect(session),
  writer,
  open: () => session.use(async () => {}),
  close: () => session.close(),
  asFailure: asSinkError,
});

const postgresDialect = (session: Session): SqlDialect<PgTypes> => ({
  columnCodec,
  readTable: name => session.use(client => readTable(client, name)),
  readSchemaName: schema => session.use(client => readSchemaName(client, schema)),
  tableSql,
  createSchemaSql,
  createTableSql,
  addColumnsSql,
  widenColumnsSql,
  runDdl: sql =>
    session.use(async client => {
      await client.query(sql);
    }),
  classifyDdl: error => (isState(error, ...RACED) ? 'raced' : isState(error, '42501') ? 'privilege' : 'other'),
  reasonOf,
});
