/** The plugin modules of a worker: the built-in ones, and what is found on `plugin.path`, which is imported to learn what is in it. */
import { ConnectError } from '../api/index.ts';
import { type DeclaredModule, declareModule, kindGroup } from '../worker/pluginRegistry.ts';
import { builtinPlugins } from './builtinPlugins.ts';
import { findModules } from './pluginPath.ts';

/** Rejects with PLUGIN_MODULE_INVALID, PLUGIN_API_UNSUPPORTED or PLUGIN_DUPLICATE. */
export async function pluginModules(
  pluginPath: readonly string[],
  onEmpty?: (message: string) => void,
): Promise<DeclaredModule[]> {
  const modules = [...builtinPlugins];
  const places = new Map<string, string>();
  const note = ({ plugins }: DeclaredModule, place: string): void => {
    for (const { kind, className } of plugins) {
      const key = `${kindGroup(kind)} ${className}`;
      const other = places.get(key);
      if (other !== undefined) {
        const message = `${className} comes from ${other} and from ${place}; take one of them off plugin.path`;
        throw new ConnectError('PLUGIN_DUPLICATE', message);
      }
      places.set(key, place);
    }
  };
  for (const module of builtinPlugins) note(module, 'Millrace itself');
  for (const { url, place } of findModules(pluginPath, onEmpty)) {
    const module = await declareModule(url);
    note(module, place);
    modules.push(module);
  }
  return modules;
}
