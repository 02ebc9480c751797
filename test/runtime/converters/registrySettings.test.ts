import assert from 'node:assert/strict';
import { test } from 'node:test';
import { avroConverterPlugin } from '../../../runtime/converters/avro.ts';
import { registrySettings } from '../../../runtime/converters/registrySettings.ts';

test("registry settings under Confluent's and Apicurio's keys", () => {
  assert.equal(registrySettings({}), null);
  const confluent = registrySettings({
    'schema.registry.url': 'http://a:8081, https://b',
    'schema.registry.basic.auth.user.info': 'u:p',
    'normalize.schemas': 'true',
    retries: '7',
  })!;
  assert.deepEqual(
    [confluent.urls, confluent.userInfo, confluent.normalizeSchemas, confluent.maxRetries],
    [['http://a:8081', 'https://b'], 'u:p', true, 7],
  );
  assert.deepEqual(registrySettings({ 'apicurio.registry.url': 'http://r:8080/apis/registry/v2' })!.urls, [
    'http://r:8080/apis/ccompat/v7',
  ]);
});

test('invalid settings are CONFIG_INVALID, without secrets in the message', () => {
  assert.throws(
    () => registrySettings({ 'schema.registry.url': 'ftp://u:pw@a' }),
    (error: Error & { code: string }) => {
      assert.equal(error.code, 'CONFIG_INVALID');
      assert.doesNotMatch(error.message, /pw/);
      return true;
    },
  );
  const create = (config: Record<string, string>) => () =>
    avroConverterPlugin.create(config, false, () => assert.fail('not asked'));
  assert.throws(create({ 'schema.registry.url': 'http://a', 'auto.register.schemas': 'maybe' }), {
    code: 'CONFIG_INVALID',
    message: /auto\.register\.schemas/,
  });
  assert.throws(create({ 'schema.registry.url': 'http://a', 'value.subject.name.strategy': 'NoSuch' }), {
    code: 'CONFIG_INVALID',
    message: /value\.subject\.name\.strategy/,
  });
});
