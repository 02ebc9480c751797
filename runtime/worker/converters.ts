/** The converters of one connector: its own where it names one, else the worker's, each with the keys under its prefix. */
import type { Converter, HeaderConverter } from '../../schemas/converter.ts';
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import type { Config } from '../api/index.ts';
import { type WorkerConfig, withPrefix } from '../config/workerConfig.ts';
import type { PluginRegistry } from './pluginRegistry.ts';

export interface NamedConverter {
  readonly className: string;
  readonly converter: Converter;
}

export interface Converters {
  readonly key: NamedConverter;
  readonly value: NamedConverter;
  readonly header: { readonly className: string; readonly converter: HeaderConverter };
}

type ConverterKey = 'key.converter' | 'value.converter' | 'header.converter';

export interface ConverterSources {
  readonly worker: WorkerConfig;
  /** The worker's registry. */
  readonly registry: () => SchemaRegistry;
  readonly plugins: PluginRegistry;
}

export async function createConverters(connector: Config, sources: ConverterSources): Promise<Converters> {
  const header = chosen('header.converter', connector, sources.worker);
  const headerPlugin = await sources.plugins.load(header.name, 'header_converter');
  return {
    key: await create('key.converter', true, connector, sources),
    value: await create('value.converter', false, connector, sources),
    header: { className: headerPlugin.className, converter: headerPlugin.create(header.settings) },
  };
}

export async function closeConverters(converters: Converters): Promise<void> {
  await converters.key.converter.close?.();
  await converters.value.converter.close?.();
}

async function create(
  key: ConverterKey,
  isKey: boolean,
  connector: Config,
  sources: ConverterSources,
): Promise<NamedConverter> {
  const { name, settings } = chosen(key, connector, sources.worker);
  const plugin = await sources.plugins.load(name, 'converter');
  return {
    className: plugin.className,
    converter: plugin.create(settings, isKey, sources.registry),
  };
}

/** A converter that the connector names takes none of the worker's sub-keys. */
function chosen(key: ConverterKey, connector: Config, worker: WorkerConfig): { name: string; settings: Config } {
  const own = connector[key];
  const config = own === undefined ? worker.raw : connector;
  return { name: own ?? worker[key], settings: withPrefix(config, `${key}.`) };
}
