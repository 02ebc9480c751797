import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { checkSinkConfig } from '../../../../connectors/postgres/sink/config.ts';
import { connectionOptions } from '../../../../connectors/postgres/sink/connection.ts';
import { sinkPlugin } from '../../../../connectors/postgres/sink/index.ts';

const options = (url: string, user: string | null = null, password: string | null = null) => {
  const {
    host,
    port,
    database,
    user: name,
    password: secret,
    ssl,
    options: more,
  } = connectionOptions({ url, user, password });
  return { host, port, database, user: name, password: secret, ssl, ...(more === undefined ? {} : { options: more }) };
};
const complaints = (config: Record<string, string>): readonly string[] =>
  checkSinkConfig({ 'connection.url': 'postgres://h/d', ...config }).map(e => e.key);

describe('PostgreSQL sink configuration', () => {
  it('takes JDBC URLs and URIs', () => {
    const plain = { host: 'h', port: 5432, database: 'd', user: 'u', password: 'p', ssl: false };
    assert.deepEqual(options('jdbc:postgresql://h/d?user=u&password=p'), plain);
    assert.deepEqual(options('postgres://u:p@h/d'), plain);
    assert.deepEqual(options('postgresql://x:y@h:5433/d', 'u', 'p'), { ...plain, port: 5433 });
    assert.equal(options('jdbc:postgresql:d', 'u').host, 'localhost');
    assert.equal(options('postgres://u:p%40ss@h/d').password, 'p@ss');
    assert.deepEqual(options('jdbc:postgresql://h/d?sslmode=require').ssl, { rejectUnauthorized: false });
    assert.equal(options('jdbc:postgresql://h/d?currentSchema=a').options, '-c search_path=a');
  });

  it('refuses other databases, and never shows the password', () => {
    for (const url of [
      'jdbc:mysql://u:secret@h/d',
      'http://secret',
      'postgres://u:secret@h1,h2/d',
      'postgres://u:secret@h/d?sslmode=x',
    ])
      assert.throws(
        () => options(url),
        (error: Error) => /connection\.url/.test(error.message) && !/secret/.test(error.message),
      );
  });

  it('checks keys against each other', () => {
    assert.deepEqual(complaints({}), []);
    assert.deepEqual(complaints({ 'insert.mode': 'upsert' }), ['pk.mode']);
    assert.deepEqual(complaints({ 'delete.enabled': 'true' }), ['delete.enabled']);
    assert.deepEqual(complaints({ 'pk.mode': 'kafka', 'pk.fields': 'a,b' }), ['pk.fields']);
    assert.deepEqual(complaints({ 'table.name.format': '${topic}_${nope}' }), ['table.name.format']);
    assert.deepEqual(complaints({ 'connection.url': 'jdbc:oracle:x' }), ['connection.url']);
    assert.deepEqual(complaints({ 'connection.url': 'postgres://h/d?sslmode=verify-ca&sslrootcert=/no/such' }), [
      'connection.url',
    ]);
  });

  it('refuses misspelt keys, its own and those of the worker, and shows no value', () => {
    for (const [key, meant] of [
      ['insert.mod', 'insert.mode'],
      ['connection.usrname', 'connection.username'],
      ['errors.deadletterqeue.topic.name', 'errors.deadletterqueue.topic.name'],
      ['connection.pasword', 'connection.password'],
    ] as const) {
      const errors = checkSinkConfig({ 'connection.url': 'postgres://h/d', [key]: 'secret' });
      assert.deepEqual(
        errors.map(e => [e.key, e.message]),
        [[key, `Unknown configuration ${key}: ${meant} is probably meant`]],
      );
    }
    const others = {
      name: 'x',
      'tasks.max': '2',
      topics: 'a',
      'key.converter': 'c',
      'errors.tolerance': 'all',
      'errors.deadletterqueue.topic.name': 'dlq',
      'mssql.use.merge.holdlock': 'true',
      'transforms.a.type': 'x',
      'consumer.override.max.poll.records': '5',
    };
    assert.deepEqual(complaints(others), []);
  });

  it('looks for the target only where nothing else is wrong', async () => {
    const nobody = { 'connection.url': 'postgres://127.0.0.1:1/d' };
    assert.deepEqual(
      (await sinkPlugin.validate!({ ...nobody, 'insert.mode': 'upsert' })).map(e => e.key),
      ['pk.mode'],
    );
    assert.deepEqual(await sinkPlugin.validate!({ ...nobody, 'batch.size': 'x' }), []);
    const [error, ...others] = await sinkPlugin.validate!(nobody);
    assert.equal(error?.key, 'connection.url');
    assert.match(
      error.message,
      /^\[SINK_UNAVAILABLE\] PostgreSQL at 127\.0\.0\.1:1: .*ECONNREFUSED.*check connection\.url/,
    );
    assert.deepEqual(others, []);
  });

  it('does not wait long for a server that says nothing', async () => {
    const mute = createServer(socket => socket.on('error', () => {}));
    await once(mute.listen(0, '127.0.0.1'), 'listening');
    const { port } = mute.address() as AddressInfo;
    const [error] = await sinkPlugin.validate!({ 'connection.url': `postgres://127.0.0.1:${port}/d?connectTimeout=1` });
    mute.close();
    assert.match(error!.message, /^\[SINK_UNAVAILABLE\] .*timeout expired/);
  });

  it('answers to the names of the JDBC sinks and takes their spellings', () => {
    assert.deepEqual(
      complaints({
        'insert.mode': 'UPSERT',
        'primary.key.mode': 'record_key',
        'connection.username': 'u',
        'collection.name.format': '${source.table}',
        'delete.enabled': 'true',
      }),
      [],
    );
    assert.ok(sinkPlugin.aliases.includes('io.debezium.connector.jdbc.JdbcSinkConnector'));
  });
});
