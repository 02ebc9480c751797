/** The PostgreSQL sink as a plug-in: under its own class name, and those of the JDBC sinks whose configuration it takes. */
import type { Config, SinkConnector, SinkPlugin } from '../../../runtime/api/index.ts';
import { checkSinkConfig, sinkConfigDef } from './config.ts';
import { PostgresSinkTask } from './sinkTask.ts';

class PostgresSinkConnector implements SinkConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(maxTasks: number): Config[] {
    return Array.from({ length: maxTasks }, () => this.#config);
  }

  stop(): void {}
}

export const sinkPlugin: SinkPlugin = {
  kind: 'sink',
  className: 'millrace.PostgresSink',
  aliases: [
    'io.confluent.connect.jdbc.JdbcSinkConnector',
    'io.aiven.connect.jdbc.JdbcSinkConnector',
    'io.debezium.connector.jdbc.JdbcSinkConnector',
  ],
  version: '0.1.0',
  configDef: sinkConfigDef,
  validate: config => {
    const { errors } = sinkConfigDef.parse(config);
    const keys = new Set(errors.map(e => e.key));
    return checkSinkConfig(config).filter(e => !keys.has(e.key));
  },
  createConnector: () => new PostgresSinkConnector(),
  createTask: () => new PostgresSinkTask(),
};
