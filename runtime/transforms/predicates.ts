/** HasHeaderKey, RecordIsTombstone, TopicNameMatches. */

import type { ConfigDef } from '../api/index.ts';
import { type Config, type ConnectRecord, configDef, type Predicate, type PredicatePlugin } from '../api/index.ts';
import { fullMatch } from './javaPattern.ts';
import { settings } from './settings.ts';

const headerDef = configDef({
  name: { type: 'STRING', importance: 'MEDIUM', documentation: 'Header that the record must have.' },
});
class HasHeaderKey implements Predicate {
  #name = '';
  configure(config: Config): void {
    this.#name = settings(headerDef, config).name;
  }
  test(record: ConnectRecord): boolean {
    return record.headers.some(header => header.name === this.#name);
  }
}

class RecordIsTombstone implements Predicate {
  configure(): void {}
  test(record: ConnectRecord): boolean {
    return record.value === null || record.value === undefined;
  }
}

const topicDef = configDef({
  pattern: { type: 'STRING', importance: 'MEDIUM', documentation: 'Pattern that the whole topic name must match.' },
});
class TopicNameMatches implements Predicate {
  #pattern = /^$/;
  configure(config: Config): void {
    this.#pattern = fullMatch('TopicNameMatches', 'pattern', settings(topicDef, config).pattern);
  }
  test(record: ConnectRecord): boolean {
    return this.testTopic(record.topic);
  }
  testTopic(topic: string): boolean {
    return this.#pattern.test(topic);
  }
}

const predicate = (name: string, def: ConfigDef, create: () => Predicate): PredicatePlugin => ({
  kind: 'predicate',
  className: `org.apache.kafka.connect.transforms.predicates.${name}`,
  aliases: [],
  version: '1.0.0',
  configDef: def,
  create,
});

export const predicatePlugins = [
  predicate('HasHeaderKey', headerDef, () => new HasHeaderKey()),
  predicate('RecordIsTombstone', configDef({}), () => new RecordIsTombstone()),
  predicate('TopicNameMatches', topicDef, () => new TopicNameMatches()),
];
