/** The keys of a connector config that nobody reads, so that a misspelt one does not go unseen. */
import type { ConfigKeys } from '../../api/configDef.ts';
import type { Config } from '../../api/index.ts';
import { isKnownClientKey } from '../../broker/kafka/warnUnknown.ts';
import { sinkConnectorDef, sourceConnectorDef } from '../../config/connectorKeys.ts';
import type { ConnectorPlugin, PluginKind, PluginRegistry } from '../../worker/pluginRegistry.ts';

/** Passed on to topics, of which the broker refuses what it does not know. */
const passedOn = /^topic\.creation\./;
const override = /^(producer|consumer|admin)\.override\.(.+)$/;
/** Java's worker writes it into task configs, which people copy. */
const always = ['name', 'task.class'];

const nestedKinds: readonly (readonly [list: 'transforms' | 'predicates', kind: PluginKind])[] = [
  ['transforms', 'transformation'],
  ['predicates', 'predicate'],
];
const roles: readonly (readonly [role: string, kind: PluginKind])[] = [
  ['key.converter', 'converter'],
  ['value.converter', 'converter'],
  ['header.converter', 'header_converter'],
];

export async function unknownKeys(
  plugin: ConnectorPlugin,
  config: Config,
  plugins: PluginRegistry,
): Promise<readonly string[]> {
  const known = new Set(always);
  const add = (prefix: string, keys: ConfigKeys): void => {
    for (const [name, key] of Object.entries(keys)) {
      for (const spelling of [name, ...(key.aliases ?? [])]) known.add(prefix + spelling);
    }
  };
  add('', (plugin.kind === 'source' ? sourceConnectorDef : sinkConnectorDef).keys);
  add('', plugin.configDef.keys);
  for (const [list, kind] of nestedKinds) {
    for (const name of (config[list] ?? '').split(',')) {
      const prefix = `${list}.${name.trim()}.`;
      for (const key of ['type', 'predicate', 'negate', 'plugin.version']) known.add(prefix + key);
      add(prefix, (await plugins.loadIfFound(config[`${prefix}type`] ?? '', kind))?.configDef.keys ?? {});
    }
  }
  // Keys of a converter that the connector does not name itself have no effect: it is the worker's, with the worker's keys.
  for (const [role, kind] of roles) {
    add(`${role}.`, (await plugins.loadIfFound(config[role] ?? '', kind))?.configDef.keys ?? {});
  }
  return Object.keys(config).filter(key => {
    const [, client, clientKey] = override.exec(key) ?? [];
    if (client !== undefined) return !isKnownClientKey(client as 'producer' | 'consumer' | 'admin', clientKey!);
    return !known.has(key) && !passedOn.test(key) && plugin.readsKey?.(key) !== true;
  });
}
