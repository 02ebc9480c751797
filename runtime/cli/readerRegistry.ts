/** The schema registry for commands that only read. */
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import type { Logger } from '../api/index.ts';
import { EmbeddedRegistry } from '../broker/embedded/embeddedRegistry.ts';
import type { RegistrySettings } from '../config/workerConfig.ts';
import { workerRegistry } from '../worker/workerRegistry.ts';

/** null = none is configured. */
export function readerRegistry(settings: RegistrySettings, logger: Logger): SchemaRegistry | null {
  if (settings.kind === 'embedded') return EmbeddedRegistry.reader(settings.dataDir);
  return settings.config['schema.registry.url'] === undefined ? null : workerRegistry(settings, logger);
}
