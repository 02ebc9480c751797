import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jaasOption, parseAddresses, parseClientSettings } from '../../../../runtime/broker/kafka/clientSettings.ts';

const minimal = { 'bootstrap.servers': 'a:9092' };
const code = { code: 'BROKER_CONFIG_INVALID' };

test('addresses: lists, schemes as pasted from broker settings, IPv6', () => {
  assert.deepEqual(parseAddresses(' a.example:9092, PLAINTEXT://b:1,[::1]:2 '), [
    { host: 'a.example', port: 9092 },
    { host: 'b', port: 1 },
    { host: '::1', port: 2 },
  ]);
  assert.throws(() => parseAddresses('a'), code);
  assert.throws(() => parseAddresses(''), code);
});

test('user name and password come out of a JAAS entry, quoted either way or not', () => {
  const entry =
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="al\\"ice" password=\'p;w d\' x=y;';
  assert.equal(jaasOption(entry, 'username'), 'al"ice');
  assert.equal(jaasOption(entry, 'password'), 'p;w d');
  assert.equal(jaasOption(entry, 'x'), 'y');
  assert.equal(jaasOption(entry, 'z'), null);
});

test('SASL needs a known mechanism and both parts of the login; the error hides them', () => {
  const sasl = { ...minimal, 'security.protocol': 'SASL_PLAINTEXT', 'sasl.mechanism': 'PLAIN' };
  assert.throws(() => parseClientSettings(sasl), code);
  assert.throws(() => parseClientSettings({ ...sasl, 'sasl.mechanism': 'GSSAPI' }), code);
  assert.throws(
    () => parseClientSettings({ ...sasl, 'sasl.jaas.config': 'x required password="secret";' }),
    (error: Error) => !error.message.includes('secret'),
  );
});

test('an empty ssl.endpoint.identification.algorithm switches the name check off, and only then', () => {
  const ssl = { ...minimal, 'security.protocol': 'SSL' };
  assert.equal(parseClientSettings(ssl).ssl?.checkServerIdentity, undefined);
  const off = parseClientSettings({ ...ssl, 'ssl.endpoint.identification.algorithm': '' });
  assert.equal(typeof off.ssl?.checkServerIdentity, 'function');
});

test('a Java key store is refused with what to do, whatever it is said to be', () => {
  const location = new URL('../../../fixtures/tls/server.jks', import.meta.url).pathname;
  for (const store of ['ssl.truststore', 'ssl.keystore']) {
    const settings = {
      ...minimal,
      'security.protocol': 'SSL',
      [`${store}.type`]: 'PEM',
      [`${store}.location`]: location,
    };
    assert.throws(() => parseClientSettings(settings), {
      code: 'BROKER_CONFIG_INVALID',
      message: /not JKS; .* by keytool/,
    });
  }
});

test('a PKCS12 key store of keytool is taken', () => {
  const settings = {
    ...minimal,
    'security.protocol': 'SSL',
    'ssl.keystore.location': new URL('../../../fixtures/tls/server.p12', import.meta.url).pathname,
    'ssl.keystore.password': 'changeit',
  };
  const { ssl } = parseClientSettings(settings);
  assert.ok(ssl?.pfx instanceof Buffer);
  assert.equal(ssl.passphrase, 'changeit');
});
