import type { Converter, HeaderConverter } from '../../schemas/converter.ts';
import type { SchemaRegistry } from '../../schemas/registry/schemaRegistry.ts';
import type { ConfigDef } from './configDef.ts';
import type { Config } from './connector.ts';

export interface ConverterPlugin {
  readonly kind: 'converter';
  readonly className: string;
  readonly aliases: readonly string[];
  readonly version: string;
  readonly configDef: ConfigDef;
  /** `config` without the `key.converter.` or `value.converter.` prefix. `registry` gives the embedded registry or the one of `schema.registry.url`. */
  create(config: Config, isKey: boolean, registry: () => SchemaRegistry): Converter;
}
export interface HeaderConverterPlugin {
  readonly kind: 'header_converter';
  readonly className: string;
  readonly aliases: readonly string[];
  readonly version: string;
  readonly configDef: ConfigDef;
  create(config: Config): HeaderConverter;
}
