/** RegexRouter and TimestampRouter: other topics for records. */
import { type Config, type ConnectRecord, configDef, type Transformation } from '../api/index.ts';
import { dateFormat } from './dateFormat.ts';
import { transformFailure } from './failure.ts';
import { expandReplacement, fullMatch } from './javaPattern.ts';
import { settings } from './settings.ts';
import { plugin } from './side.ts';

const regexDef = configDef({
  regex: { type: 'STRING', importance: 'HIGH', documentation: 'Pattern that the whole topic name must match.' },
  replacement: { type: 'STRING', importance: 'HIGH', documentation: 'New topic name; $1 stands for the first group.' },
});

class RegexRouter implements Transformation {
  #regex = /^$/;
  #replacement = '';
  configure(config: Config): void {
    const values = settings(regexDef, config);
    this.#regex = fullMatch('RegexRouter', 'regex', values.regex);
    this.#replacement = values.replacement;
  }
  apply<R extends ConnectRecord>(record: R): R {
    const topic = this.route(record.topic);
    return topic === record.topic ? record : { ...record, topic };
  }
  route(topic: string): string {
    const match = this.#regex.exec(topic);
    return match === null ? topic : expandReplacement(this.#replacement, match);
  }
}

const timestampDef = configDef({
  'topic.format': {
    type: 'STRING',
    default: '${topic}-${timestamp}',
    importance: 'HIGH',
    documentation:
      'New topic name; ${topic} and ${timestamp} stand for the present name and the formatted record timestamp.',
  },
  'timestamp.format': {
    type: 'STRING',
    default: 'yyyyMMdd',
    importance: 'HIGH',
    documentation: 'Pattern of java.text.SimpleDateFormat; the time is UTC.',
  },
});

class TimestampRouter implements Transformation {
  #topicFormat = '';
  #format = dateFormat('yyyyMMdd');
  configure(config: Config): void {
    const values = settings(timestampDef, config);
    this.#topicFormat = values['topic.format'];
    this.#format = dateFormat(values['timestamp.format']);
  }
  apply<R extends ConnectRecord>(record: R): R {
    if (record.timestamp === null) throw transformFailure('TimestampRouter', 'the record has no timestamp', record);
    const timestamp = this.#format.format(record.timestamp);
    const topic = this.#topicFormat.replace(/\$\{(topic|timestamp)\}/g, (_, name) =>
      name === 'topic' ? record.topic : timestamp,
    );
    return { ...record, topic };
  }
}

export const routerPlugins = [
  plugin('RegexRouter', regexDef, () => new RegexRouter()),
  plugin('TimestampRouter', timestampDef, () => new TimestampRouter()),
];
