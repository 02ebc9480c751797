/** The converters of one connector: its own where it names one, else the worker's, each with the keys under its prefix. */
import type { Converter, HeaderConverter } from '../../schemas/converter.ts';
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import type { Config, Logger } from '../api/index.ts';
import { type WorkerConfig, withPrefix } from '../config/workerConfig.ts';
import type { PluginRegistry } from './pluginRegistry.ts';
import { tellSlow } from './tellSlow.ts';

export interface NamedConverter {
  readonly className: string;
  readonly converter: Converter;
  /** Passes on what a converter promises; tells in the log where its registry does not answer. */
  readonly waitFor: <T>(promised: Promise<T> | T) => Promise<T> | T;
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

/** More often than a client of the registry gives up. */
const TELL_EVERY_MS = 5000;

export async function createConverters(
  connector: Config,
  sources: ConverterSources,
  logger: Logger,
): Promise<Converters> {
  const header = chosen('header.converter', connector, sources.worker);
  const headerPlugin = await sources.plugins.load(header.name, 'header_converter');
  return {
    key: await create('key.converter', true, connector, sources, logger),
    value: await create('value.converter', false, connector, sources, logger),
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
  logger: Logger,
): Promise<NamedConverter> {
  const { name, settings } = chosen(key, connector, sources.worker);
  const plugin = await sources.plugins.load(name, 'converter');
  return {
    className: plugin.className,
    converter: plugin.create(settings, isKey, sources.registry),
    waitFor: promised =>
      promised instanceof Promise
        ? tellSlow(promised, `${key}, which asks its schema registry`, logger, TELL_EVERY_MS)
        : promised,
  };
}

/** A converter that the connector names takes none of the worker's sub-keys. */
function chosen(key: ConverterKey, connector: Config, worker: WorkerConfig): { name: string; settings: Config } {
  const own = connector[key];
  const config = own === undefined ? worker.raw : connector;
  return { name: own ?? worker[key], settings: withPrefix(config, `${key}.`) };
}
