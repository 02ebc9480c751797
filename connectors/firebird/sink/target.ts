/** Firebird as a target of the shared sink task: its session, its catalog, its DDL, its table of offsets. */
import { ConnectError } from '../../../runtime/api/index.ts';
import { type Advance, OffsetLedger } from '../../shared/offsetLedger.ts';
import { checkRefused, OffsetsRefused } from '../../shared/refusedOffsets.ts';
import type { SqlDialect, SqlTarget } from '../../shared/sqlDialect.ts';
import { sqlSinkSettings } from '../../shared/sqlSinkConfig.ts';
import type { SqlSinkKind } from '../../shared/sqlSinkTask.ts';
import type { Database } from '../connection.ts';
import { Session } from '../session.ts';
import { Applier } from './applier.ts';
import { readTable } from './catalog.ts';
import { columnCodec } from './columnCodec.ts';
import { checkSinkConfig, offsetStore, sinkConfigDef, targetAddress } from './config.ts';
import type { FbTypes } from './fbTypes.ts';
import { asSinkError, isPrivilege, isThereAlready, reasonOf } from './firebirdFailure.ts';
import type { FirebirdOffsets } from './offsetStore.ts';
import { addColumnsSql, createTableSql, tableSql, widenColumnsSql, widenSql } from './tableDdl.ts';
import { guardWidth } from './widthGuard.ts';

export const firebirdSink: SqlSinkKind<FbTypes> = {
  checkConfig: checkSinkConfig,
  settings: config => sqlSinkSettings(sinkConfigDef.parse(config).values, config),
  target: ({ config, settings, shapes, context }) => {
    const { values } = sinkConfigDef.parse(config);
    const session = new Session({
      address: targetAddress(values),
      logger: context.logger,
      what: 'the target',
      stopped: () => new ConnectError('SINK_UNAVAILABLE', 'the task was stopped'),
    });
    const store = offsetStore(values, context.connectorName);
    const offsets = store && { store, ledger: new OffsetLedger(context.connectorName, store.table) };
    const writer = new Applier({ session, shapes, mode: settings.insertMode, offsets, context });
    return firebirdTarget(session, writer, offsets);
  },
};

const firebirdTarget = (session: Session, writer: Applier, offsets: FirebirdOffsets | null): SqlTarget<FbTypes> => ({
  dialect: firebirdDialect(session),
  writers: [writer],
  classify: error => writer.classify(error),
  isContention: () => false,
  ledger: offsets?.ledger ?? null,
  claimOffsets: partitions => session.use(async database => offsets?.store.claim(database, partitions) ?? []),
  moveOffsets: advances =>
    session.use(async database => {
      if (offsets) await moveOffsets(database, offsets, advances);
    }),
  open: () => session.runDdl(async database => offsets?.store.create(database)),
  close: () => session.close(),
  asFailure: asSinkError,
});

async function moveOffsets(database: Database, offsets: FirebirdOffsets, advances: readonly Advance[]): Promise<void> {
  try {
    await offsets.store.move(database, advances);
  } catch (error) {
    if (!(error instanceof OffsetsRefused)) throw error;
    await checkRefused(database, offsets, advances);
  }
}

const firebirdDialect = (session: Session): SqlDialect<FbTypes> => ({
  columnCodec,
  readTable: name => session.use(database => readTable(database, name)),
  // Firebird has none: that part of a name is left out.
  readSchemaName: async schema => schema,
  tableSql,
  createSchemaSql: () => 'select 1 from rdb$database',
  createTableSql,
  addColumnsSql,
  widenColumnsSql,
  guardWidth,
  widenSql,
  runDdl: sql =>
    session.runDdl(async database => {
      await database.queryAsync(sql);
    }),
  classifyDdl: error => (isThereAlready(error) ? 'raced' : isPrivilege(error) ? 'privilege' : 'other'),
  reasonOf,
});
