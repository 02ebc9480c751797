/** Kafka's built-in config providers, under Java's class names. */
import type { ConfigProviderPlugin, Plugin } from '../../api/index.ts';
import { EnvVarConfigProvider, envVarProviderDef } from './envVarProvider.ts';
import { DirectoryConfigProvider, FileConfigProvider, fileProviderDef } from './fileProviders.ts';

const provider = (
  name: string,
  configDef: ConfigProviderPlugin['configDef'],
  create: ConfigProviderPlugin['create'],
): ConfigProviderPlugin => ({
  kind: 'config_provider',
  className: `org.apache.kafka.common.config.provider.${name}`,
  aliases: [],
  version: '1.0.0',
  configDef,
  create,
});

export const plugins: readonly Plugin[] = [
  provider('FileConfigProvider', fileProviderDef, () => new FileConfigProvider()),
  provider('DirectoryConfigProvider', fileProviderDef, () => new DirectoryConfigProvider()),
  provider('EnvVarConfigProvider', envVarProviderDef, () => new EnvVarConfigProvider()),
];
