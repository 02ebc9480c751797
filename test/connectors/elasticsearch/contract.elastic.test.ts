import { after, before, describe } from 'node:test';
import { sinkPlugin } from '../../../connectors/elasticsearch/index.ts';
import { documentSinkContract } from '../../contract/documentSinkContract.ts';
import { ElasticTarget, servers } from './elasticTarget.ts';

for (const [name, server] of servers) {
  describe(name, () => {
    let target: ElasticTarget;
    before(() => {
      target = new ElasticTarget(server);
    });
    after(() => target[Symbol.asyncDispose]());
    documentSinkContract('Elasticsearch sink', () => ({
      createTask: () => sinkPlugin.createTask(),
      connection: target.connection,
      deletesOff: { 'behavior.on.null.values': 'fail' },
      bounded: records => ({ 'batch.size': String(records) }),
      newCollection: () => target.newName(),
      newPickyCollection: async () => {
        const index = target.newName();
        await target.run('PUT', `/${index}`, { mappings: { properties: { code: { type: 'integer' } } } });
        return index;
      },
      documents: index => target.documents(index),
      typesDocument: {
        id: 1,
        small: -7,
        number: 2_147_483_647,
        big: 9_007_199_254_740_993n,
        ratio: 2,
        flag: true,
        text: 'Zürich 🚲',
        nothing: null,
        blob: 'AAH+/w==',
        amount: '-12345678901234567890.12',
        scaled: '0.256',
        day: '2023-01-01',
        connect_day: '2023-01-01',
        at: '2023-01-01T10:00:00.123Z',
        connect_at: '2023-01-01T10:00:00.123Z',
        micro_at: '2023-01-01T10:00:00.123Z',
        zoned_at: '2023-01-01T12:00:00.123+02:00',
        uuid: '6f1c1c9a-6a5e-4c43-9d1b-0d6c6a1f7b11',
        tags: ['a', 'b'],
        counts: { x: 1 },
        address: { street: 'Main', spot: { lat: 47.5 } },
      },
    }));
  });
}
