import { after, before, describe } from 'node:test';
import { sinkPlugin } from '../../../connectors/mongodb/index.ts';
import { documentSinkContract } from '../../contract/documentSinkContract.ts';
import { type MongoTarget, openMongoTarget } from './mongoTarget.ts';

describe('MongoDB', () => {
  let target: MongoTarget;
  before(async () => {
    target = await openMongoTarget();
  });
  after(() => target[Symbol.asyncDispose]());
  const day = new Date('2023-01-01T00:00:00Z');
  const at = new Date('2023-01-01T10:00:00.123Z');
  documentSinkContract('MongoDB sink', () => ({
    createTask: () => sinkPlugin.createTask(),
    connection: target.connection,
    deletesOff: { 'delete.on.null.values': 'false' },
    bounded: records => ({ 'max.batch.size': String(records), connections: '3' }),
    newCollection: () => target.uniqueName(),
    newPickyCollection: async () => {
      const name = target.uniqueName();
      const collection = target.db.collection<{ _id: string; code: string }>(name);
      await collection.createIndex({ code: 1 }, { unique: true });
      await collection.insertOne({ _id: 'holder', code: 'refused' });
      return name;
    },
    documents: collection => target.documents(collection),
    typesDocument: {
      id: 1n,
      small: -7,
      number: 2_147_483_647,
      big: 9_007_199_254_740_993n,
      ratio: { double: 2 },
      flag: true,
      text: 'Zürich 🚲',
      nothing: null,
      blob: Buffer.from([0, 1, 254, 255]),
      amount: '-12345678901234567890.12',
      scaled: '0.256',
      day,
      connect_day: day,
      at,
      connect_at: at,
      micro_at: at,
      zoned_at: new Date('2023-01-01T10:00:00.123Z'),
      uuid: '6f1c1c9a-6a5e-4c43-9d1b-0d6c6a1f7b11',
      tags: ['a', 'b'],
      counts: { x: 1 },
      address: { street: 'Main', spot: { lat: { double: 47.5 } } },
    },
  }));
});
