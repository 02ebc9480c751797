/** The worker's configuration with the placeholders of its config providers resolved, so that secrets need not stand in the worker's own file either. */
import { ConfigResolver } from '../config/configResolver.ts';
import { type LoadedWorkerConfig, loadWorkerConfig, type WorkerConfigSources } from '../config/loadWorkerConfig.ts';
import { PluginRegistry } from '../worker/pluginRegistry.ts';
import { pluginModules } from './pluginModules.ts';

export async function resolvedWorkerConfig(sources: WorkerConfigSources): Promise<LoadedWorkerConfig> {
  const loaded = loadWorkerConfig(sources);
  const { config, ignored } = loaded;
  if (config['config.providers'].length === 0) return loaded;
  const plugins = await PluginRegistry.open(await pluginModules(config['plugin.path']));
  const resolver = await ConfigResolver.create(config, name => plugins.loadIfFound(name, 'config_provider'));
  try {
    return { config: loadWorkerConfig({ flags: await resolver.resolve(config.raw) }).config, ignored };
  } finally {
    await resolver.close();
  }
}
