import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KafkaBroker } from '../../../../runtime/broker/kafka/index.ts';
import { hasCode, produce, randomName, readPartition, values } from '../../../contract/contractTools.ts';
import { quietLogger } from '../embedded/embeddedTools.ts';
import { OwnKafka } from './ownKafka.ts';

const kafka = new OwnKafka(20_110, { KAFKA_SECURE: '1' });
before(() => kafka.start());
after(() => kafka.clean());

const at = (offset: number): string => `127.0.0.1:${kafka.port + offset}`;
const jaas = (password = 'alice-secret', module = 'scram.ScramLoginModule'): string =>
  `org.apache.kafka.common.security.${module} required username="alice" password="${password}";`;

async function roundTrip(settings: Readonly<Record<string, string>>): Promise<void> {
  const broker = await KafkaBroker.connect(settings, quietLogger);
  try {
    const topic = randomName('secure');
    await broker.admin().createTopics([{ name: topic, partitions: 1, replicationFactor: 1 }]);
    await produce(broker, topic, 0, values('v', 5));
    assert.equal((await readPartition(broker, topic, 0, 5)).length, 5);
  } finally {
    await broker.close();
  }
}

test('TLS with the CA in a file, and inline', async () => {
  const settings = { 'bootstrap.servers': at(2), 'security.protocol': 'SSL' };
  await roundTrip({ ...settings, 'ssl.truststore.type': 'PEM', 'ssl.truststore.location': kafka.pemFile('ca.pem') });
  await roundTrip({
    ...settings,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.certificates': await kafka.pem('ca.pem'),
  });
});

test('an unknown CA is refused, with what to change', async () => {
  const connecting = KafkaBroker.connect({ 'bootstrap.servers': at(2), 'security.protocol': 'SSL' }, quietLogger);
  await assert.rejects(
    connecting,
    error => hasCode('BROKER_AUTHENTICATION_FAILED')(error) && /ssl\.truststore/.test(String(error)),
  );
});

test('a client certificate is shown where the broker asks for one', async () => {
  const settings = {
    'bootstrap.servers': at(5),
    'security.protocol': 'SSL',
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': kafka.pemFile('ca.pem'),
  };
  await roundTrip({ ...settings, 'ssl.keystore.type': 'PEM', 'ssl.keystore.location': kafka.pemFile('client.pem') });
  await roundTrip({
    ...settings,
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.certificate.chain': await kafka.pem('client.crt'),
    'ssl.keystore.key': await kafka.pem('client.key'),
  });
  await assert.rejects(KafkaBroker.connect(settings, quietLogger));
});

for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])
  test(`${mechanism}, with and without TLS; a wrong password is refused`, async () => {
    const module = mechanism === 'PLAIN' ? 'plain.PlainLoginModule' : 'scram.ScramLoginModule';
    const settings = {
      'bootstrap.servers': at(3),
      'security.protocol': 'SASL_PLAINTEXT',
      'sasl.mechanism': mechanism,
      'sasl.jaas.config': jaas('alice-secret', module),
    };
    await roundTrip(settings);
    await roundTrip({
      ...settings,
      'bootstrap.servers': at(4),
      'security.protocol': 'SASL_SSL',
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': kafka.pemFile('ca.pem'),
    });
    const wrong = KafkaBroker.connect({ ...settings, 'sasl.jaas.config': jaas('wrong', module) }, quietLogger);
    await assert.rejects(wrong, error => {
      assert.ok(hasCode('BROKER_AUTHENTICATION_FAILED')(error), String(error));
      assert.match(String(error), /alice.*sasl\.jaas\.config/);
      assert.doesNotMatch(String(error), /wrong/);
      return true;
    });
  });

test('nobody at the address: says which, and that it may pass', async () => {
  const connecting = KafkaBroker.connect({ 'bootstrap.servers': '127.0.0.1:20199,127.0.0.1:20198' }, quietLogger);
  await assert.rejects(connecting, error => {
    assert.ok(hasCode('BROKER_UNREACHABLE')(error), String(error));
    assert.match(String(error), /127\.0\.0\.1:20199, 127\.0\.0\.1:20198/);
    assert.equal((error as { retriable?: boolean }).retriable, true);
    return true;
  });
});
