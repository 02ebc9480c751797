import { after, before, describe } from 'node:test';
import { sinkPlugin } from '../../../../connectors/mysql/sink/index.ts';
import type { Config } from '../../../../runtime/api/index.ts';
import { type ItemRow, type SinkSubject, sinkContract } from '../../../contract/sinkContract.ts';
import { type MysqlTarget, openMysqlTarget, servers } from './mysqlTarget.ts';

for (const [name, server] of servers) {
  describe(name, () => {
    let target: MysqlTarget;
    before(async () => {
      target = await openMysqlTarget(server);
    });
    after(() => target[Symbol.asyncDispose]());
    let latest = '';
    const subject =
      (guarantee: Config): (() => SinkSubject) =>
      () => ({
        createTask: () => sinkPlugin.createTask(),
        // Offsets of their own for each table: all of them come from one partition of one topic.
        connection: { ...target.connection, ...guarantee, 'exactly.once.offsets.table': `offsets_${latest}` },
        createItemTable: async () => {
          const table = target.uniqueName();
          latest = table;
          await target.client.query(
            `create table ${table} (id bigint primary key, name varchar(20), qty int not null default 7, code varchar(255) unique)`,
          );
          return table;
        },
        items: async table => {
          const rows = await target.rows(`select id, name, qty, code from ${table} order by id`);
          return rows.map(r => ({ ...r, id: BigInt(r.id as string) }) as ItemRow);
        },
        rows: table => target.rows(`select * from ${table} order by id`),
      });
    sinkContract('MySQL sink', subject({}));
    sinkContract('MySQL sink, exactly once', subject({ 'delivery.guarantee': 'exactly-once' }));
  });
}
