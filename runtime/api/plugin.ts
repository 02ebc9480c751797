import type { SinkPlugin, SourcePlugin } from './connector.ts';
import type { ConverterPlugin, HeaderConverterPlugin } from './converterPlugin.ts';
import type { ConfigProviderPlugin, PredicatePlugin, TransformationPlugin } from './transform.ts';

export type Plugin =
  | SourcePlugin
  | SinkPlugin
  | ConverterPlugin
  | HeaderConverterPlugin
  | TransformationPlugin
  | PredicatePlugin
  | ConfigProviderPlugin;

/** The version of all that is in this folder, as packages name it: "millrace": {"apiVersion": 1} in package.json. A change that breaks plugins raises it. */
export const PLUGIN_API_VERSION = 1;

/** What a plugin module exports: `export const plugins: readonly Plugin[]`. Task threads import the same modules. */
export interface PluginModule {
  readonly plugins: readonly Plugin[];
}
