/** The sink for Elasticsearch and OpenSearch as a plug-in, under the names of the known ones. */
import type { Config, ConfigError, Plugin, SinkConnector, SinkPlugin } from '../../runtime/api/index.ts';
import { DocumentSinkTask } from '../shared/documentSinkTask.ts';
import { checkTarget } from './checkTarget.ts';
import { checkSinkConfig, sinkConfigDef } from './config.ts';
import { elasticSink } from './target.ts';
import { CONNECTOR_VERSION } from './version.ts';

class ElasticsearchSinkConnector implements SinkConnector {
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
  const { values, errors } = sinkConfigDef.parse(config);
  const keys = new Set(errors.map(e => e.key));
  const found = checkSinkConfig(config).filter(e => !keys.has(e.key));
  if (found.length > 0 || errors.length > 0) return found;
  return checkTarget(values);
}

export const sinkPlugin: SinkPlugin = {
  kind: 'sink',
  className: 'io.confluent.connect.elasticsearch.ElasticsearchSinkConnector',
  aliases: [
    'io.aiven.connect.elasticsearch.ElasticsearchSinkConnector',
    'io.aiven.kafka.connect.opensearch.OpensearchSinkConnector',
    'io.aiven.kafka.connect.opensearch.OpenSearchSinkConnector',
    'millrace.ElasticsearchSink',
    'millrace.OpenSearchSink',
  ],
  version: CONNECTOR_VERSION,
  configDef: sinkConfigDef,
  validate,
  createConnector: () => new ElasticsearchSinkConnector(),
  createTask: () => new DocumentSinkTask(elasticSink),
};

export const plugins: readonly Plugin[] = [sinkPlugin];
