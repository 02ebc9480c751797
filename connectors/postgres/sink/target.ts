/** PostgreSQL as a target of the shared sink task: its sessions, its catalog, its DDL, its table of offsets. */
import type { Client } from 'pg';
import { type Advance, OffsetLedger } from '../../shared/offsetLedger.ts';
import type { SqlDialect, SqlTarget } from '../../shared/sqlDialect.ts';
import { sqlSinkSettings } from '../../shared/sqlSinkConfig.ts';
import { laneCount } from '../../shared/sqlSinkDelivery.ts';
import type { SqlSinkKind } from '../../shared/sqlSinkTask.ts';
import { Applier, type PgOffsets } from './applier.ts';
import { readSchemaName, readTable } from './catalog.ts';
import { columnCodec } from './columnCodec.ts';
import { checkSinkConfig, connectionKeys, offsetStore, sinkConfigDef } from './config.ts';
import { connectionOptions } from './connection.ts';
import { CopyTrust } from './copyTrust.ts';
import { asSinkError, classifyPgFailure, isContention, isState, reasonOf } from './pgFailure.ts';
import type { PgTypes } from './pgTypes.ts';
import { runScript } from './script.ts';
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

/** Duplicate table, column, object, and unique violations of the catalog: another task did the same at the same time. */
const RACED = ['42P07', '42701', '42710', '23505', 'XX000'];

export const postgresSink: SqlSinkKind<PgTypes> = {
  checkConfig: checkSinkConfig,
  settings: config => {
    const { values } = sinkConfigDef.parse(config);
    return { ...sqlSinkSettings(values, config), holdMs: values['refused.hold.ms'] };
  },
  target: ({ config, settings, shapes, context }) => {
    const { values } = sinkConfigDef.parse(config);
    const options = connectionOptions(connectionKeys(values));
    const origin = values['replication.origin'] || null;
    const sessions = Array.from({ length: laneCount(values) }, (_, lane) => {
      const marks = {
        replicationRole: values['session.replication.role'],
        origin: origin === null ? null : `${origin}_${context.taskId}_${lane}`,
      };
      return new Session(options, marks, context.logger);
    });
    const store = offsetStore(values, context.connectorName);
    const offsets = store && { store, ledger: new OffsetLedger(context.connectorName, store.table) };
    const copyTrust = new CopyTrust();
    const mode = settings.insertMode;
    return postgresTarget(
      sessions,
      sessions.map(session => new Applier({ session, shapes, mode, copyTrust, offsets, context })),
      offsets,
    );
  },
};

/** The catalog is read, and DDL runs, over the first connection. */
function postgresTarget(
  sessions: readonly Session[],
  writers: readonly Applier[],
  offsets: PgOffsets | null,
): SqlTarget<PgTypes> {
  const session = sessions[0]!;
  return {
    dialect: postgresDialect(session),
    writers,
    classify: classifyPgFailure,
    isContention,
    ledger: offsets?.ledger ?? null,
    claimOffsets: partitions => session.use(async client => offsets?.store.claim(client, partitions) ?? []),
    moveOffsets: advances =>
      session.use(async client => {
        if (offsets) await moveOffsets(client, offsets, advances);
      }),
    open: () => session.use(async client => offsets?.store.create(client)),
    close: async () => {
      await Promise.all(sessions.map(each => each.close()));
    },
    asFailure: asSinkError,
  };
}

async function moveOffsets(client: Client, { store, ledger }: PgOffsets, advances: readonly Advance[]): Promise<void> {
  try {
    await runScript(client, [store.statement(advances)]);
  } catch (error) {
    if (!store.isRefusal(error)) throw error;
    ledger.checkCommitted(await store.read(client, advances), advances);
  }
}

const postgresDialect = (session: Session): SqlDialect<PgTypes> => ({
  columnCodec,
  readTable: name => session.use(client => readTable(client, name)),
  readSchemaName: schema => session.use(client => readSchemaName(client, schema)),
  tableSql,
  createSchemaSql,
  createTableSql,
  addColumnsSql,
  widenColumnsSql,
  guardWidth,
  widenSql,
  renameSql,
  runDdl: sql =>
    session.use(async client => {
      await client.query(sql);
    }),
  classifyDdl: error => (isState(error, ...RACED) ? 'raced' : isState(error, '42501') ? 'privilege' : 'other'),
  reasonOf,
});
