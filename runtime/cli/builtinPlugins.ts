/**
 * The plugins that come with Millrace, and the modules they are in. A module is loaded when one of its plugins is needed, so that what it exports has to be
 * said here as well; a test compares the two. Task threads import the same modules: `.ts` from the sources, `.js` from `dist`.
 */
import type { DeclaredModule, PluginDeclaration, PluginKind } from '../worker/pluginRegistry.ts';

const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

const smallPlugins: readonly PluginKind[] = ['transformation', 'predicate', 'config_provider'];

const plugin = (kind: PluginKind, className: string, aliases: readonly string[] = []): PluginDeclaration => ({
  kind,
  className,
  aliases,
  version: smallPlugins.includes(kind) ? '1.0.0' : '0.1.0',
});

const converter = (name: string): PluginDeclaration[] =>
  (['converter', 'header_converter'] as const).map(kind => plugin(kind, `org.apache.kafka.connect.${name}`));

const transforms = 'org.apache.kafka.connect.transforms';
const transform = (name: string): PluginDeclaration => plugin('transformation', `${transforms}.${name}`);
const sided = (name: string): PluginDeclaration[] => [transform(`${name}$Key`), transform(`${name}$Value`)];

/** Paths without extension, from here. */
const modules: readonly (readonly [path: string, plugins: readonly PluginDeclaration[]])[] = [
  [
    '../converters/index',
    [
      plugin('converter', 'io.confluent.connect.avro.AvroConverter', [
        'io.apicurio.registry.utils.converter.AvroConverter',
      ]),
      ...converter('json.JsonConverter'),
      ...converter('storage.StringConverter'),
      ...['ByteArray', 'Short', 'Integer', 'Long', 'Float', 'Double', 'Boolean'].flatMap(type =>
        converter(`converters.${type}Converter`),
      ),
      plugin('header_converter', 'org.apache.kafka.connect.storage.SimpleHeaderConverter'),
    ],
  ],
  [
    '../transforms/index',
    [
      ...sided('Cast'),
      ...sided('ExtractField'),
      plugin('transformation', 'io.debezium.transforms.ExtractNewRecordState'),
      transform('Filter'),
      ...sided('Flatten'),
      transform('DropHeaders'),
      transform('InsertHeader'),
      ...sided('HeaderFrom'),
      ...sided('HoistField'),
      ...sided('InsertField'),
      ...sided('MaskField'),
      ...['HasHeaderKey', 'RecordIsTombstone', 'TopicNameMatches'].map(name =>
        plugin('predicate', `${transforms}.predicates.${name}`),
      ),
      ...sided('ReplaceField'),
      transform('RegexRouter'),
      transform('TimestampRouter'),
      ...sided('SetSchemaMetadata'),
      ...sided('TimestampConverter'),
      transform('ValueToKey'),
    ],
  ],
  [
    '../config/providers/index',
    ['File', 'Directory', 'EnvVar'].map(name =>
      plugin('config_provider', `org.apache.kafka.common.config.provider.${name}ConfigProvider`),
    ),
  ],
  [
    '../../connectors/file/index',
    [
      plugin('source', 'org.apache.kafka.connect.file.FileStreamSourceConnector'),
      plugin('sink', 'org.apache.kafka.connect.file.FileStreamSinkConnector'),
    ],
  ],
  ['../../connectors/datagen/index', [plugin('source', 'millrace.DatagenSource')]],
  [
    '../../connectors/postgres/index',
    [
      plugin('source', 'io.debezium.connector.postgresql.PostgresConnector', [
        'millrace.PostgresSource',
        'millrace.PostgresSourceConnector',
      ]),
      plugin('sink', 'millrace.PostgresSink', [
        'io.confluent.connect.jdbc.JdbcSinkConnector',
        'io.aiven.connect.jdbc.JdbcSinkConnector',
        'io.debezium.connector.jdbc.JdbcSinkConnector',
      ]),
    ],
  ],
  [
    '../../connectors/mysql/index',
    [
      plugin('source', 'io.debezium.connector.mysql.MySqlConnector', [
        'millrace.MysqlSource',
        'millrace.MysqlSourceConnector',
      ]),
      plugin('source', 'io.debezium.connector.mariadb.MariaDbConnector', [
        'millrace.MariadbSource',
        'millrace.MariadbSourceConnector',
      ]),
      plugin('sink', 'millrace.MySqlSink', ['millrace.MySqlSinkConnector', 'millrace.MariaDbSink']),
    ],
  ],
  [
    '../../connectors/firebird/index',
    [
      plugin('source', 'millrace.FirebirdSource', ['millrace.FirebirdSourceConnector']),
      plugin('sink', 'millrace.FirebirdSink', ['millrace.FirebirdSinkConnector']),
      plugin('sink', 'millrace.FirebirdJournalFileSink'),
    ],
  ],
  [
    '../../connectors/elasticsearch/index',
    [
      plugin('sink', 'io.confluent.connect.elasticsearch.ElasticsearchSinkConnector', [
        'io.aiven.connect.elasticsearch.ElasticsearchSinkConnector',
        'io.aiven.kafka.connect.opensearch.OpensearchSinkConnector',
        'io.aiven.kafka.connect.opensearch.OpenSearchSinkConnector',
        'millrace.ElasticsearchSink',
        'millrace.OpenSearchSink',
      ]),
    ],
  ],
  [
    '../../connectors/mongodb/index',
    [
      plugin('sink', 'com.mongodb.kafka.connect.MongoSinkConnector', [
        'millrace.MongoDbSink',
        'millrace.MongoDbSinkConnector',
      ]),
    ],
  ],
];

/** For the bundler. */
export const builtinPluginPaths: readonly string[] = modules.map(([path]) => path);

export const builtinPlugins: readonly DeclaredModule[] = modules.map(([path, plugins]) => ({
  url: new URL(path + extension, import.meta.url).href,
  plugins,
}));
