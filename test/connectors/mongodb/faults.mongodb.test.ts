/** Servers that cannot be reached, connections that are cut, documents that others stand in the way of: nothing is lost, and what is wrong is said. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../connectors/mongodb/index.ts';
import type { Config, Logger } from '../../../runtime/api/index.ts';
import { plainSinkBatch, type TestRecord } from '../../contract/sinkBatches.ts';
import {
  deleted,
  envelopeSchema,
  item,
  keySchema,
  type Named,
  tombstone,
  written,
} from '../../contract/sinkContract.ts';
import { type SinkRun, startSink } from '../../contract/sinkHarness.ts';
import { TcpProxy } from '../../services/tcpProxy.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { type MongoTarget, openMongoTarget, serverUrl } from './mongoTarget.ts';

const WAIT_MS = 20_000;

describe('faults', () => {
  let target: MongoTarget;
  let proxy: TcpProxy;
  before(async () => {
    target = await openMongoTarget();
    proxy = await TcpProxy.open(Number(new URL(serverUrl).port || 27017));
  });
  after(async () => {
    await proxy.close();
    await target[Symbol.asyncDispose]();
  });
  const throughProxy = (extra: Config = {}): Config => {
    const url = new URL(serverUrl);
    url.port = String(proxy.port);
    url.searchParams.set('directConnection', 'true');
    url.searchParams.set('serverSelectionTimeoutMS', '500');
    return { ...target.connection, 'connection.uri': url.href, 'retries.defer.timeout': '20', ...extra };
  };
  const batch = (topic: string, records: readonly TestRecord[], firstOffset = 0) =>
    plainSinkBatch({ topic, firstOffset, keySchema, valueSchema: envelopeSchema }, records);
  const start = (config: Config, options: { tolerate?: boolean; logger?: Logger } = {}): Promise<SinkRun> =>
    startSink(sinkPlugin.createTask(), config, options);

  it('goes on after its connections were cut, again and again, in the middle of writes', async () => {
    const topic = target.uniqueName();
    await using run = await start(throughProxy({ 'max.batch.size': '100', connections: '3' }));
    const expected = new Map<string, number>();
    for (let round = 0; round < 20; round++) {
      const records = Array.from({ length: 250 }, (_, i) => {
        const id = (round * 97 + i) % 600;
        const qty = round * 1000 + i;
        expected.set(String(id), qty);
        return written('u', item(BigInt(id), { qty }));
      });
      await run.task.put([batch(topic, records, round * 250)]);
      if (round % 4 !== 3) continue;
      proxy.cut();
      proxy.restore();
    }
    await run.task.preCommit!(new Map());
    assert.ok(run.counts.get('retries')! > 0);
    const found = await target.documents(topic);
    assert.deepEqual(new Map([...found].map(([id, { qty }]) => [id, qty])), new Map([...expected].sort()));
  });

  it('waits for a server that is not there yet, and tells why', async () => {
    const topic = target.uniqueName();
    const reasons: string[] = [];
    const warn = (...args: unknown[]): void => void reasons.push(JSON.stringify(args));
    const logger: Logger = { error() {}, info() {}, debug() {}, warn };
    proxy.cut();
    const starting = start(throughProxy(), { logger });
    await waitUntil('it has tried again', WAIT_MS, () => reasons.length > 0);
    assert.match(reasons[0]!, /the same is tried again/);
    proxy.restore();
    await using run = await starting;
    await run.deliver(batch(topic, [written('c', item(1n))]));
    assert.equal((await target.documents(topic)).size, 1);
  });

  it('gives up when its retries are used up, and confirms nothing', async () => {
    await using run = await start(throughProxy({ 'max.num.retries': '1' }));
    proxy.cut();
    try {
      const records = batch(target.uniqueName(), [written('c', item(1n))]);
      await assert.rejects(run.deliver(records), { code: 'SINK_UNAVAILABLE', message: /ECONNRESET/ });
      await assert.rejects(run.task.preCommit!(new Map()), { code: 'SINK_UNAVAILABLE' });
    } finally {
      proxy.restore();
    }
  });

  it('stops at once while the server is silent', async () => {
    await using run = await start(throughProxy());
    await run.deliver(batch(target.uniqueName(), [written('c', item(1n))]));
    proxy.hold();
    await run.task.put([batch(target.uniqueName(), [written('c', item(1n))])]);
    const started = performance.now();
    await run.abort();
    assert.ok(performance.now() - started < 3000);
  });

  it('does not take its own documents for duplicates when an insert is tried again', async () => {
    const topic = target.uniqueName();
    await using run = await start(throughProxy({ 'writemodel.strategy': 'InsertOneDefaultStrategy' }), {
      tolerate: true,
    });
    const records = Array.from({ length: 3000 }, (_, i) => written('c', item(BigInt(i))));
    // What a try before has written whose answer was lost: the same documents, but one.
    await using earlier = await start({ ...target.connection, 'writemodel.strategy': 'InsertOneDefaultStrategy' });
    await earlier.deliver(batch(topic, records.slice(0, 10)));
    await target.db.collection<{ _id: number }>(topic).updateOne({ _id: 5 }, { $set: { qty: 99 } });
    proxy.cut();
    const delivered = run.deliver(batch(topic, records));
    await waitUntil('a try has failed', WAIT_MS, () => (run.counts.get('retries') ?? 0) > 0);
    proxy.restore();
    await delivered;
    assert.deepEqual(
      run.errants.map(({ record }) => record.originalOffset),
      [5],
    );
    assert.equal((await target.documents(topic)).size, 3000);
  });

  it('inserts nothing twice when everything comes again, and tells documents that differ', async () => {
    const topic = target.uniqueName();
    const inserts = { ...target.connection, 'writemodel.strategy': 'InsertOneDefaultStrategy' };
    const records = Array.from({ length: 1200 }, (_, i) => written('c', item(BigInt(i))));
    await using first = await start(inserts);
    await first.deliver(batch(topic, records.slice(0, 1100)));
    await first.abort();
    await target.db.collection<{ _id: number }>(topic).updateOne({ _id: 7 }, { $set: { qty: 99 } });
    for (const isOrdered of ['false', 'true']) {
      await using again = await start({ ...inserts, 'bulk.write.ordered': isOrdered }, { tolerate: true });
      await again.deliver(batch(topic, isOrdered === 'true' ? records.slice(0, 20) : records));
      assert.deepEqual(
        again.errants.map(({ record }) => record.originalOffset),
        [7],
      );
      assert.equal(again.counts.get('documents_known'), isOrdered === 'true' ? 19 : 1099);
    }
    assert.equal((await target.documents(topic)).size, 1200);
  });

  describe('unique indexes beside the id', () => {
    const picky = async (): Promise<string> => {
      const topic = target.uniqueName();
      await target.db.collection(topic).createIndex({ code: 1 }, { unique: true });
      return topic;
    };
    const codes = async (topic: string): Promise<Named> =>
      Object.fromEntries([...(await target.documents(topic))].map(([id, { code }]) => [id, code]));

    for (const isOrdered of ['false', 'true'])
      it(`lets values move from document to document, bulk.write.ordered=${isOrdered}`, async () => {
        const topic = await picky();
        await using run = await start({ ...target.connection, 'bulk.write.ordered': isOrdered });
        await run.deliver(batch(topic, [written('c', item(1n, { code: 'A' })), written('c', item(2n, { code: 'B' }))]));
        await run.deliver(
          batch(
            topic,
            [
              written('u', item(1n, { code: 'tmp' })),
              written('u', item(2n, { code: 'A' })),
              written('u', item(1n, { code: 'B' })),
            ],
            2,
          ),
        );
        assert.deepEqual(await codes(topic), { 1: 'B', 2: 'A' });
        await run.deliver(batch(topic, [deleted(1n), tombstone(1n), written('c', item(3n, { code: 'B' }))], 5));
        assert.deepEqual(await codes(topic), { 2: 'A', 3: 'B' });
      });

    it('goes on behind a refused document of an ordered bulk', async () => {
      const topic = await picky();
      await using run = await start({ ...target.connection, 'bulk.write.ordered': 'true' }, { tolerate: true });
      const records = ['A', 'A', 'B', 'B', 'C'].map((code, i) => written('c', item(BigInt(i), { code })));
      await run.deliver(batch(topic, records));
      assert.deepEqual(await codes(topic), { 0: 'A', 2: 'B', 4: 'C' });
      assert.deepEqual(
        run.errants.map(({ record, error }) => [record.originalOffset, error.code]),
        [
          [1, 'SINK_RECORD_REJECTED'],
          [3, 'SINK_RECORD_REJECTED'],
        ],
      );
      assert.match(run.errants[0]!.error.message, /unique index code_1/);
      assert.doesNotMatch(run.errants[0]!.error.message, /"A"/);
      assert.equal(run.errants[0]!.error.place.table, `${target.db.databaseName}.${topic}`);
    });
  });

  it('waits between bulk writes where it is told to', async () => {
    const topic = target.uniqueName();
    await using run = await start({
      ...target.connection,
      'max.batch.size': '10',
      connections: '1',
      'rate.limiting.every.n': '1',
      'rate.limiting.timeout': '100',
    });
    const started = performance.now();
    await run.deliver(
      batch(
        topic,
        Array.from({ length: 40 }, (_, i) => written('c', item(BigInt(i)))),
      ),
    );
    assert.ok(performance.now() - started >= 290);
  });

  it('makes no time series of a collection that is something else', async () => {
    const topic = target.uniqueName();
    await target.db.createCollection(topic);
    await using run = await start({
      ...target.connection,
      'delete.on.null.values': 'false',
      'timeseries.timefield': 'at',
    });
    await assert.rejects(run.deliver(batch(topic, [written('c', item(1n))])), {
      code: 'SINK_DDL_FAILED',
      message: /another kind of collection.*timeseries\.timefield/,
    });
  });

  describe('before a connector is created', () => {
    const validate = async (extra: Config) => sinkPlugin.validate!({ ...target.connection, ...extra });

    it('takes a configuration that works', async () => {
      assert.deepEqual(await validate({}), []);
    });

    it('names the key of a server that does not answer', async () => {
      const [error, ...others] = await validate({ 'connection.uri': 'mongodb://user:s3cr3t@127.0.0.1:1/' });
      assert.equal(error?.key, 'connection.uri');
      assert.match(error!.message, /MongoDB at 127\.0\.0\.1:1: \[SINK_UNAVAILABLE\].*connection\.uri/);
      assert.doesNotMatch(error!.message, /s3cr3t/);
      assert.deepEqual(others, []);
    });

    it('does not connect where something else is wrong', async () => {
      const found = await validate({ 'connection.uri': 'mongodb://127.0.0.1:1/', 'writemodel.strategy': 'x' });
      assert.deepEqual(
        found.map(({ key }) => key),
        ['writemodel.strategy'],
      );
    });
  });
});
