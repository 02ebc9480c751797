/** Plugins of the converters without schemas in their bytes: strings, bytes, single numbers; and SimpleHeaderConverter. */
import type { Converter } from '../../schemas/converter.ts';
import { ConnectError } from '../../schemas/errors.ts';
import { ByteArrayConverter } from '../../schemas/text/byteArrayConverter.ts';
import { ConverterHeaders } from '../../schemas/text/converterHeaders.ts';
import { NumberConverter } from '../../schemas/text/numberConverters.ts';
import { SimpleHeaderConverter } from '../../schemas/text/simpleHeaderConverter.ts';
import { StringConverter, textEncoding } from '../../schemas/text/stringConverter.ts';
import { type Config, type ConfigDef, configDef, type Plugin } from '../api/index.ts';
import { VERSION } from './version.ts';

const noKeys = configDef({});

/** The converter and the header converter of one class. */
function both(className: string, definition: ConfigDef, create: (config: Config) => Converter): readonly Plugin[] {
  const common = { className, aliases: [], version: VERSION, configDef: definition } as const;
  return [
    { ...common, kind: 'converter', create },
    { ...common, kind: 'header_converter', create: config => new ConverterHeaders(create(config)) },
  ];
}

const stringKeys = configDef({
  'converter.encoding': {
    type: 'STRING',
    default: 'UTF-8',
    importance: 'HIGH',
    documentation: 'Character encoding of the text.',
    check: (value: string) =>
      textEncoding(value) ? null : 'String must be one of: UTF-8, ISO-8859-1, US-ASCII, UTF-16LE',
  },
});

function createString(config: Config): Converter {
  const { values, errors } = stringKeys.parse(config);
  if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
  return new StringConverter(textEncoding(values['converter.encoding'])!);
}

const packageName = 'org.apache.kafka.connect.converters';

export const textPlugins: readonly Plugin[] = [
  ...both('org.apache.kafka.connect.storage.StringConverter', stringKeys, createString),
  ...both(`${packageName}.ByteArrayConverter`, noKeys, () => new ByteArrayConverter()),
  ...both(`${packageName}.ShortConverter`, noKeys, () => new NumberConverter('INT16')),
  ...both(`${packageName}.IntegerConverter`, noKeys, () => new NumberConverter('INT32')),
  ...both(`${packageName}.LongConverter`, noKeys, () => new NumberConverter('INT64')),
  ...both(`${packageName}.FloatConverter`, noKeys, () => new NumberConverter('FLOAT32')),
  ...both(`${packageName}.DoubleConverter`, noKeys, () => new NumberConverter('FLOAT64')),
  ...both(`${packageName}.BooleanConverter`, noKeys, () => new NumberConverter('BOOLEAN')),
  {
    kind: 'header_converter',
    className: 'org.apache.kafka.connect.storage.SimpleHeaderConverter',
    aliases: [],
    version: VERSION,
    configDef: noKeys,
    create: () => new SimpleHeaderConverter(),
  },
];
