import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sinkPlugin } from '../../../connectors/elasticsearch/index.ts';
import type { Config } from '../../../runtime/api/index.ts';
import { startSink } from '../../contract/sinkHarness.ts';
import { LocalOpensearch } from '../../services/localOpensearch.ts';
import { TcpProxy } from '../../services/tcpProxy.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { ElasticTarget, servers } from './elasticTarget.ts';
import { flatBatch, record } from './flatRecords.ts';
import { CA_FILE, GuardedProxy } from './guardedProxy.ts';

const many = (count: number, name = 'x') => Array.from({ length: count }, (_, i) => record(`k${i}`, name, i));
const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

for (const [name, server] of servers) {
  describe(`Elasticsearch sink, faults: ${name}`, () => {
    let target: ElasticTarget;
    before(() => {
      target = new ElasticTarget(server);
    });
    after(() => target[Symbol.asyncDispose]());
    const port = Number(new URL(server).port);
    const config = (extra: Config = {}): Config => ({ ...target.connection, 'retry.backoff.ms': '20', ...extra });
    const start = (extra: Config = {}) => startSink(sinkPlugin.createTask(), config(extra));
    const validate = async (extra: Config): Promise<readonly { key: string; message: string }[]> =>
      sinkPlugin.validate!({ ...config(extra) });

    it('sends again what an index did not take for now, and only that', async () => {
      const [blocked, open] = [target.newName(), target.newName()];
      await using sink = await start();
      await sink.deliver(flatBatch(blocked, many(1)), flatBatch(open, many(1)));
      const block = (isOn: boolean | null) =>
        target.run('PUT', `/${blocked}/_settings`, { 'index.blocks.read_only_allow_delete': isOn });
      await block(true);
      const delivered = sink.deliver(flatBatch(blocked, many(50, 'y'), 1), flatBatch(open, many(50, 'y'), 1));
      await waitUntil('three tries', 20_000, () => (sink.counts.get('retries') ?? 0) >= 3);
      assert.equal((await target.documents(open)).get('k7')?.name, 'y');
      await block(null);
      await delivered;
      assert.equal((await target.documents(blocked)).get('k7')?.name, 'y');
      // Had all been sent again, those of the other index would have been there already.
      assert.equal(sink.counts.get('documents_known'), undefined);
    });

    it('gives up after max.retries, and names the reason', async () => {
      const topic = target.newName();
      await target.run('PUT', `/${topic}`, { settings: { 'index.blocks.read_only_allow_delete': true } });
      await using sink = await start({ 'max.retries': '2', 'schema.ignore': 'true' });
      await assert.rejects(sink.deliver(flatBatch(topic, many(1))), {
        code: 'SINK_UNAVAILABLE',
        message: /cluster_block_exception/,
      });
      assert.equal(sink.counts.get('retries'), 2);
      await target.run('PUT', `/${topic}/_settings`, { 'index.blocks.read_only_allow_delete': null });
    });

    it('fails where the index as a whole takes nothing, and leaves no record out for it', async () => {
      const closed = target.newName();
      const lenient = { 'behavior.on.malformed.documents': 'ignore' };
      await using sink = await start(lenient);
      await sink.deliver(flatBatch(closed, many(1)));
      await target.run('POST', `/${closed}/_close`);
      await assert.rejects(sink.deliver(flatBatch(closed, many(2), 1)), {
        code: 'SINK_WRITE_FAILED',
        message: /index_closed_exception/,
      });
      const indices = [target.newName(), target.newName()];
      const alias = target.newName();
      for (const index of indices) await target.run('PUT', `/${index}`, { aliases: { [alias]: {} } });
      await using ambiguous = await start({ ...lenient, 'schema.ignore': 'true' });
      await assert.rejects(ambiguous.deliver(flatBatch(alias, many(1))), { message: /no write index is defined/ });
      await using nameless = await start(lenient);
      await assert.rejects(nameless.deliver(flatBatch('---', many(1))), { code: 'SINK_INDEX_FAILED' });
    });

    it('fails where it may not write, with what to change', async () => {
      const topic = target.newName();
      await target.run('PUT', `/${topic}`, { settings: { 'index.blocks.write': true } });
      await using sink = await start({ 'schema.ignore': 'true' });
      await assert.rejects(sink.deliver(flatBatch(topic, many(1))), {
        code: 'SINK_PRIVILEGE',
        message: /lift the block/,
      });
      await target.run('PUT', `/${topic}/_settings`, { 'index.blocks.write': null });
    });

    it('goes on with the other node while one is away, and through a time without any', async () => {
      const topic = target.newName();
      const [one, two] = [await TcpProxy.open(port), await TcpProxy.open(port)];
      try {
        const urls = [one, two].map(proxy => `http://127.0.0.1:${proxy.port}`).join(',');
        await using sink = await start({ 'connection.url': urls });
        await sink.deliver(flatBatch(topic, many(10)));
        one.cut();
        for (let i = 1; i < 5; i++) await sink.deliver(flatBatch(topic, many(10), i * 10));
        assert.equal(sink.counts.get('retries'), undefined);
        two.cut();
        const delivered = sink.deliver(flatBatch(topic, many(10, 'late'), 100));
        await waitUntil('three tries', 20_000, () => (sink.counts.get('retries') ?? 0) >= 3);
        one.restore();
        await delivered;
        assert.equal((await target.documents(topic)).get('k9')?.name, 'late');
      } finally {
        await one.close();
        await two.close();
      }
    });

    for (const method of ['INSERT', 'UPSERT'])
      it(`keeps the order of each id while several requests are under way: ${method}`, async () => {
        const topic = target.newName();
        const proxy = await TcpProxy.open(port, 40);
        try {
          await using sink = await start({
            'connection.url': `http://127.0.0.1:${proxy.port}`,
            'batch.size': '40',
            'write.method': method,
            'document.version': 'none',
          });
          const last = new Map<string, number>();
          for (let offset = 0; offset < 6000; offset += 100) {
            const records = Array.from({ length: 100 }, (_, i) => {
              const key = `k${(i * 7 + offset) % 171}`;
              last.set(key, offset + i);
              return record(key, 'x', offset + i);
            });
            await sink.task.put([flatBatch(topic, records, offset)]);
          }
          await sink.task.preCommit!(new Map());
          assert.ok(proxy.cut() > 2, 'several connections');
          const documents = await target.documents(topic);
          assert.deepEqual([...documents].map(([id, { qty }]) => [id, qty]).sort(), [...last].sort());
        } finally {
          await proxy.close();
        }
      });

    it('does not wait for an answer for ever', async () => {
      const topic = target.newName();
      const proxy = await TcpProxy.open(port);
      try {
        await using sink = await start({
          'connection.url': `http://127.0.0.1:${proxy.port}`,
          'read.timeout.ms': '300',
        });
        await sink.deliver(flatBatch(topic, many(1)));
        proxy.hold();
        await sink.deliver(flatBatch(topic, many(10, 'late'), 1));
        assert.ok(sink.counts.get('retries')! > 0);
        assert.equal((await target.documents(topic)).get('k9')?.name, 'late');
      } finally {
        await proxy.close();
      }
    });

    it('stops while the target is silent', async () => {
      const proxy = await TcpProxy.open(port);
      try {
        const sink = await start({ 'connection.url': `http://127.0.0.1:${proxy.port}` });
        const topic = target.newName();
        await sink.deliver(flatBatch(topic, many(1)));
        proxy.hold();
        const delivered = sink.deliver(flatBatch(topic, many(10), 1));
        delivered.catch(() => {});
        await waitUntil('a request under way', 20_000, () => (sink.counts.get('bulk_requests') ?? 0) >= 2);
        await sink.abort();
        await assert.rejects(delivered);
      } finally {
        await proxy.close();
      }
    });

    describe('behind TLS and a login', () => {
      const trust = { 'elastic.https.ssl.truststore.location': CA_FILE };
      const user = { 'connection.username': 'loader', 'connection.password': 'se:cret' };

      it('writes, compressed', async () => {
        const topic = target.newName();
        await using proxy = await GuardedProxy.open(server, basic('loader', 'se:cret'));
        const address = { 'connection.url': proxy.url, ...trust, ...user, 'connection.compression': 'true' };
        assert.deepEqual(await validate(address), []);
        await using sink = await start(address);
        await sink.deliver(flatBatch(topic, many(500)));
        assert.equal((await target.documents(topic)).size, 500);
        assert.ok(proxy.compressed > 0);
      });

      it('takes an API key', async () => {
        await using proxy = await GuardedProxy.open(server, 'ApiKey aWQ6a2V5');
        assert.deepEqual(
          await validate({ 'connection.url': proxy.url, ...trust, 'connection.api.key': 'aWQ6a2V5' }),
          [],
        );
      });

      it('tells a wrong login and a certificate that nobody trusts, at the start and before', async () => {
        await using proxy = await GuardedProxy.open(server, basic('loader', 'other'));
        const wrong = { 'connection.url': proxy.url, ...trust, ...user };
        const [login] = await validate(wrong);
        assert.equal(login?.key, 'connection.username');
        assert.match(login.message, /SINK_LOGIN_FAILED.*connection\.password/);
        assert.ok(!login.message.includes('cret'));
        await assert.rejects(start(wrong), { code: 'SINK_LOGIN_FAILED' });
        const [certificate] = await validate({ 'connection.url': proxy.url, ...user });
        assert.equal(certificate?.key, 'connection.url');
        assert.match(certificate.message, /TLS.*truststore/);
      });

      it('tells that nobody answers', async () => {
        const proxy = await TcpProxy.open(port);
        const url = `http://127.0.0.1:${proxy.port}`;
        await proxy.close();
        const [unreachable] = await validate({ 'connection.url': url });
        assert.equal(unreachable?.key, 'connection.url');
        assert.match(unreachable.message, /SINK_UNAVAILABLE.*ECONNREFUSED.*check connection\.url/);
      });
    });
  });
}

describe('Elasticsearch sink, with a server of its own', () => {
  let server: LocalOpensearch;
  let target: ElasticTarget;
  before(async () => {
    server = await LocalOpensearch.start(['http.max_content_length: 100kb']);
    target = new ElasticTarget(server.url);
  });
  after(() => server?.stop());

  it('halves requests that are too large, and reports a document that is too large alone', async () => {
    const topic = target.newName();
    await using sink = await startSink(sinkPlugin.createTask(), target.connection, { tolerate: true });
    const records = Array.from({ length: 100 }, (_, i) => record(`k${i}`, 'v'.repeat(i === 70 ? 150_000 : 5000), i));
    await sink.deliver(flatBatch(topic, records, 10));
    assert.equal((await target.documents(topic)).size, 99);
    assert.deepEqual(
      sink.errants.map(({ record: r, error }) => [r.originalOffset, error.code]),
      [[80, 'SINK_RECORD_REJECTED']],
    );
    assert.ok(sink.counts.get('bulk_halvings')! > 0);
  });

  it('loses nothing when the server is killed while it writes', async () => {
    const topic = target.newName();
    await using sink = await startSink(sinkPlugin.createTask(), {
      ...target.connection,
      'batch.size': '100',
      'retry.backoff.ms': '50',
    });
    let offset = 0;
    const put = async (round: number): Promise<void> => {
      const records = Array.from({ length: 500 }, (_, i) => record(`k${i}`, `r${round}`, round));
      await sink.task.put([flatBatch(topic, records, offset)]);
      offset += records.length;
    };
    await put(0);
    await sink.task.preCommit!(new Map());
    const writing = (async () => {
      for (let round = 1; round <= 10; round++) await put(round);
      await sink.task.preCommit!(new Map());
    })();
    await waitUntil('writes under way', 20_000, () => (sink.counts.get('bulk_requests') ?? 0) >= 10);
    server.kill();
    await waitUntil('a try without server', 20_000, () => (sink.counts.get('retries') ?? 0) > 0);
    await server.restart();
    await writing;
    const documents = await target.documents(topic);
    assert.equal(documents.size, 500);
    assert.ok([...documents.values()].every(document => document.name === 'r10'));
  });
});
