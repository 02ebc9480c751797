/** The schema registry of the worker, for converters that name none of their own. Opened when the first converter needs it. */
import { RestRegistry } from '../../schemas/registry/restRegistry.ts';
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import { ConnectError, type Logger } from '../api/index.ts';
import { EmbeddedRegistry } from '../broker/embedded/embeddedRegistry.ts';
import type { RegistrySettings } from '../config/workerConfig.ts';
import { registrySettings } from '../converters/registrySettings.ts';

export function workerRegistry(settings: RegistrySettings, logger: Logger): SchemaRegistry {
  if (settings.kind === 'embedded') return EmbeddedRegistry.open(settings.dataDir, logger);
  const rest = registrySettings(settings.config);
  if (rest === null) {
    throw new ConnectError(
      'CONFIG_INVALID',
      'Missing required configuration "schema.registry.url" which has no default value: a converter needs a schema registry, and neither it nor the worker names one.',
    );
  }
  return new RestRegistry(rest);
}
