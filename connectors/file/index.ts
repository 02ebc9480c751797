/** FileStreamSource and FileStreamSink, under the class names of Kafka's own. */
import type { Plugin } from '../../runtime/api/index.ts';
import { UniformSinkConnector } from '../shared/uniformSinkConnector.ts';
import { fileSinkConfig, fileSourceConfig } from './config.ts';
import { FileStreamSinkTask } from './fileSink.ts';
import { FileStreamSourceConnector, FileStreamSourceTask } from './fileSource.ts';

const version = '0.1.0';

export const plugins: readonly Plugin[] = [
  {
    kind: 'source',
    className: 'org.apache.kafka.connect.file.FileStreamSourceConnector',
    aliases: [],
    version,
    configDef: fileSourceConfig,
    createConnector: () => new FileStreamSourceConnector(),
    createTask: () => new FileStreamSourceTask(),
  },
  {
    kind: 'sink',
    className: 'org.apache.kafka.connect.file.FileStreamSinkConnector',
    aliases: [],
    version,
    configDef: fileSinkConfig,
    createConnector: () => new UniformSinkConnector(),
    createTask: () => new FileStreamSinkTask(),
  },
];
