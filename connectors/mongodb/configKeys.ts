/** The keys of the MongoDB sink: those of the MongoDB connector for Kafka, under their names, and few of its own. */
import { type ConfigKeys, type ConfigValues, configDef } from '../../runtime/api/index.ts';
import { ignoredKey } from '../shared/ignoredKey.ts';
import { collectionProblem, databaseProblem } from './namespaceNames.ts';

const connection = 'Connection';
const namespace = 'Namespace';
const ids = 'Document ids';
const writes = 'Writes';
const processors = 'Post processing';
const capture = 'Change data capture';
const errors = 'Errors and retries';
const timeSeries = 'Time series';

const text = (documentation: string, group: string, importance: 'HIGH' | 'MEDIUM' | 'LOW' = 'LOW') =>
  ({ type: 'STRING', default: null, importance, documentation, group }) as const;

const list = (documentation: string, group: string) =>
  ({ type: 'LIST', default: [], importance: 'LOW', documentation, group }) as const;

const projectionType = (documentation: string, group: string) =>
  ({
    type: 'STRING',
    default: 'none',
    oneOf: ['none', 'allowlist', 'blocklist', 'whitelist', 'blacklist'],
    ignoreCase: true,
    importance: 'LOW',
    documentation,
    group,
  }) as const;

const refused = (documentation: string, group: string) => text(`Refused: ${documentation}`, group);

export const sinkKeys = {
  'connection.uri': {
    type: 'STRING',
    default: 'mongodb://localhost:27017',
    importance: 'HIGH',
    documentation:
      'Where the server is, as a connection string with all its options (replicaSet, tls, authSource, w, …). User and password in it must be percent-encoded.',
    group: connection,
    orderInGroup: 1,
  },
  'server.api.version': text('Version of the stable API that is asked for, such as 1.', connection),
  'server.api.strict': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation: 'Whether the server refuses what is not in that version.',
    group: connection,
  },
  'server.api.deprecationErrors': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation: 'Whether the server refuses what is deprecated in that version.',
    group: connection,
  },
  'connection.ssl.truststore': refused('put tls=true&tlsCAFile=<PEM file> into connection.uri.', connection),
  'connection.ssl.truststorePassword': refused('see connection.ssl.truststore.', connection),
  'connection.ssl.keystore': refused('put tls=true&tlsCertificateKeyFile=<PEM file> into connection.uri.', connection),
  'connection.ssl.keystorePassword': refused('see connection.ssl.keystore.', connection),
  database: {
    type: 'STRING',
    importance: 'HIGH',
    documentation: 'Database that is written to.',
    group: namespace,
    orderInGroup: 1,
    check: databaseProblem,
  },
  collection: {
    ...text('Collection that is written to; the name of the topic if it is not set.', namespace, 'HIGH'),
    check: (name: string) => (name === '' ? null : collectionProblem(name)),
  },
  'namespace.mapper': {
    type: 'STRING',
    default: 'com.mongodb.kafka.connect.sink.namespace.mapping.DefaultNamespaceMapper',
    importance: 'LOW',
    documentation:
      'How the collection of a record is found. DefaultNamespaceMapper: by database and collection. FieldPathNamespaceMapper: by texts in its key or value, which the namespace.mapper.* keys name; with change events in the row. Simple names of classes are enough here and below.',
    group: namespace,
  },
  'namespace.mapper.key.database.field': text('Path to the field of the key with the name of the database.', namespace),
  'namespace.mapper.key.collection.field': text('Path to the field of the key with the collection.', namespace),
  'namespace.mapper.value.database.field': text('Path to the field of the value with the database.', namespace),
  'namespace.mapper.value.collection.field': text('Path to the field of the value with the collection.', namespace),
  'namespace.mapper.error.if.invalid': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation:
      'Whether a record without such a text is an error; otherwise it goes where database and collection say.',
    group: namespace,
  },
  'document.id.strategy': text(
    'What becomes the _id. Not set: the record key, the value itself where it has one field, else all of its fields as a document. FullKeyStrategy: the key as it is, as a document where it has fields. ProvidedInKeyStrategy, ProvidedInValueStrategy: the field _id of key or value. PartialKeyStrategy, PartialValueStrategy: a document of some fields. KafkaMetaDataStrategy: topic#partition#offset. UuidProvidedInKeyStrategy, UuidProvidedInValueStrategy: a UUID as text in the field _id. BsonOidStrategy, UuidStrategy: a new one for each record, and for each time that it comes.',
    ids,
    'MEDIUM',
  ),
  'document.id.strategy.overwrite.existing': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation: 'Whether the strategy wins over a field _id in the value.',
    group: ids,
  },
  'document.id.strategy.uuid.format': {
    type: 'STRING',
    default: 'string',
    oneOf: ['string', 'binary'],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'How UuidStrategy writes them.',
    group: ids,
  },
  'document.id.strategy.partial.key.projection.type': projectionType(
    'How PartialKeyStrategy takes the list: the fields in it, or the others.',
    ids,
  ),
  'document.id.strategy.partial.key.projection.list': list('Fields of the key.', ids),
  'document.id.strategy.partial.value.projection.type': projectionType('The same for PartialValueStrategy.', ids),
  'document.id.strategy.partial.value.projection.list': list('Fields of the value.', ids),
  'writemodel.strategy': {
    type: 'STRING',
    default: 'com.mongodb.kafka.connect.sink.writemodel.strategy.DefaultWriteModelStrategy',
    importance: 'MEDIUM',
    documentation:
      'How a document is written. DefaultWriteModelStrategy: ReplaceOneDefaultStrategy, for time series InsertOneDefaultStrategy. ReplaceOneDefaultStrategy: replaced or inserted by _id. InsertOneDefaultStrategy: inserted, an _id that is there already is an error, unless the document is equal. UpdateOneDefaultStrategy: its fields are set, others stay. UpdateOneTimestampsStrategy: the same, with _insertedTS and _modifiedTS. ReplaceOneBusinessKeyStrategy, UpdateOneBusinessKeyTimestampStrategy: found by the fields of PartialKeyStrategy or PartialValueStrategy, which need a unique index; the server makes the _id. DeleteOneDefaultStrategy, DeleteOneBusinessKeyStrategy: deleted.',
    group: writes,
  },
  'delete.on.null.values': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation:
      'Whether deletes are applied: records with a null value, delete events, flattened records with __deleted = true. Needs an id that comes from the key. Without it they are errors.',
    group: writes,
  },
  'delete.writemodel.strategy': {
    type: 'STRING',
    default: 'com.mongodb.kafka.connect.sink.writemodel.strategy.DeleteOneDefaultStrategy',
    importance: 'LOW',
    documentation:
      'How they are: DeleteOneDefaultStrategy by _id, DeleteOneBusinessKeyStrategy by the fields of PartialKeyStrategy.',
    group: writes,
  },
  'max.batch.size': {
    type: 'INT',
    default: 0,
    min: 0,
    max: 1_000_000,
    importance: 'MEDIUM',
    documentation: 'Most records of one flush; 0 = 10000.',
    group: writes,
  },
  'batch.bytes': {
    type: 'INT',
    default: 8 << 20,
    min: 1024,
    importance: 'LOW',
    documentation: 'Bytes of encoded documents at which a flush begins. A task holds about twice as much.',
    group: writes,
  },
  'linger.ms': {
    type: 'LONG',
    default: 0,
    min: 0,
    importance: 'LOW',
    documentation:
      'How long documents may wait for more while nothing is being written. With 0 they are written at once, and collect only while an earlier flush is under way.',
    group: writes,
  },
  connections: {
    type: 'INT',
    default: 4,
    min: 1,
    max: 100,
    importance: 'MEDIUM',
    documentation:
      'Over how many connections a task writes at the same time while the server holds it up; otherwise it takes one. Documents with one key take the same.',
    group: writes,
  },
  'bulk.write.ordered': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation:
      'Whether the documents of a flush are written in the order in which their last changes came, over one connection; for collections with unique indexes beside _id, whose values move from document to document.',
    group: writes,
  },
  'rate.limiting.every.n': {
    type: 'INT',
    default: 0,
    min: 0,
    importance: 'LOW',
    documentation: 'After how many bulk writes a task waits; 0 = never.',
    group: writes,
  },
  'rate.limiting.timeout': {
    type: 'INT',
    default: 0,
    min: 0,
    importance: 'LOW',
    documentation: 'How many milliseconds it then waits.',
    group: writes,
  },
  'temporal.values': {
    type: 'STRING',
    default: 'date',
    oneOf: ['date', 'raw'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'date: values of Debezium’s types for dates, times and timestamps become dates, which hold milliseconds: what is finer is cut, or an error in an id. raw: they stay the numbers and texts that the record has.',
    group: writes,
  },
  'unavailable.value.placeholder': {
    type: 'STRING',
    default: '__debezium_unavailable_value',
    importance: 'LOW',
    documentation:
      'What update events carry for a field whose value the source did not send. Such a field is left as it is. Other records that carry it are refused: it is never written.',
    group: writes,
  },
  'change.data.capture.handler': text(
    'RdbmsHandler, MysqlHandler, PostgresHandler (com.mongodb.kafka.connect.sink.cdc.debezium.rdbms.*): change events are applied as the known connector does, with the fields of the key as the _id and not beside it. Id strategy, write model and post processors then have no effect. Without it change events are understood as well: their rows are written as flat records are.',
    capture,
    'MEDIUM',
  ),
  'change.data.capture.handler.remove.null.values': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation: 'Whether the handler leaves out fields that are null.',
    group: capture,
  },
  'post.processor.chain': {
    type: 'LIST',
    default: ['com.mongodb.kafka.connect.sink.processor.DocumentIdAdder'],
    importance: 'LOW',
    documentation:
      'What is done to documents, in this order: AllowListValueProjector, BlockListValueProjector, AllowListKeyProjector, BlockListKeyProjector, KafkaMetaAdder, RenameByMapping, RenameByRegex, NullFieldValueRemover. DocumentIdAdder always comes first.',
    group: processors,
  },
  'key.projection.type': projectionType('With key projectors: allowlist or blocklist.', processors),
  'key.projection.list': list('Fields of the key that are kept, or left out, before it becomes the _id.', processors),
  'value.projection.type': projectionType('With value projectors: allowlist or blocklist.', processors),
  'value.projection.list': list(
    'Fields that are kept, or left out: paths joined by dots; * stands for one name, ** for all below.',
    processors,
  ),
  'field.renamer.mapping': {
    type: 'STRING',
    default: '[]',
    importance: 'LOW',
    documentation: 'For RenameByMapping: [{"oldName":"value.a.b","newName":"c"}, …].',
    group: processors,
  },
  'field.renamer.regexp': {
    type: 'STRING',
    default: '[]',
    importance: 'LOW',
    documentation: 'For RenameByRegex: [{"regexp":"^value\\\\.old.*$","pattern":"old","replace":"new"}, …].',
    group: processors,
  },
  'mongo.errors.tolerance': {
    type: 'STRING',
    default: null,
    oneOf: ['none', 'all', 'data'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'Must say what errors.tolerance says, which decides: none, or all or data for all. What may pass by itself is always tried again, never left out.',
    group: errors,
  },
  'mongo.errors.log.enable': ignoredKey('set errors.log.enable.'),
  'mongo.errors.deadletterqueue.topic.name': refused('set errors.deadletterqueue.topic.name.', errors),
  'max.num.retries': {
    type: 'INT',
    default: null,
    min: 0,
    importance: 'MEDIUM',
    documentation:
      'How often a flush is tried again after an error that may pass (connection lost, no primary, write conflict). Without end if not set.',
    group: errors,
    aliases: ['max.retries'],
  },
  'retries.defer.timeout': {
    type: 'INT',
    default: 1000,
    min: 0,
    importance: 'MEDIUM',
    documentation: 'Milliseconds before the first retry; doubled for each further one up to 30 s, with jitter.',
    group: errors,
    aliases: ['retry.backoff.ms'],
  },
  'timeseries.timefield': text(
    'Field with the date of a document: a collection that is missing is created for time series.',
    timeSeries,
  ),
  'timeseries.metafield': text('Field that tells the series apart.', timeSeries),
  'timeseries.expire.after.seconds': {
    type: 'LONG',
    default: 0,
    min: 0,
    importance: 'LOW',
    documentation: 'After how many seconds documents are removed; 0 = never.',
    group: timeSeries,
  },
  'timeseries.granularity': {
    type: 'STRING',
    default: 'none',
    oneOf: ['none', 'seconds', 'minutes', 'hours'],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'How close documents of a series are to each other.',
    group: timeSeries,
  },
  'timeseries.timefield.auto.convert': refused(
    'give the field a schema of a timestamp at the source, or convert it with TimestampConverter.',
    timeSeries,
  ),
} as const satisfies ConfigKeys;

export const sinkConfigDef = configDef(sinkKeys);
export type SinkValues = ConfigValues<typeof sinkKeys>;
