/** Keys of the parts of a connector config that have plugins of their own: transforms, predicates, converters. They appear under their full names. */
import type { ConfigKey } from '../../api/configDef.ts';
import type { Config } from '../../api/connector.ts';
import { withPrefix } from '../../config/workerConfig.ts';
import type { PluginKind, PluginRegistry } from '../../worker/pluginRegistry.ts';
import { type ConfigInfo, configInfos } from './configInfos.ts';

const converterRoles = [
  ['key.converter', 'converter'],
  ['value.converter', 'converter'],
  ['header.converter', 'header_converter'],
] as const;

export async function nestedInfos(config: Config, plugins: PluginRegistry): Promise<ConfigInfo[]> {
  const infos = [
    ...(await chainInfos('transforms', 'transformation', 'Transformation type', config, plugins)),
    ...(await chainInfos('predicates', 'predicate', 'Predicate type', config, plugins)),
  ];
  for (const [role, kind] of converterRoles) infos.push(...(await converterInfos(role, kind, config, plugins)));
  return infos;
}

async function chainInfos(
  list: 'transforms' | 'predicates',
  kind: 'transformation' | 'predicate',
  displayName: string,
  config: Config,
  plugins: PluginRegistry,
): Promise<ConfigInfo[]> {
  const names = (config[list] ?? '').split(',').map(name => name.trim());
  const infos = names
    .filter(name => name !== '')
    .map(async name => {
      const prefix = `${list}.${name}.`;
      const group = `${list === 'transforms' ? 'Transforms' : 'Predicates'}: ${name}`;
      const typeKey: ConfigKey = {
        ...classKey(`${displayName} for ${name}`, kind, plugins),
        group,
        documentation: `Class of ${name}.`,
      };
      const plugin = await plugins.loadIfFound(config[`${prefix}type`] ?? '', kind);
      const own = Object.entries(plugin?.configDef.keys ?? {}).map(([key, definition], i): [string, ConfigKey] => [
        prefix + key,
        { ...definition, displayName: definition.displayName ?? key, group, orderInGroup: i + 2 },
      ]);
      const keys = Object.fromEntries([
        [`${prefix}type`, typeKey],
        ...own,
        ...(list === 'transforms' ? predicateKeys(prefix, group, own.length + 2) : []),
      ]);
      return configInfos(keys, config);
    });
  return (await Promise.all(infos)).flat();
}

function predicateKeys(prefix: string, group: string, orderInGroup: number): [string, ConfigKey][] {
  return [
    [
      `${prefix}predicate`,
      {
        type: 'STRING',
        default: '',
        importance: 'MEDIUM',
        documentation: 'Predicate that decides to which records the transform applies.',
        group,
        orderInGroup,
        displayName: 'Predicate',
      },
    ],
    [
      `${prefix}negate`,
      {
        type: 'BOOLEAN',
        default: false,
        importance: 'MEDIUM',
        documentation: 'Whether the transform applies where the predicate does not.',
        group,
        orderInGroup: orderInGroup + 1,
        displayName: 'Negate',
      },
    ],
  ];
}

async function converterInfos(
  role: string,
  kind: 'converter' | 'header_converter',
  config: Config,
  plugins: PluginRegistry,
): Promise<ConfigInfo[]> {
  const plugin = await plugins.loadIfFound(config[role] ?? '', kind);
  if (plugin === undefined) return [];
  const prefix = `${role}.`;
  const own = withPrefix(config, prefix);
  return configInfos(plugin.configDef.keys, own).map(({ definition, value }) => ({
    definition: definition && { ...definition, name: prefix + definition.name },
    value: {
      ...value,
      name: prefix + value.name,
      errors: value.errors.map(text => withFullName(text, value.name, prefix)),
    },
  }));
}

function withFullName(text: string, name: string, prefix: string): string {
  return text
    .replace(`configuration ${name}:`, `configuration ${prefix}${name}:`)
    .replace(`"${name}"`, `"${prefix}${name}"`);
}

/** A required key that names a plugin of a kind. */
export function classKey(displayName: string, kind: PluginKind, plugins: PluginRegistry): ConfigKey {
  return {
    type: 'CLASS',
    importance: 'HIGH',
    documentation: '',
    orderInGroup: 0,
    width: 'LONG',
    displayName,
    recommendedValues: classNames(kind, plugins),
    check: classCheck(kind, plugins),
  };
}

export function classCheck(kind: PluginKind, plugins: PluginRegistry): (name: string) => string | null {
  return name => (plugins.find(name, kind) === undefined ? `Class ${name} could not be found.` : null);
}

export function classNames(kind: PluginKind, plugins: PluginRegistry): string[] {
  return plugins
    .all()
    .filter(plugin => plugin.kind === kind)
    .map(plugin => plugin.className);
}
