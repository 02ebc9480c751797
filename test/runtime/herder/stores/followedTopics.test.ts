import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ConnectError } from '../../../../runtime/api/index.ts';
import { connectBroker } from '../../../../runtime/broker/connectBroker.ts';
import type { Broker, Producer, ProducerOptions } from '../../../../runtime/broker/port.ts';
import { type ConfigChange, connectorRecord, targetRecord } from '../../../../runtime/herder/stores/configState.ts';
import { ConfigStore } from '../../../../runtime/herder/stores/configStore.ts';
import type { InternalTopicOptions } from '../../../../runtime/herder/stores/internalTopic.ts';
import {
  type State,
  taskStatusRecord,
  topicRecord,
  topicTombstone,
} from '../../../../runtime/herder/stores/statusState.ts';
import { StatusStore } from '../../../../runtime/herder/stores/statusStore.ts';
import { waitUntil } from '../../../services/waitUntil.ts';

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const waitMs = 10_000;

async function openBroker(t: TestContext): Promise<Broker> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-follow-'));
  const broker = await connectBroker({ kind: 'embedded', dataDir }, silent);
  t.after(async () => {
    await broker.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  return broker;
}

function options(broker: Broker, partitions: number): InternalTopicOptions {
  const spec = { name: 'internal', partitions, replicationFactor: 1 };
  return { broker, spec, create: true, clientId: 'test', logger: silent };
}

const status = (state: State, workerId: string, generation: number) =>
  taskStatusRecord('c', 0, { state, trace: null, workerId, version: null, generation });

/** The broker with producers that send in this way. */
function withSend(broker: Broker, send: Producer['send']): Broker {
  const wrap = <T extends object>(target: T, changed: object): T =>
    new Proxy(target, {
      get(_, key) {
        const value: unknown = Reflect.get(changed, key) ?? Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  return wrap(broker, { producer: (options: ProducerOptions) => wrap(broker.producer(options), { send }) });
}

test('internal topics are made compacted, and refused where they would lose records or their order', async t => {
  const broker = await openBroker(t);
  const admin = broker.admin();
  const open = async (change: object, create = true): Promise<void> => {
    const { spec, ...rest } = options(broker, 1);
    await (await ConfigStore.open({ ...rest, create, spec: { ...spec, ...change } })).close();
  };
  const refused = (message: RegExp) => ({ code: 'INTERNAL_TOPIC_INVALID', message });
  await assert.rejects(open({ name: 'missing' }, false), refused(/missing does not exist; create it with/));

  await open({ name: 'made', configs: { 'cleanup.policy': 'delete', 'segment.ms': '1234567' } });
  const configs = await admin.topicConfig('made');
  assert.equal(configs.get('cleanup.policy'), 'compact');
  assert.equal(configs.get('segment.ms'), '1234567');

  const compact = { 'cleanup.policy': 'compact' };
  await admin.createTopics([
    { name: 'short-lived', partitions: 1, replicationFactor: 1, configs: { 'cleanup.policy': 'delete' } },
    { name: 'split', partitions: 2, replicationFactor: 1, configs: compact },
  ]);
  await assert.rejects(open({ name: 'short-lived' }), refused(/short-lived has cleanup\.policy=delete; it must be/));
  await assert.rejects(open({ name: 'split' }), refused(/split has 2 partitions; it must have exactly 1/));
});

test('a worker that may not read the settings of a topic trusts them, and says so', async t => {
  const broker = await openBroker(t);
  await (await ConfigStore.open(options(broker, 1))).close();
  const admin = broker.admin();
  let refusal = new ConnectError('BROKER_NOT_AUTHORIZED', 'TOPIC_AUTHORIZATION_FAILED');
  admin.topicConfig = () => Promise.reject(refusal);
  broker.admin = () => admin;
  const warnings: string[] = [];
  const logger = { ...silent, warn: (_: object, message: string) => void warnings.push(message) };
  await (await ConfigStore.open({ ...options(broker, 1), logger })).close();
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /^the settings of topic internal may not be read \(DescribeConfigs\)/);
  refusal = new ConnectError('BROKER_REQUEST_FAILED', 'another reason');
  await assert.rejects(ConfigStore.open(options(broker, 1)), refusal);
});

test('workers that follow the config topic see what another writes, and their own writes once they resolve', async t => {
  const broker = await openBroker(t);
  const changes: ConfigChange[] = [];
  const writer = await ConfigStore.follow(options(broker, 1), () => {});
  t.after(() => writer.close());
  assert.equal(writer.offset, -1);
  await writer.write([connectorRecord('a', { name: 'a' })]);
  assert.equal(writer.offset, 1);
  assert.deepEqual(writer.state.names(), ['a']);

  const reader = await ConfigStore.follow(options(broker, 1), change => changes.push(change));
  t.after(() => reader.close());
  assert.deepEqual(reader.state.names(), ['a']);
  assert.equal(changes.length, 0, 'what was there at the start is no change');
  await writer.write([connectorRecord('b', { name: 'b' }), connectorRecord('a', null)]);
  await reader.readTo(writer.offset, waitMs);
  assert.equal(reader.offset, 3);
  assert.deepEqual(reader.state.names(), ['b']);
  assert.deepEqual(
    changes.map(change => change.kind),
    ['connector', 'removed'],
  );
});

test('where leaders write in transactions, one that was replaced writes no more, and all or nothing of a write is seen', async t => {
  const broker = await openBroker(t);
  const fenced: string[] = [];
  const worker = async (name: string): Promise<ConfigStore> => {
    const store = await ConfigStore.follow(options(broker, 1), () => {});
    store.needRightToWrite(options(broker, 1), 'g', () => fenced.push(name));
    t.after(() => store.close());
    return store;
  };
  const [one, two] = [await worker('one'), await worker('two')];
  await assert.rejects(one.writeAsLeader([connectorRecord('a', { name: 'a' })]), {
    code: 'INTERNAL_TOPIC_WRITE_FAILED',
  });
  await one.lead(true);
  await one.writeAsLeader([connectorRecord('a', { name: 'a' })]);
  assert.equal(one.offset, 1);
  await one.writeAsLeader([connectorRecord('b', { name: 'b' }), connectorRecord('c', { name: 'c' })]);
  assert.equal(one.offset, 4, 'each transaction has a marker behind it');
  await two.write([targetRecord('a', 'PAUSED')]);

  await two.lead(true);
  await two.writeAsLeader([connectorRecord('d', { name: 'd' })]);
  await assert.rejects(one.writeAsLeader([connectorRecord('z', { name: 'z' })]), (error: Error) => {
    assert.match(String((error.cause as Error).message), /newer producer|fenced/);
    return true;
  });
  assert.deepEqual(fenced, ['one']);
  // Until the group says that it leads.
  await assert.rejects(one.writeAsLeader([connectorRecord('z', { name: 'z' })]), {
    code: 'INTERNAL_TOPIC_WRITE_FAILED',
  });
  await two.writeAsLeader([connectorRecord('e', { name: 'e' })]);
  await one.readToEnd(waitMs);
  for (const store of [one, two]) {
    assert.deepEqual(store.state.names(), ['a', 'b', 'c', 'd', 'e']);
    assert.equal(store.state.connector('a')?.target, 'PAUSED');
  }
  await two.lead(false);
  await one.lead(true);
  await one.writeAsLeader([connectorRecord('f', { name: 'f' })]);
  assert.deepEqual(fenced, ['one']);
});

test('a worker that cannot read as far as it shall says so in time', async t => {
  const broker = await openBroker(t);
  const store = await ConfigStore.follow(options(broker, 1), () => {});
  await assert.rejects(store.readTo(5, waitMs), { code: 'INTERNAL_TOPIC_BEHIND', message: /the same topic/ });
  await store.close();
  await assert.rejects(store.readToEnd(waitMs), { code: 'INTERNAL_TOPIC_BEHIND' });
});

test('the status that this worker has just put is not taken back by an older one that is read behind it', async t => {
  const broker = await openBroker(t);
  const [one, two] = [
    await StatusStore.follow(options(broker, 3), 'one', () => {}),
    await StatusStore.follow(options(broker, 3), 'two', () => {}),
  ];
  t.after(() => Promise.all([one.close(), two.close()]));
  const seen = new Set<string>();
  one.put(status('UNASSIGNED', 'one', 1));
  await one.flush();
  one.put(status('RUNNING', 'one', 1));
  for (let i = 0; i < 50; i++) {
    seen.add(one.state.task('c', 0)!.state);
    await new Promise(resolve => setImmediate(resolve));
  }
  assert.deepEqual([...seen], ['RUNNING']);
  await waitUntil('the other sees it', waitMs, () => two.state.task('c', 0)?.state === 'RUNNING');
  two.put(status('RUNNING', 'two', 2));
  await waitUntil('a newer one of another is seen', waitMs, () => one.state.task('c', 0)?.workerId === 'two');
  one.put(status('UNASSIGNED', 'one', 1));
  await one.flush();
  await one.readToEnd(waitMs);
  assert.equal(one.state.task('c', 0)?.state, 'RUNNING', 'a late UNASSIGNED of the worker before counts for nothing');
  await two.readToEnd(waitMs);
  assert.equal(two.state.task('c', 0)?.state, 'RUNNING');
});

test('what others wrote while a status could not be written is taken up', async t => {
  const broker = await openBroker(t);
  let isRead = false;
  const failing = withSend(broker, async () => {
    await waitUntil('the record of the other is read', waitMs, () => isRead);
    throw new Error('the disk is full');
  });
  const one = await StatusStore.follow(options(failing, 1), 'one', () => {});
  const two = await StatusStore.follow(options(broker, 1), 'two', () => {});
  t.after(() => Promise.all([one.close(), two.close()]));
  one.put(status('RUNNING', 'one', 1));
  two.put(status('RUNNING', 'two', 2));
  await two.flush();
  await one.readToEnd(waitMs);
  isRead = true;
  await one.flush();
  assert.equal(one.state.task('c', 0)?.workerId, 'two');
});

test('a worker that was halted and says too late that it runs nothing is overruled, in its own eyes and for good', async t => {
  const broker = await openBroker(t);
  const halted = await StatusStore.follow(options(broker, 3), 'halted', () => {});
  const next = await StatusStore.follow(options(broker, 3), 'next', () => {});
  t.after(() => Promise.all([halted.close(), next.close()]));
  halted.put(status('RUNNING', 'halted', 1));
  await halted.flush();
  // Both at once: the one that was halted has not read of the other when it writes.
  next.put(status('RUNNING', 'next', 2));
  halted.put(status('UNASSIGNED', 'halted', 1));
  const agree = (store: StatusStore): boolean => store.state.task('c', 0)?.workerId === 'next';
  await waitUntil('both know better', waitMs, () => agree(halted) && agree(next));
  await Promise.all([halted.flush(), next.flush()]);
  await halted.readToEnd(waitMs);
  await next.flush();
  const last = await StatusStore.open(options(broker, 3));
  t.after(() => last.close());
  assert.equal(last.state.task('c', 0)?.state, 'RUNNING');
  halted.put(status('RESTARTING', 'halted', 1));
  await halted.flush();
  await halted.readToEnd(waitMs);
  assert.equal(halted.state.task('c', 0)?.workerId, 'next', 'a failure of what runs elsewhere by now is no news');
  halted.put(status('FAILED', 'halted', 3));
  await waitUntil(
    'a failure of a newer generation counts',
    waitMs,
    () => next.state.task('c', 0)?.workerId === 'halted',
  );
});

test('topics that another worker forgets are told', async t => {
  const broker = await openBroker(t);
  const told: string[] = [];
  const one = await StatusStore.follow(options(broker, 3), 'one', () => {});
  const two = await StatusStore.follow(options(broker, 3), 'two', ({ key, value }) => value === null && told.push(key));
  t.after(() => Promise.all([one.close(), two.close()]));
  one.put(topicRecord('t', 'c', 0));
  await one.flush();
  one.put(topicTombstone('t', 'c'));
  await waitUntil('it is told', waitMs, () => told.length > 0);
  assert.deepEqual(told, ['status-topic-t:connector-c']);
  assert.deepEqual(two.state.topics('c'), []);
});
