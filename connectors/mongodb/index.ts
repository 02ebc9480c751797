/** MongoDB: the sink. */
import type { Plugin, SinkPlugin } from '../../runtime/api/index.ts';
import { DocumentSinkTask } from '../shared/documentSinkTask.ts';
import { UniformSinkConnector } from '../shared/uniformSinkConnector.ts';
import { validateTarget } from '../shared/validateTarget.ts';
import { checkTarget } from './checkTarget.ts';
import { checkSinkConfig } from './config.ts';
import { sinkConfigDef } from './configKeys.ts';
import { mongoSink } from './target.ts';
import { isOverride } from './topicOverrides.ts';

export const sinkPlugin: SinkPlugin = {
  kind: 'sink',
  className: 'com.mongodb.kafka.connect.MongoSinkConnector',
  aliases: ['millrace.MongoDbSink', 'millrace.MongoDbSinkConnector'],
  version: '0.1.0',
  configDef: sinkConfigDef,
  readsKey: isOverride,
  validate: validateTarget(sinkConfigDef, checkSinkConfig, (_, config) => checkTarget(config)),
  createConnector: () => new UniformSinkConnector(),
  createTask: () => new DocumentSinkTask(mongoSink),
};

export const plugins: readonly Plugin[] = [sinkPlugin];
