/** The JSON converter plugins, for records and for headers. */
import { ConnectError } from '../../schemas/errors.ts';
import { JsonConverter } from '../../schemas/json/jsonConverter.ts';
import { ConverterHeaders } from '../../schemas/text/converterHeaders.ts';
import {
  type Config,
  type ConfigKeys,
  type ConverterPlugin,
  configDef,
  type HeaderConverterPlugin,
} from '../api/index.ts';
import { VERSION } from './version.ts';

const keys = {
  'schemas.enable': {
    type: 'BOOLEAN',
    default: true,
    importance: 'HIGH',
    documentation: 'Whether each record carries its schema: {"schema":…,"payload":…}.',
    group: 'Schemas',
    orderInGroup: 0,
    width: 'MEDIUM',
    displayName: 'Enable Schemas',
  },
  'schemas.cache.size': {
    type: 'INT',
    default: 1000,
    min: 0,
    importance: 'HIGH',
    documentation: 'How many schemas found in records are kept.',
    group: 'Schemas',
    orderInGroup: 1,
    width: 'MEDIUM',
    displayName: 'Schema Cache Size',
  },
  'decimal.format': {
    type: 'STRING',
    default: 'BASE64',
    oneOf: ['BASE64', 'NUMERIC'],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'How decimals are written: base64 of the unscaled bytes, or as numbers. Both are read.',
    group: 'Serialization',
    orderInGroup: 0,
    width: 'MEDIUM',
    displayName: 'Decimal Format',
  },
  'replace.null.with.default': {
    type: 'BOOLEAN',
    default: true,
    importance: 'LOW',
    documentation:
      'Whether a null in a field with a default is written, and read, as the default. Set it to false where a null must stay a null.',
    group: 'Serialization',
    orderInGroup: 1,
    width: 'MEDIUM',
    displayName: 'Replace null with default',
  },
} as const satisfies ConfigKeys;

const definition = configDef(keys);
const className = 'org.apache.kafka.connect.json.JsonConverter';

function create(config: Config): JsonConverter {
  const { values, errors } = definition.parse(config);
  if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
  return new JsonConverter({
    schemasEnable: values['schemas.enable'],
    schemasCacheSize: values['schemas.cache.size'],
    decimalFormat: values['decimal.format'] === 'NUMERIC' ? 'NUMERIC' : 'BASE64',
    replaceNullWithDefault: values['replace.null.with.default'],
  });
}

const common = { className, aliases: [], version: VERSION, configDef: definition } as const;

export const jsonConverterPlugin: ConverterPlugin = { ...common, kind: 'converter', create };
export const jsonHeaderConverterPlugin: HeaderConverterPlugin = {
  ...common,
  kind: 'header_converter',
  create: config => new ConverterHeaders(create(config)),
};
