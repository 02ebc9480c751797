/** Our consumers share a group with Java's. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KafkaBroker } from '../../../../runtime/broker/kafka/index.ts';
import { hasCode, randomName, until } from '../../../contract/contractTools.ts';
import { quietLogger } from '../embedded/embeddedTools.ts';

const bootstrap = process.env.KAFKA_BOOTSTRAP ?? '127.0.0.1:9092';
const root = fileURLToPath(new URL('../../../..', import.meta.url));
const topic = randomName('foreign');
const groups: string[] = [];
let broker: KafkaBroker;
before(async () => {
  broker = await KafkaBroker.connect({ 'bootstrap.servers': bootstrap }, quietLogger);
  await broker.admin().createTopics([{ name: topic, partitions: 4, replicationFactor: 1 }]);
});
after(async () => {
  await broker.admin().deleteTopics([topic]);
  // A Java member that was told to end may still be leaving.
  for (const group of groups)
    await until('empty group', () =>
      broker
        .admin()
        .deleteGroup(group)
        .then(
          () => true,
          () => false,
        ),
    );
  await broker.close();
});

function javaMember(groupId: string, ...more: readonly string[]) {
  const args = ['test/services/kafka.sh', 'run', 'org.apache.kafka.tools.consumer.ConsoleConsumer'];
  const child = spawn(
    'bash',
    [...args, '--bootstrap-server', bootstrap, '--topic', topic, '--group', groupId, ...more],
    {
      cwd: root,
      stdio: 'ignore',
      detached: true,
    },
  );
  return {
    async end(): Promise<void> {
      const exited = once(child, 'exit');
      process.kill(-child.pid!, 'SIGTERM');
      await exited;
    },
  };
}

function ourMember(groupId: string, settings: Readonly<Record<string, string>> = {}) {
  groups.push(groupId);
  return broker.consumer({
    clientId: 'ours',
    groupId,
    settings: { 'heartbeat.interval.ms': '500', ...settings },
  });
}

for (const strategy of ['CooperativeStickyAssignor', 'RangeAssignor'])
  test(`partitions are shared with a Java consumer of default settings, by ${strategy}`, async () => {
    const groupId = randomName('foreign');
    const ours = ourMember(groupId, {
      'partition.assignment.strategy': `org.apache.kafka.clients.consumer.${strategy}`,
    });
    await ours.subscribe([topic]);
    const has = (count: number) => async () => {
      await ours.poll(100);
      return ours.assignment().length === count;
    };
    await until('all partitions', has(4));
    const java = javaMember(groupId);
    await until('half of the partitions', has(2));
    await java.end();
    await until('all partitions again', has(4));
    await ours.close();
  });

test('a group of another protocol is refused, with what to change', async () => {
  const groupId = randomName('foreign');
  const java = javaMember(
    groupId,
    '--consumer-property',
    'partition.assignment.strategy=org.apache.kafka.clients.consumer.RoundRobinAssignor',
  );
  const probe = broker.admin();
  await until('a member', async () => {
    await new Promise(resolve => setTimeout(resolve, 100));
    return (
      (
        await probe.alterGroupOffsets(groupId, [{ topic, partition: 0, offset: 0 }]).then(
          () => null,
          e => e,
        )
      )?.code === 'BROKER_GROUP_NOT_EMPTY'
    );
  });
  const ours = ourMember(groupId);
  await ours.subscribe([topic]);
  await assert.rejects(
    async () => {
      for (let i = 0; i < 100; i++) await ours.poll(100);
    },
    error => hasCode('BROKER_GROUP_INCONSISTENT')(error) && /partition\.assignment\.strategy/.test(String(error)),
  );
  await ours.close();
  await java.end();
});
