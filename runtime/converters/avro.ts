/** The Avro converter plugin: Confluent's keys; answers to Confluent's and Apicurio's class names. */
import { AvroConverter } from '../../schemas/avro/avroConverter.ts';
import { subjectNameStrategies, subjectNameStrategy } from '../../schemas/avro/subjectName.ts';
import { ConnectError } from '../../schemas/errors.ts';
import { type ConfigKey, type ConfigKeys, type ConverterPlugin, configDef } from '../api/index.ts';
import { registryKeys, registryOf } from './registrySettings.ts';
import { VERSION } from './version.ts';

const TOPIC_NAME = 'io.confluent.kafka.serializers.subject.TopicNameStrategy';

const strategyKey = (what: string): ConfigKey & { readonly type: 'CLASS'; readonly default: string } => ({
  type: 'CLASS',
  default: TOPIC_NAME,
  importance: 'MEDIUM',
  documentation: `How the subject of ${what} is named.`,
  recommendedValues: Object.keys(subjectNameStrategies),
  check: (value: string) =>
    subjectNameStrategy(value) ? null : `one of ${Object.keys(subjectNameStrategies).join(', ')}`,
});

const keys = {
  ...registryKeys,
  'auto.register.schemas': {
    type: 'BOOLEAN',
    default: true,
    importance: 'MEDIUM',
    documentation: 'Whether schemas are registered; else they are looked up under their subject.',
    aliases: ['apicurio.registry.auto-register'],
  },
  'use.latest.version': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation:
      'With auto.register.schemas=false: write with the newest schema of the subject, fields matched by name.',
  },
  'key.subject.name.strategy': strategyKey('keys'),
  'value.subject.name.strategy': strategyKey('values'),
  'scrub.invalid.names': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether names that Avro does not allow are adjusted; else they are an error.',
  },
  'replace.null.with.default': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation:
      'Whether a null in a field with a default is written as the default, as the Java converters do. By default a null stays a null: else the copy of a database would differ from it.',
  },
  'ignore.default.for.nullables': {
    type: 'BOOLEAN',
    default: null,
    importance: 'MEDIUM',
    documentation: "Confluent's key for the opposite: false, where it is given, is replace.null.with.default=true.",
  },
} as const satisfies ConfigKeys;

const definition = configDef(keys);

export const avroConverterPlugin: ConverterPlugin = {
  kind: 'converter',
  className: 'io.confluent.connect.avro.AvroConverter',
  aliases: ['io.apicurio.registry.utils.converter.AvroConverter'],
  version: VERSION,
  configDef: definition,
  create(config, isKey, registry) {
    const { values, errors } = definition.parse(config);
    if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
    return new AvroConverter(
      {
        isKey,
        subjectName: subjectNameStrategy(values[isKey ? 'key.subject.name.strategy' : 'value.subject.name.strategy'])!,
        autoRegisterSchemas: values['auto.register.schemas'],
        useLatestVersion: values['use.latest.version'],
        replaceNullWithDefault: values['replace.null.with.default'] || values['ignore.default.for.nullables'] === false,
        scrubInvalidNames: values['scrub.invalid.names'],
      },
      registryOf(config, registry),
    );
  },
};
