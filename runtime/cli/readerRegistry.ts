/** The schema registry for commands that only read. */
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import type { Logger } from '../api/index.ts';
import type { RegistrySettings } from '../config/workerConfig.ts';

/** null = none is configured. */
export async function readerRegistry(settings: RegistrySettings, logger: Logger): Promise<SchemaRegistry | null> {
  if (settings.kind === 'rest' && settings.config['schema.registry.url'] === undefined) return null;
  const { workerRegistry } = await import('../worker/workerRegistry.ts');
  return settings.kind === 'rest' ? workerRegistry(settings, logger) : null;
}
