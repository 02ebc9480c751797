/** What a thread offers to the tasks it runs. */
import type { Config, Logger } from '../api/index.ts';
import type { Broker } from '../broker/port.ts';
import type { WorkerConfig } from '../config/workerConfig.ts';
import type { ConverterSources } from './converters.ts';
import type { ConnectorOffsets } from './offsets/connectorOffsets.ts';
import type { PluginRegistry } from './pluginRegistry.ts';
import type { TaskGuard, TaskListener } from './types.ts';

export interface TaskDeps {
  readonly config: WorkerConfig;
  readonly broker: Broker;
  readonly plugins: PluginRegistry;
  readonly converterSources: ConverterSources;
  readonly offsets: (connector: string, config: Config) => Promise<ConnectorOffsets>;
  readonly listener: TaskListener;
  readonly guard: TaskGuard;
  readonly logger: Logger;
}
