/** What the configuration means for one topic: its own keys (`topic.override.<topic>.<key>`) over those of all. */
import type { ConfigError } from '../../runtime/api/index.ts';
import type { SinkValues } from './configKeys.ts';
import { type FieldShaping, type FieldStage, fieldShaping } from './fieldShaping.ts';
import { lengthProblem } from './namespaceNames.ts';
import { type Complain, checkProjections, fieldStages, PROCESSORS, projection } from './postProcessors.ts';

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
const MAPPERS = ['DefaultNamespaceMapper', 'FieldPathNamespaceMapper'];

/** Classes go by their simple names; those of older versions of the known connector are other spellings. */
const simpleName = (className: string): string =>
  className
    .slice(className.lastIndexOf('.') + 1)
    .replace(/^Whitelist/, 'AllowList')
    .replace(/^Blacklist/, 'BlockList');

/** The settings, and what contradicts in them. `values` are without errors of their own. */
export function topicSettings(values: SinkValues): { settings: TopicSettings; errors: readonly ConfigError[] } {
  const errors: ConfigError[] = [];
  const complain: Complain = (key, why) => {
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
  const tooLong = values.collection ? lengthProblem(values.database, values.collection) : null;
  if (tooLong !== null) complain('collection', tooLong);
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
  if (!hasHandler) checkProjections(chain, values, complain);
  const stages = chain.flatMap(name => fieldStages(name, values, complain));
  const keyFields = chain.some(name => name.endsWith('KeyProjector'))
    ? projection(values['key.projection.type'], values['key.projection.list'])
    : null;
  return {
    errors,
    settings: {
      database: values.database,
      collection: values.collection,
      namespace,
      id,
      overwritesId: values['document.id.strategy.overwrite.existing'],
      writeModel: hasHandler ? 'replace' : model.model,
      isByBusinessKey: !hasHandler && model.byBusinessKey,
      deletesOnNull: values['delete.on.null.values'],
      deletesByBusinessKey: !hasHandler && (deletesByBusinessKey || model.byBusinessKey),
      hasHandler,
      keyFields: hasHandler ? null : keyFields,
      shaping: hasHandler
        ? fieldShaping([], values['change.data.capture.handler.remove.null.values'])
        : fieldShaping(stages, chain.includes('NullFieldValueRemover')),
      addsKafkaMeta: !hasHandler && chain.includes('KafkaMetaAdder'),
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
