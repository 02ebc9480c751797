/** MongoDB: the sink. */
import type { Config, ConfigError, Plugin, SinkConnector, SinkPlugin } from '../../runtime/api/index.ts';
import { DocumentSinkTask } from '../shared/documentSinkTask.ts';
import { checkTarget } from './checkTarget.ts';
import { checkSinkConfig } from './config.ts';
import { sinkConfigDef } from './configKeys.ts';
import { mongoSink } from './target.ts';
import { isOverride } from './topicOverrides.ts';

class MongoSinkConnector implements SinkConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(maxTasks: number): Config[] {
    return Array.from({ length: maxTasks }, () => this.#config);
  }

  stop(): void {}
}

/** Connects only where nothing else is wrong. Errors of single values are the worker's to tell. */
async function validate(config: Config): Promise<readonly ConfigError[]> {
  const { errors } = sinkConfigDef.parse(config);
  const keys = new Set(errors.map(e => e.key));
  const found = checkSinkConfig(config).filter(e => !keys.has(e.key));
  return found.length > 0 || errors.length > 0 ? found : checkTarget(config);
}

export const sinkPlugin: SinkPlugin = {
  kind: 'sink',
  className: 'com.mongodb.kafka.connect.MongoSinkConnector',
  aliases: ['millrace.MongoDbSink', 'millrace.MongoDbSinkConnector'],
  version: '0.1.0',
  configDef: sinkConfigDef,
  readsKey: isOverride,
  validate,
  createConnector: () => new MongoSinkConnector(),
  createTask: () => new DocumentSinkTask(mongoSink),
};

export const plugins: readonly Plugin[] = [sinkPlugin];
