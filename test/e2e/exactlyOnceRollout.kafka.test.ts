/** A cluster goes over to exactly-once sources worker by worker, while they work: preparing, then enabled. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowCheck, rowFields } from '../chaos/rowCheck.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { ClusterProcesses, connectKafka, plainJson, topicValues } from './clusterProcesses.ts';

const names = ['rows-0', 'rows-1', 'rows-2', 'rows-3'];
const settleMs = 60_000;
/** A task that waits for the worker it was on, instead of moving, is silent for far longer. */
const delayMs = 60_000;
const longestSilenceMs = 15_000;
const lookMs = 100;

const settings = [
  ...plainJson,
  'offset.flush.interval.ms=500',
  'task.threads=1',
  `scheduled.rebalance.max.delay.ms=${delayMs}`,
  'exactly.once.source.support=preparing',
];

/** How long each topic went without a new record, until the wait is over. */
class Silences {
  readonly #longest = new Map<string, number>();
  readonly #done = new AbortController();
  readonly #watching: Promise<void>;

  constructor(topics: readonly string[]) {
    this.#watching = this.#watch(topics);
  }

  async stop(): Promise<ReadonlyMap<string, number>> {
    this.#done.abort();
    await this.#watching;
    return this.#longest;
  }

  async #watch(topics: readonly string[]): Promise<void> {
    const broker = await connectKafka();
    const partitions = topics.map(topic => ({ topic, partition: 0 }));
    const last = new Map(topics.map(topic => [topic, { end: -1, atMs: Date.now() }]));
    while (!this.#done.signal.aborted) {
      for (const { topic, latest } of await broker.admin().offsets(partitions)) {
        const before = last.get(topic)!;
        this.#longest.set(topic, Math.max(this.#longest.get(topic) ?? 0, Date.now() - before.atMs));
        if (latest > before.end) last.set(topic, { end: latest, atMs: Date.now() });
      }
      await new Promise(resolve => setTimeout(resolve, lookMs));
    }
    await broker.close();
  }
}

test('sources go on while their cluster goes over to exactly-once delivery', async t => {
  const cluster = ClusterProcesses.create(t, settings);
  const topic = (name: string): string => `${cluster.groupId}-${name}`;
  const workers = [await cluster.addWorker(), await cluster.addWorker()];
  const [first, second] = workers as [(typeof workers)[0], (typeof workers)[0]];
  for (const name of names) {
    await first.createConnector(name, {
      'connector.class': 'millrace.DatagenSource',
      topic: topic(name),
      fields: rowFields,
      keys: '10',
      'rows.per.second': '50',
    });
  }
  const settled = (): Promise<void> => cluster.settled(first, 2 * names.length, workers, settleMs);
  await settled();
  await waitUntil('all topics have records', settleMs, async () => {
    const counts = await Promise.all(names.map(name => topicValues(topic(name)).then(values => values.length)));
    return counts.every(count => count > 0);
  });
  await assert.rejects(
    first.createConnector('strict', {
      'connector.class': 'millrace.DatagenSource',
      topic: topic('strict'),
      fields: rowFields,
      'exactly.once.support': 'required',
    }),
    /does not have exactly-once source support enabled/,
  );

  const silences = new Silences(names.map(topic));
  for (const worker of [second, first]) {
    await worker.stop();
    await worker.restart(['--set', 'exactly.once.source.support=enabled']);
    await settled();
  }
  const inTransactions = (name: string): Promise<number> =>
    Promise.all(
      workers.map(worker => worker.metric('kafka_connect_source_task_transaction_size_max', `connector="${name}"`)),
    ).then(sizes => Math.max(...sizes));
  await waitUntil('all tasks write in transactions', settleMs, async () => {
    const sizes = await Promise.all(names.map(inTransactions));
    return sizes.every(size => size > 0);
  });
  const longest = await silences.stop();
  t.diagnostic(`longest time without a new record: ${[...longest.values()].map(ms => `${ms} ms`).join(', ')}`);
  assert.equal(longest.size, names.length);
  for (const [name, ms] of longest) assert.ok(ms < longestSilenceMs, `${name} was silent for ${ms} ms`);

  for (const name of names) {
    await first.stopConnector(name);
    const { offsets } = await first.request<{ offsets: { partition: { task: number }; offset: { row: number } }[] }>(
      'GET',
      `/connectors/${name}/offsets`,
    );
    const check = new RowCheck(name, 1);
    for (const value of await topicValues(topic(name))) check.add(value);
    assert.deepEqual(check.finish(new Map(offsets.map(o => [o.partition.task, o.offset.row]))), []);
  }
});
