import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../connectors/elasticsearch/index.ts';
import type { Config, Logger } from '../../../runtime/api/index.ts';
import { INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Struct, struct } from '../../../schemas/data/index.ts';
import { plainSinkBatch, type TestRecord } from '../../contract/sinkBatches.ts';
import { startSink } from '../../contract/sinkHarness.ts';
import { ElasticTarget, servers } from './elasticTarget.ts';
import { flatBatch, record, tombstone, valueSchema } from './flatRecords.ts';

for (const [name, server] of servers) {
  describe(`Elasticsearch sink, versions: ${name}`, () => {
    let target: ElasticTarget;
    before(() => {
      target = new ElasticTarget(server);
    });
    after(() => target[Symbol.asyncDispose]());
    const warnings: Readonly<Record<string, unknown>>[] = [];
    const logger: Logger = {
      error: () => {},
      warn: (details: unknown) => void warnings.push(details as Readonly<Record<string, unknown>>),
      info: () => {},
      debug: () => {},
    };
    const start = (extra: Config = {}, tolerate = false) =>
      startSink(sinkPlugin.createTask(), { ...target.connection, ...extra }, { logger, tolerate });

    it('gives a document the offset of its record, and tells what is stale from what is there already', async () => {
      const topic = target.newName();
      await using sink = await start();
      warnings.length = 0;
      await sink.deliver(flatBatch(topic, [record('a', 'new', 1), record('b', 'new', 1)], 100));
      assert.equal(await target.version(topic, 'a'), 100);
      await sink.deliver(flatBatch(topic, [record('a', 'new', 1)], 100));
      assert.deepEqual([sink.counts.get('documents_known'), sink.counts.get('version_conflicts')], [1, undefined]);
      assert.deepEqual(warnings, []);
      await sink.deliver(flatBatch(topic, [record('a', 'old', 0), record('b', 'old', 0)], 7));
      assert.equal((await target.documents(topic)).get('a')?.name, 'new');
      assert.equal(sink.counts.get('version_conflicts'), 2);
      // Once a minute, without the id.
      assert.deepEqual(warnings, [
        { topic, partition: 0, offset: 7, table: topic, column: undefined, stored: '100', offered: '7' },
      ]);
    });

    it('takes an equal version for a conflict where the target has something else', async () => {
      const topic = target.newName();
      await using sink = await start({ 'behavior.on.version.conflict': 'report' }, true);
      await sink.deliver(flatBatch(topic, [record('a', 'one', 1), record('b', 'one', 1), record('c', 'one', 1)], 100));
      await sink.deliver(flatBatch(topic, [tombstone('c')], 103));
      // The same offsets from another topic, or from one that was made anew.
      await sink.deliver(flatBatch(topic, [record('a', 'two', 2), tombstone('b')], 100));
      // The same records again.
      await sink.deliver(flatBatch(topic, [record('a', 'one', 1), record('b', 'one', 1)], 100));
      await sink.deliver(flatBatch(topic, [tombstone('c')], 103));
      assert.deepEqual(
        sink.errants.map(({ record: r, error }) => [r.originalOffset, error.code]),
        [
          [100, 'SINK_VERSION_CONFLICT'],
          [101, 'SINK_VERSION_CONFLICT'],
        ],
      );
      assert.equal(sink.counts.get('version_conflicts'), 2);
      assert.deepEqual([...(await target.documents(topic)).keys()], ['a', 'b']);
    });

    it('fails at a conflict, or reports it, if it is told to', async () => {
      const topic = target.newName();
      await using failing = await start({ 'behavior.on.version.conflict': 'fail' });
      await failing.deliver(flatBatch(topic, [record('a', 'new', 1)], 100));
      await assert.rejects(failing.deliver(flatBatch(topic, [record('a', 'old', 0)], 7)), {
        code: 'SINK_VERSION_CONFLICT',
        message: /version 100 .* 7/,
      });
      await using reporting = await start({ 'behavior.on.version.conflict': 'report' }, true);
      await reporting.deliver(flatBatch(topic, [record('a', 'old', 0), record('b', 'x', 0)], 7));
      assert.deepEqual(
        reporting.errants.map(({ record: r, error }) => [r.originalOffset, error.code]),
        [[7, 'SINK_VERSION_CONFLICT']],
      );
      assert.equal((await target.documents(topic)).get('b')?.name, 'x');
    });

    it('deletes by version: an older deletion leaves the document', async () => {
      const topic = target.newName();
      await using sink = await start();
      await sink.deliver(flatBatch(topic, [record('a', 'new', 1)], 100));
      await sink.deliver(flatBatch(topic, [tombstone('a')], 50));
      assert.equal((await target.documents(topic)).size, 1);
      await sink.deliver(flatBatch(topic, [tombstone('a')], 101));
      await sink.deliver(flatBatch(topic, [record('a', 'late', 1)], 99));
      assert.equal((await target.documents(topic)).size, 0);
    });

    it('takes whatever comes without versions', async () => {
      const topic = target.newName();
      await using sink = await start({ 'document.version': 'none' });
      await sink.deliver(flatBatch(topic, [record('a', 'first', 1)], 100));
      await sink.deliver(flatBatch(topic, [record('a', 'second', 1)], 7));
      assert.equal((await target.documents(topic)).get('a')?.name, 'second');
      assert.equal(sink.counts.get('version_conflicts'), undefined);
    });

    it('takes the version from a header', async () => {
      const topic = target.newName();
      const header = (value: unknown) => [{ name: 'version', schema: null, value }];
      await using sink = await start({ 'external.version.header': 'version' }, true);
      await sink.deliver(flatBatch(topic, [record('a', 'nine', 1, header(9n))], 100));
      await sink.deliver(flatBatch(topic, [record('a', 'eight', 1, header('8'))], 101));
      assert.equal((await target.documents(topic)).get('a')?.name, 'nine');
      assert.equal(await target.version(topic, 'a'), 9);
      await sink.deliver(flatBatch(topic, [record('a', 'x', 1), record('a', 'y', 1, header('ten'))], 102));
      assert.deepEqual(
        sink.errants.map(({ record: r, error }) => [r.originalOffset, error.code]),
        [
          [102, 'SINK_VERSION_MISSING'],
          [103, 'SINK_VERSION_MISSING'],
        ],
      );
      assert.ok(!sink.errants[1]!.error.message.includes('ten'));
    });

    describe('from the source', () => {
      const envelopeOf = (fields: readonly (readonly [string, typeof STRING])[]) =>
        struct(
          [
            ['before', valueSchema],
            ['after', valueSchema],
            ['source', struct(fields, { name: 'shop.Source' })],
            ['op', STRING],
          ],
          { name: 'shop.Envelope' },
        );
      const postgres = envelopeOf([
        ['sequence', OPTIONAL_STRING],
        ['lsn', OPTIONAL_INT64],
      ]);
      const mysql = envelopeOf([
        ['file', STRING],
        ['pos', INT64],
      ]);
      const event = (schema: typeof postgres, source: readonly unknown[], name: string | null): TestRecord => ({
        key: 'a',
        value: Struct.of(schema, {
          after: name === null ? null : new Struct(valueSchema, [name, 1]),
          source: new Struct(schema.fields[2]!.schema as typeof postgres, [...source]),
          op: name === null ? 'd' : 'u',
        }),
      });
      const batch = (topic: string, schema: typeof postgres, records: readonly TestRecord[], firstOffset: number) =>
        plainSinkBatch({ topic, firstOffset, keySchema: STRING, valueSchema: schema }, records);

      it('orders changes of PostgreSQL by LSN, wherever the topic has them', async () => {
        const topic = target.newName();
        await using sink = await start({ 'document.version': 'source' });
        const put = (source: readonly unknown[], name: string | null, offset: number) =>
          sink.deliver(batch(topic, postgres, [event(postgres, source, name)], offset));
        await put([null, 5000n], 'newer', 1000);
        // The topic was made anew, and has the older change again.
        await put([null, 4000n], 'older', 0);
        assert.equal((await target.documents(topic)).get('a')?.name, 'newer');
        await put([null, 6000n], 'newest', 1);
        // A row that is read between the changes, at the place of the last one.
        await put(['["5990","6000"]', null], 'read', 2);
        assert.equal((await target.documents(topic)).get('a')?.name, 'read');
        assert.equal(await target.version(topic, 'a'), 6000);
        await put([null, 7000n], null, 3);
        assert.equal((await target.documents(topic)).size, 0);
      });

      it('gives a tombstone the position of the event before it', async () => {
        const topic = target.newName();
        await using sink = await start({ 'document.version': 'source' });
        await sink.deliver(batch(topic, postgres, [event(postgres, [null, 5000n], 'x')], 0));
        await sink.deliver(batch(topic, postgres, [tombstone('a')], 1));
        assert.equal((await target.documents(topic)).size, 0);
        // Nothing is known of what stood before.
        await using other = await start({ 'document.version': 'source' });
        await other.deliver(batch(topic, postgres, [tombstone('b')], 2));
        assert.equal(other.counts.get('bulk_requests'), undefined);
      });

      it('orders changes of MySQL by file and position', async () => {
        const topic = target.newName();
        await using sink = await start({ 'document.version': 'source' });
        const put = (source: readonly unknown[], name: string, offset: number) =>
          sink.deliver(batch(topic, mysql, [event(mysql, source, name)], offset));
        await put(['binlog.000010', 4n], 'new file', 5);
        await put(['binlog.000009', 900_000n], 'old file', 6);
        assert.equal((await target.documents(topic)).get('a')?.name, 'new file');
      });

      it('refuses records without a position', async () => {
        const topic = target.newName();
        await using sink = await start({ 'document.version': 'source' });
        await assert.rejects(sink.deliver(flatBatch(topic, [record('a', 'x', 1)])), {
          code: 'SINK_VERSION_MISSING',
          message: /document\.version=offset/,
        });
      });
    });
  });
}
