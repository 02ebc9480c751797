import { sinkPlugin } from '../../../../connectors/mysql/sink/index.ts';
import { parallelContract } from '../../../contract/parallelContract.ts';
import { openMysqlTarget, servers } from './mysqlTarget.ts';

for (const [name, server] of servers)
  parallelContract(name, async () => {
    const target = await openMysqlTarget(server);
    return {
      target: { ...target, connection: { ...target.connection, 'retry.backoff.ms': '10' } },
      createTask: () => sinkPlugin.createTask(),
      spreadsUniqueValues: false,
      makeSlow: table =>
        target.execute(
          ['insert', 'update']
            .map(what => `create trigger slow_${table}_${what} after ${what} on ${table} for each row do sleep(0.0002)`)
            .join(';'),
        ),
      connections: async () => {
        const rows = await target.rows(
          'select id from information_schema.processlist where db = database() and id <> connection_id()',
        );
        return rows.length;
      },
    };
  });
