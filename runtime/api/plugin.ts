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

/** What a plugin module exports: `export const plugins: readonly Plugin[]`. Task threads import the same modules. */
export interface PluginModule {
  readonly plugins: readonly Plugin[];
}
