/** A connector's configs in a topic of their own, the rounds of fencing over them, and producers as its tasks have them; on any broker. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { connectBroker } from '../../../../runtime/broker/connectBroker.ts';
import type { Broker, BrokerSettings, Producer } from '../../../../runtime/broker/port.ts';
import { ZombieFencing, type ZombieFencingOptions } from '../../../../runtime/herder/distributed/zombieFencing.ts';
import { connectorRecord, taskRecords } from '../../../../runtime/herder/stores/configState.ts';
import { ConfigStore } from '../../../../runtime/herder/stores/configStore.ts';

export const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

export class FencingBench {
  readonly broker: Broker;
  readonly configs: ConfigStore;
  readonly fencing: ZombieFencing;
  leads = true;
  readonly #groupId: string;

  private constructor(broker: Broker, configs: ConfigStore, groupId: string) {
    this.broker = broker;
    this.configs = configs;
    this.#groupId = groupId;
    this.fencing = this.fencingBy(broker);
  }

  static async embedded(t: TestContext): Promise<FencingBench> {
    const dataDir = await mkdtemp(join(tmpdir(), 'millrace-fencing-'));
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    return FencingBench.on(t, { kind: 'embedded', dataDir });
  }

  static async on(t: TestContext, settings: BrokerSettings): Promise<FencingBench> {
    const broker = await connectBroker(settings, silent);
    const groupId = `fencing-${randomUUID()}`;
    const spec = { name: `${groupId}-configs`, partitions: 1, replicationFactor: 1 };
    const configs = await ConfigStore.follow(
      { broker, spec, create: true, clientId: 'test', logger: silent },
      () => {},
    );
    const bench = new FencingBench(broker, configs, groupId);
    // Before the folder of the broker is removed.
    t.after(async () => {
      await configs.close();
      const admin = broker.admin();
      await admin.deleteTopics((await admin.listTopics()).filter(topic => topic.startsWith(groupId)));
      await broker.close();
    });
    await configs.write([connectorRecord('c', { name: 'c' })]);
    return bench;
  }

  fencingBy(broker: ZombieFencingOptions['broker']): ZombieFencing {
    const requireLeader = (): void => {
      if (!this.leads) throw new Error('another worker leads');
    };
    const { configs } = this;
    return new ZombieFencing({
      broker,
      groupId: this.#groupId,
      configs,
      requireLeader,
      syncTimeoutMs: 5_000,
      logger: silent,
    });
  }

  commit(tasks: number): Promise<void> {
    return this.configs.write(taskRecords('c', Array(tasks).fill({})));
  }

  /** The producer of a task, which may write. */
  async task(index: number): Promise<Producer> {
    const producer = this.broker.producer({ clientId: 'task', transactionalId: `${this.#groupId}-c-${index}` });
    await producer.initTransactions();
    return producer;
  }

  async mayWrite(producer: Producer): Promise<boolean> {
    const topic = `${this.#groupId}-t`;
    await this.broker.admin().createTopics([{ name: topic, partitions: 1, replicationFactor: 1 }]);
    try {
      producer.beginTransaction();
      await producer.sendOffsets(this.#groupId, [{ topic, partition: 0, offset: 1 }]);
      await producer.commitTransaction();
      return true;
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'BROKER_PRODUCER_FENCED');
      return false;
    }
  }
}
