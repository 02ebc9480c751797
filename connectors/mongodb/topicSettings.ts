/** What the configuration means for one topic: its own keys (`topic.override.<topic>.<key>`) over those of all. */
import { type Config, type ConfigError, type ConfigValues, configDef } from '../../runtime/api/index.ts';
import { sinkKeys } from './configKeys.ts';
import {
  allowFields,
  blockFields,
  type FieldShaping,
  type FieldStage,
  fieldShaping,
  renameByPattern,
  renameFields,
} from './fieldShaping.ts';

export const sinkConfigDef = configDef(sinkKeys);
export type SinkValues = ConfigValues<typeof sinkKeys>;

/** Where the `_id` comes from. */
export type IdStrategy =
  | { readonly from: 'recordKey' | 'fullKey' | 'objectId' | 'kafka' }
  | { readonly from: 'uuid'; readonly isBinary: boolean }
  | { readonly from: 'provided'; readonly side: 'key' | 'value'; readonly isUuid: boolean }
  | { readonly from: 'partial'; readonly side: 'key' | 'value'; readonly fields: FieldStage };

/** What a record is to its collection. */
export type WriteModel = 'insert' | 'replace' | 'set' | 'setWithTimes' | 'delete';

export interface NamespacePaths {
  readonly database: SidePath | null;
  readonly collection: SidePath | null;
  readonly isStrict: boolean;
}
export interface SidePath {
  readonly side: 'key' | 'value';
  readonly path: readonly string[];
}

export interface TimeSeries {
  readonly timeField: string;
  readonly metaField: string | null;
  readonly granularity: string | null;
  readonly expireAfterSeconds: number;
}

export interface TopicSettings {
  readonly database: string;
  /** null = the name of the topic. */
  readonly collection: string | null;
  /** null = database and collection say it. */
  readonly namespace: NamespacePaths | null;
  readonly id: IdStrategy;
  readonly overwritesId: boolean;
  readonly writeModel: WriteModel;
  /** Found by the fields of the id, not by `_id`. */
  readonly isByBusinessKey: boolean;
  readonly deletesOnNull: boolean;
  readonly deletesByBusinessKey: boolean;
  /** Change events are applied as the known connector's relational handlers do. */
  readonly hasHandler: boolean;
  readonly keyFields: FieldStage | null;
  readonly shaping: FieldShaping | null;
  readonly addsKafkaMeta: boolean;
  readonly temporalValues: 'date' | 'raw';
  readonly unavailablePlaceholder: string;
  readonly timeSeries: TimeSeries | null;
}

const WRITE_MODELS: Readonly<Record<string, { model: WriteModel; byBusinessKey: boolean }>> = {
  InsertOneDefaultStrategy: { model: 'insert', byBusinessKey: false },
  ReplaceOneDefaultStrategy: { model: 'replace', byBusinessKey: false },
  ReplaceOneBusinessKeyStrategy: { model: 'replace', byBusinessKey: true },
  UpdateOneDefaultStrategy: { model: 'set', byBusinessKey: false },
  UpdateOneTimestampsStrategy: { model: 'setWithTimes', byBusinessKey: false },
  UpdateOneBusinessKeyTimestampStrategy: { model: 'setWithTimes', byBusinessKey: true },
  DeleteOneDefaultStrategy: { model: 'delete', byBusinessKey: false },
  DeleteOneBusinessKeyStrategy: { model: 'delete', byBusinessKey: true },
};
const ID_STRATEGIES = [
  'BsonOidStrategy',
  'FullKeyStrategy',
  'KafkaMetaDataStrategy',
  'PartialKeyStrategy',
  'PartialValueStrategy',
  'ProvidedInKeyStrategy',
  'ProvidedInValueStrategy',
  'UuidProvidedInKeyStrategy',
  'UuidProvidedInValueStrategy',
  'UuidStrategy',
];
const HANDLERS = ['RdbmsHandler', 'MysqlHandler', 'PostgresHandler'];
const PROCESSORS = [
  'DocumentIdAdder',
  'AllowListKeyProjector',
  'AllowListValueProjector',
  'BlockListKeyProjector',
  'BlockListValueProjector',
  'KafkaMetaAdder',
  'RenameByMapping',
  'RenameByRegex',
  'NullFieldValueRemover',
];
const MAPPERS = ['DefaultNamespaceMapper', 'FieldPathNamespaceMapper'];

/** Classes go by their simple names; those of older versions of the known connector are other spellings. */
const simpleName = (className: string): string =>
  className
    .slice(className.lastIndexOf('.') + 1)
    .replace(/^Whitelist/, 'AllowList')
    .replace(/^Blacklist/, 'BlockList');

const OVERRIDE = 'topic.override.';
/** Of the whole task, not of a topic. */
const NOT_OVERRIDDEN =
  /^(connection\.|server\.api\.|connections$|max\.|retries\.|rate\.|batch\.|linger|bulk\.|mongo\.)/;
const OVERRIDABLE = Object.keys(sinkKeys)
  .filter(key => !NOT_OVERRIDDEN.test(key))
  .sort((a, b) => b.length - a.length);

export const isOverride = (key: string): boolean => key.startsWith(OVERRIDE);

/** Topics have dots in their names as keys have: the longest key that there is, is meant. */
export function splitOverride(name: string): { readonly topic: string; readonly key: string } | null {
  const rest = name.slice(OVERRIDE.length);
  const key = OVERRIDABLE.find(each => rest.endsWith(`.${each}`) && rest.length > each.length + 1);
  return key === undefined ? null : { topic: rest.slice(0, -key.length - 1), key };
}

export const overriddenTopics = (config: Config): readonly string[] => [
  ...new Set(
    Object.keys(config)
      .filter(isOverride)
      .flatMap(name => splitOverride(name)?.topic ?? []),
  ),
];

export function configOf(config: Config, topic: string): Config {
  const own = Object.entries(config).flatMap(([name, value]) => {
    const override = isOverride(name) ? splitOverride(name) : null;
    return override?.topic === topic ? [[override.key, value] as const] : [];
  });
  return { ...config, ...Object.fromEntries(own) };
}

/** The settings, and what contradicts in them. `values` are without errors of their own. */
export function topicSettings(values: SinkValues): { settings: TopicSettings; errors: readonly ConfigError[] } {
  const errors: ConfigError[] = [];
  const complain = (key: keyof SinkValues, why: string): void => {
    errors.push({ key, message: `Invalid value ${values[key]} for configuration ${key}: ${why}` });
  };
  const classOf = (key: keyof SinkValues, known: readonly string[]): string => {
    const name = simpleName(String(values[key] ?? ''));
    if (name !== '' && !known.includes(name)) complain(key, `it must be one of ${known.join(', ')}`);
    return name;
  };
  const timeSeries = timeSeriesOf(values);
  const modelName = classOf('writemodel.strategy', ['DefaultWriteModelStrategy', ...Object.keys(WRITE_MODELS)]);
  const model =
    WRITE_MODELS[modelName] ??
    WRITE_MODELS[timeSeries === null ? 'ReplaceOneDefaultStrategy' : 'InsertOneDefaultStrategy']!;
  const deleteName = classOf('delete.writemodel.strategy', [
    'DeleteOneDefaultStrategy',
    'DeleteOneBusinessKeyStrategy',
  ]);
  const id = idStrategy(classOf('document.id.strategy', ID_STRATEGIES), values);
  const hasHandler = classOf('change.data.capture.handler', HANDLERS) !== '';
  const namespace = namespacePaths(values, classOf('namespace.mapper', MAPPERS));
  const chain = values['post.processor.chain'].map(simpleName);
  const unknown = chain.find(name => !PROCESSORS.includes(name));
  if (unknown !== undefined) complain('post.processor.chain', `${unknown} is none of ${PROCESSORS.join(', ')}`);
  const isPartial = id.from === 'partial';
  if (model.byBusinessKey && !isPartial && !hasHandler)
    complain('writemodel.strategy', 'it needs document.id.strategy=PartialKeyStrategy or PartialValueStrategy');
  const deletesByBusinessKey = deleteName === 'DeleteOneBusinessKeyStrategy';
  if (values['delete.on.null.values'] && !hasHandler) {
    if (!comesFromKey(id))
      complain(
        'delete.on.null.values',
        'the document is found by the record key: use a document.id.strategy that works from it, such as FullKeyStrategy',
      );
    else if ((deletesByBusinessKey || model.byBusinessKey) && !isPartial)
      complain('delete.writemodel.strategy', 'it needs document.id.strategy=PartialKeyStrategy');
  }
  const stages = chain.flatMap(name => valueStage(name, values, complain));
  const keyFields = chain.some(name => name.endsWith('KeyProjector'))
    ? projection(values['key.projection.type'], values['key.projection.list'])
    : null;
  const isPlain = hasHandler;
  return {
    errors,
    settings: {
      database: values.database,
      collection: values.collection,
      namespace,
      id,
      overwritesId: values['document.id.strategy.overwrite.existing'],
      writeModel: isPlain ? 'replace' : model.model,
      isByBusinessKey: !isPlain && model.byBusinessKey,
      deletesOnNull: values['delete.on.null.values'],
      deletesByBusinessKey: !isPlain && (deletesByBusinessKey || model.byBusinessKey),
      hasHandler,
      keyFields: isPlain ? null : keyFields,
      shaping: isPlain
        ? fieldShaping([], values['change.data.capture.handler.remove.null.values'])
        : fieldShaping(stages, chain.includes('NullFieldValueRemover')),
      addsKafkaMeta: !isPlain && chain.includes('KafkaMetaAdder'),
      temporalValues: values['temporal.values'].toLowerCase() === 'raw' ? 'raw' : 'date',
      unavailablePlaceholder: values['unavailable.value.placeholder'],
      timeSeries,
    },
  };
}

const comesFromKey = (id: IdStrategy): boolean =>
  id.from === 'recordKey' || id.from === 'fullKey' || ('side' in id && id.side === 'key');

function idStrategy(name: string, values: SinkValues): IdStrategy {
  switch (name) {
    case 'FullKeyStrategy':
      return { from: 'fullKey' };
    case 'BsonOidStrategy':
      return { from: 'objectId' };
    case 'KafkaMetaDataStrategy':
      return { from: 'kafka' };
    case 'UuidStrategy':
      return { from: 'uuid', isBinary: values['document.id.strategy.uuid.format'].toLowerCase() === 'binary' };
    case 'ProvidedInKeyStrategy':
    case 'UuidProvidedInKeyStrategy':
      return { from: 'provided', side: 'key', isUuid: name.startsWith('Uuid') };
    case 'ProvidedInValueStrategy':
    case 'UuidProvidedInValueStrategy':
      return { from: 'provided', side: 'value', isUuid: name.startsWith('Uuid') };
    case 'PartialKeyStrategy':
    case 'PartialValueStrategy': {
      const side = name === 'PartialKeyStrategy' ? 'key' : 'value';
      const prefix = `document.id.strategy.partial.${side}.projection` as const;
      return { from: 'partial', side, fields: projection(values[`${prefix}.type`], values[`${prefix}.list`]) };
    }
    default:
      return { from: 'recordKey' };
  }
}

function projection(type: string, list: readonly string[]): FieldStage {
  switch (type.toLowerCase()) {
    case 'allowlist':
    case 'whitelist':
      return allowFields(list);
    case 'blocklist':
    case 'blacklist':
      return blockFields(list);
    default:
      return blockFields([]);
  }
}

type Complain = (key: keyof SinkValues, why: string) => void;

function valueStage(name: string, values: SinkValues, complain: Complain): FieldStage[] {
  const list = values['value.projection.list'];
  switch (name) {
    case 'AllowListValueProjector':
      return [allowFields(list)];
    case 'BlockListValueProjector':
      return [blockFields(list)];
    case 'RenameByMapping': {
      const mapping = jsonList(values['field.renamer.mapping'], ['oldName', 'newName']);
      if (mapping !== null) return [renameFields(mapping)];
      complain('field.renamer.mapping', 'it must be a JSON array of {"oldName":"value.…","newName":"…"}');
      return [];
    }
    case 'RenameByRegex': {
      const rules = jsonList(values['field.renamer.regexp'], ['regexp', 'pattern', 'replace']);
      try {
        if (rules !== null)
          return [
            renameByPattern(
              rules.map(({ regexp, pattern, replace }) => ({
                regexp: new RegExp(`^(?:${regexp})$`),
                pattern: new RegExp(pattern, 'g'),
                replace,
              })),
            ),
          ];
      } catch {
        // Not a regular expression: told below.
      }
      complain('field.renamer.regexp', 'it must be a JSON array of {"regexp":"…","pattern":"…","replace":"…"}');
      return [];
    }
    default:
      return [];
  }
}

function jsonList<N extends string>(text: string, names: readonly N[]): Record<N, string>[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    const isEntry = (entry: unknown): entry is Record<N, string> =>
      typeof entry === 'object' && entry !== null && names.every(name => typeof Reflect.get(entry, name) === 'string');
    return Array.isArray(parsed) && parsed.every(isEntry) ? parsed : null;
  } catch {
    return null;
  }
}

function namespacePaths(values: SinkValues, mapper: string): NamespacePaths | null {
  if (mapper !== 'FieldPathNamespaceMapper') return null;
  const pathOf = (part: 'database' | 'collection'): SidePath | null => {
    for (const side of ['key', 'value'] as const) {
      const path = values[`namespace.mapper.${side}.${part}.field`];
      if (path !== null && path !== '') return { side, path: path.split('.') };
    }
    return null;
  };
  return {
    database: pathOf('database'),
    collection: pathOf('collection'),
    isStrict: values['namespace.mapper.error.if.invalid'],
  };
}

function timeSeriesOf(values: SinkValues): TimeSeries | null {
  const timeField = values['timeseries.timefield'];
  if (timeField === null || timeField === '') return null;
  const granularity = values['timeseries.granularity'].toLowerCase();
  return {
    timeField,
    metaField: values['timeseries.metafield'] || null,
    granularity: granularity === 'none' ? null : granularity,
    expireAfterSeconds: values['timeseries.expire.after.seconds'],
  };
}
