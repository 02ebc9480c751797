/** The plugins as GET /connector-plugins lists them. */
import { ConnectError } from '../../schemas/errors.ts';
import type { PluginRegistry } from '../worker/pluginRegistry.ts';
import type { PluginInfo } from './herder.ts';

export function pluginList(plugins: PluginRegistry): PluginInfo[] {
  return plugins
    .all()
    .filter(plugin => plugin.kind !== 'config_provider')
    .map(plugin => ({ class: plugin.className, type: plugin.kind, version: plugin.version }));
}

/** `latest`, an exact version, or a Maven-style range such as [1.0,2.0). One version of each plugin is installed. */
export function requireVersion(plugins: PluginRegistry, name: string, wanted: string): void {
  const plugin =
    plugins.find(name, 'source', 'sink') ??
    plugins.find(name, 'converter', 'header_converter', 'transformation', 'predicate');
  if (plugin === undefined || wanted === '' || wanted === 'latest' || inRange(plugin.version, wanted)) return;
  const shown = /^[[(]/.test(wanted) ? wanted : `[${wanted},${wanted}]`;
  throw new ConnectError(
    'REQUEST_INVALID',
    `Plugin ${plugin.className} not found that matches the version range ${shown}, available versions: [${plugin.version}]`,
  );
}

function inRange(version: string, range: string): boolean {
  const bounds = /^([[(])([^,\])]*)(?:,([^\])]*))?([\])])$/.exec(range);
  if (bounds === null) return version === range;
  const [, open, low, high = bounds[3] ?? (range.includes(',') ? '' : bounds[2]!), close] = bounds;
  const aboveLow = low === '' || compare(version, low!) >= (open === '[' ? 0 : 1);
  const belowHigh = high === '' || compare(version, high) <= (close === ']' ? 0 : -1);
  return aboveLow && belowHigh;
}

/** -1, 0 or 1; numbers as numbers. */
function compare(a: string, b: string): number {
  const [left, right] = [a.split(/[.-]/), b.split(/[.-]/)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [x = '0', y = '0'] = [left[i], right[i]];
    const order = /^\d+$/.test(x) && /^\d+$/.test(y) ? Number(x) - Number(y) : x < y ? -1 : x > y ? 1 : 0;
    if (order !== 0) return Math.sign(order);
  }
  return 0;
}
