import { after, before, describe } from 'node:test';
import { type Database, disconnect } from '../../../../connectors/firebird/connection.ts';
import { sinkPlugin } from '../../../../connectors/firebird/sink/index.ts';
import { sinkContract } from '../../../contract/sinkContract.ts';
import { type FirebirdVersion, TestFirebird } from '../../../services/localFirebird.ts';

for (const version of [5, 4] as readonly FirebirdVersion[]) {
  describe(`Firebird ${version}`, () => {
    let target: TestFirebird;
    let database: Database;
    let drop: () => Promise<void> = async () => {};
    let tables = 0;
    before(async () => {
      target = await TestFirebird.create({ after: f => (drop = f) }, version);
      database = await target.connect();
    });
    after(async () => {
      await disconnect(database);
      await drop();
    });
    sinkContract('Firebird sink', () => ({
      createTask: () => sinkPlugin.createTask(),
      connection: {
        'connection.url': target.url,
        'connection.user': target.address.user,
        'connection.password': target.address.password,
      },
      createItemTable: async () => {
        const table = `ITEM_${++tables}`;
        await database.queryAsync(
          `create table ${table} ("id" bigint not null primary key, "name" varchar(20), "qty" integer default 7 not null, "code" varchar(100) unique)`,
        );
        return table;
      },
      items: async table => {
        const rows = await database.queryAsync(`select "id", "name", "qty", "code" from ${table} order by "id"`);
        return rows.map(row => ({ ...row, id: BigInt(row.id) }));
      },
      rows: async table => {
        const rows = await database.queryAsync(`select t.* from ${table} t order by "id"`);
        // The client gives blobs as functions.
        const blobs = Object.keys(rows[0] ?? {}).filter(name => rows.some(row => typeof row[name] === 'function'));
        for (const name of blobs) {
          const texts = await database.queryAsync(
            `select cast("${name}" as varchar(1000)) text from ${table} order by "id"`,
          );
          for (const [i, { TEXT }] of texts.entries()) rows[i][name] = TEXT;
        }
        return rows;
      },
    }));
  });
}
