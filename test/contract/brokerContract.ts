/**
 * What every broker adapter does, as tests: run by each adapter's own test file. Where Kafka has an answer it is Kafka's. Each test makes topics and groups of
 * its own with random names and removes them.
 */
import { after, before, describe } from 'node:test';
import type { Broker } from '../../runtime/broker/port.ts';
import { closeContract } from './closeContract.ts';
import { randomName } from './contractTools.ts';
import { groupContract } from './groupContract.ts';
import { recordContract } from './recordContract.ts';
import { topicContract } from './topicContract.ts';
import { transactionContract } from './transactionContract.ts';

export interface ContractContext {
  readonly broker: Broker;
  /** Creates a topic that is removed at the end; returns its name. */
  topic(partitions?: number, configs?: Readonly<Record<string, string>>, name?: string): Promise<string>;
  /** The name of a group that is removed at the end. */
  group(): string;
}

export function brokerContract(adapter: string, open: () => Promise<Broker>): void {
  describe(`broker contract: ${adapter}`, () => {
    let broker: Broker;
    const topics: string[] = [];
    const groups: string[] = [];
    const context: ContractContext = {
      get broker() {
        return broker;
      },
      async topic(partitions = 1, configs = {}, name = randomName('topic')) {
        await broker.admin().createTopics([{ name, partitions, replicationFactor: -1, configs }]);
        topics.push(name);
        return name;
      },
      group() {
        const name = randomName('group');
        groups.push(name);
        return name;
      },
    };
    before(async () => {
      broker = await open();
    });
    after(async () => {
      const admin = broker.admin();
      const left = new Set(await admin.listTopics());
      await admin.deleteTopics(topics.filter(topic => left.has(topic)));
      for (const group of groups) await admin.deleteGroup(group);
      await admin.close();
      await broker.close();
    });
    topicContract(context);
    recordContract(context);
    groupContract(context);
    transactionContract(context);
    closeContract(context, open);
  });
}
