/** `millrace plugins`: what is installed, and the configuration keys of one plugin. */
import { type ConfigKey, ConnectError } from '../../api/index.ts';
import { loadWorkerConfig } from '../../config/loadWorkerConfig.ts';
import { pluginList } from '../../herder/pluginList.ts';
import { PluginRegistry } from '../../worker/pluginRegistry.ts';
import { readWorkerFile } from '../configFile.ts';
import { option, parseFlags } from '../flags.ts';
import { pluginModules } from '../pluginModules.ts';

const help = `usage: millrace plugins [class] [--config worker.properties]

Lists the installed plugins; with a class (full name, simple name or alias) its configuration keys.

options:
${option('--config <file>', 'Worker file, for its plugin.path.')}
${option('--set <key=value>', 'Sets any worker key, such as plugin.path; may be repeated.')}`;

export async function plugins(args: readonly string[]): Promise<number> {
  const { values, positionals, config: fromFlags } = parseFlags(args, [], { config: { type: 'string' } });
  if (values.help === true) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  const file = typeof values.config === 'string' ? await readWorkerFile(values.config) : {};
  const { config } = loadWorkerConfig({ file, environment: process.env, flags: fromFlags });
  const registry = await PluginRegistry.open(
    await pluginModules(config['plugin.path'], message => process.stderr.write(`millrace: ${message}\n`)),
  );
  const [className] = positionals;
  process.stdout.write(className === undefined ? listText(registry) : await keysText(registry, className));
  return 0;
}

function listText(registry: PluginRegistry): string {
  const all = pluginList(registry).sort((a, b) => (`${a.type} ${a.class}` < `${b.type} ${b.class}` ? -1 : 1));
  return all.map(({ type, class: name, version }) => `${type.padEnd(17)} ${name}  ${version}\n`).join('');
}

async function keysText(registry: PluginRegistry, className: string): Promise<string> {
  const plugin =
    (await registry.loadIfFound(className, 'source', 'sink')) ??
    (await registry.loadIfFound(
      className,
      'converter',
      'header_converter',
      'transformation',
      'predicate',
      'config_provider',
    ));
  if (plugin === undefined) {
    throw new ConnectError(
      'PLUGIN_NOT_FOUND',
      `no plugin answers to ${className}; millrace plugins lists what there is`,
    );
  }
  const keys = Object.entries<ConfigKey>(plugin.configDef.keys)
    .filter(([, key]) => !key.internal)
    .map(([name, key]) => {
      const preset =
        key.default === undefined
          ? ' (required)'
          : key.default === null || key.default === ''
            ? ''
            : ` [${key.default}]`;
      const values = key.oneOf ? ` One of ${key.oneOf.join(', ')}.` : '';
      const aliases = key.aliases && key.aliases.length > 0 ? ` Also: ${key.aliases.join(', ')}.` : '';
      return option(name, `${key.documentation}${values}${aliases}${preset}`);
    });
  return [`${plugin.className} (${plugin.kind}, ${plugin.version})`, ...keys, ''].join('\n');
}
