/** The sink for Elasticsearch and OpenSearch as a plug-in, under the names of the known ones. */
import type { Plugin, SinkPlugin } from '../../runtime/api/index.ts';
import { DocumentSinkTask } from '../shared/documentSinkTask.ts';
import { UniformSinkConnector } from '../shared/uniformSinkConnector.ts';
import { validateTarget } from '../shared/validateTarget.ts';
import { checkTarget } from './checkTarget.ts';
import { checkSinkConfig, sinkConfigDef } from './config.ts';
import { elasticSink } from './target.ts';
import { CONNECTOR_VERSION } from './version.ts';

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
  validate: validateTarget(sinkConfigDef, checkSinkConfig, checkTarget),
  createConnector: () => new UniformSinkConnector(),
  createTask: () => new DocumentSinkTask(elasticSink),
};

export const plugins: readonly Plugin[] = [sinkPlugin];
