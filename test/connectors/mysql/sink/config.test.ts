import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkSinkConfig } from '../../../../connectors/mysql/sink/config.ts';
import { connectionOptions } from '../../../../connectors/mysql/sink/connection.ts';
import { sinkPlugin } from '../../../../connectors/mysql/sink/index.ts';

const options = (url: string, user: string | null = null, password: string | null = null) => {
  const { host, port, database, user: name, password: secret, ssl } = connectionOptions({ url, user, password });
  return { host, port, database, user: name, password: secret, ...(ssl === undefined ? {} : { ssl }) };
};
const complaints = (config: Record<string, string>): readonly string[] =>
  checkSinkConfig({ 'connection.url': 'mysql://h/d', ...config }).map(e => e.key);

describe('MySQL sink configuration', () => {
  it('takes JDBC URLs and URIs of MySQL and MariaDB', () => {
    const plain = { host: 'h', port: 3306, database: 'd', user: 'u', password: 'p' };
    assert.deepEqual(options('jdbc:mysql://h/d?user=u&password=p'), plain);
    assert.deepEqual(options('jdbc:mariadb://h/d', 'u', 'p'), plain);
    assert.deepEqual(options('mysql://x:y@h:3307/d', 'u', 'p'), { ...plain, port: 3307 });
    assert.equal(options('mariadb://u:p%40ss@h/d').password, 'p@ss');
    assert.deepEqual(options('jdbc:mysql://h/d?sslMode=REQUIRED').ssl, { rejectUnauthorized: false });
    assert.deepEqual(options('jdbc:mysql://h/d?useSSL=true').ssl, { rejectUnauthorized: false });
    assert.deepEqual(options('jdbc:mariadb://h/d?sslMode=verify-full').ssl, {
      rejectUnauthorized: true,
      verifyIdentity: true,
    });
    assert.equal(options('jdbc:mysql://h/d?sslMode=PREFERRED').ssl, undefined);
    assert.equal(connectionOptions({ url: 'mysql://h', user: null, password: null }).database, undefined);
  });

  it('refuses other databases, and never shows the password', () => {
    for (const url of [
      'jdbc:postgresql://u:secret@h/d',
      'http://secret',
      'mysql://u:secret@h1,h2/d',
      'mysql://u:secret@h/d?sslMode=x',
      'mysql://u:secret@h/d?connectTimeout=x',
    ])
      assert.throws(
        () => options(url),
        (error: Error) => /connection\.url/.test(error.message) && !/secret/.test(error.message),
      );
  });

  it('checks keys against each other', () => {
    assert.deepEqual(complaints({}), []);
    assert.deepEqual(complaints({ 'insert.mode': 'upsert' }), ['pk.mode']);
    assert.deepEqual(complaints({ 'insert.mod': 'upsert' }), ['insert.mod']);
    assert.deepEqual(complaints({ 'connection.url': 'jdbc:oracle:x' }), ['connection.url']);
    assert.deepEqual(complaints({ 'connection.url': 'mysql://h/d?sslMode=VERIFY_CA&sslCa=/no/such' }), [
      'connection.url',
    ]);
  });

  it('looks for the target only where nothing else is wrong', async () => {
    const nobody = { 'connection.url': 'mysql://127.0.0.1:1/d' };
    assert.deepEqual(
      (await sinkPlugin.validate!({ ...nobody, 'insert.mode': 'upsert' })).map(e => e.key),
      ['pk.mode'],
    );
    const [error, ...rest] = await sinkPlugin.validate!(nobody);
    assert.equal(error?.key, 'connection.url');
    assert.match(error.message, /^\[SINK_UNAVAILABLE\] MySQL at 127\.0\.0\.1:1: .*ECONNREFUSED.*check connection\.url/);
    assert.deepEqual(rest, []);
  });
});
