/** The keys of the sink: those of the known Elasticsearch and OpenSearch sinks, under one set of names. */
import type { ConfigKeys } from '../../runtime/api/index.ts';

const connection = 'Connection';
const security = 'Security';
const conversion = 'Data conversion';
const writes = 'Writes';
const streams = 'Data streams';

const ignored = (documentation: string) =>
  ({
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: `Accepted, without effect: ${documentation}`,
  }) as const;

export const sinkKeys = {
  'connection.url': {
    type: 'LIST',
    importance: 'HIGH',
    documentation:
      'Addresses of nodes, as http://host:9200 or https://host:9200. Requests go to all of them in turn; one that does not answer is left out for a while.',
    group: connection,
    check: (urls: readonly string[]) => (urls.length === 0 ? 'it names no node' : null),
  },
  'connection.username': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation: 'User for basic authentication.',
    group: connection,
    aliases: ['connection.user'],
  },
  'connection.password': {
    type: 'PASSWORD',
    default: null,
    importance: 'MEDIUM',
    documentation: 'Password of the user.',
    group: connection,
  },
  'connection.api.key': {
    type: 'PASSWORD',
    default: null,
    importance: 'MEDIUM',
    documentation: 'API key in its encoded form (base64 of id:key), instead of user and password.',
    group: connection,
  },
  'connection.compression': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation: 'Whether requests are compressed with gzip.',
    group: connection,
  },
  'connection.timeout.ms': {
    type: 'INT',
    default: 5000,
    min: 1,
    importance: 'LOW',
    documentation: 'How long a connection may take to be made.',
    group: connection,
  },
  'read.timeout.ms': {
    type: 'INT',
    default: 30_000,
    min: 1,
    importance: 'LOW',
    documentation: 'How long an answer may take. What takes longer is sent again.',
    group: connection,
  },
  'max.connection.idle.time.ms': {
    type: 'INT',
    default: 60_000,
    min: 1,
    importance: 'LOW',
    documentation: 'How long a connection is kept that nobody uses.',
    group: connection,
  },
  'proxy.host': {
    type: 'STRING',
    default: '',
    importance: 'LOW',
    documentation: 'Host of an HTTP proxy.',
    group: connection,
  },
  'proxy.port': {
    type: 'INT',
    default: 8080,
    min: 1,
    max: 65_535,
    importance: 'LOW',
    documentation: 'Port of the proxy.',
    group: connection,
  },
  'proxy.username': {
    type: 'STRING',
    default: '',
    importance: 'LOW',
    documentation: 'User of the proxy.',
    group: connection,
  },
  'proxy.password': {
    type: 'PASSWORD',
    default: null,
    importance: 'LOW',
    documentation: 'Password of the proxy.',
    group: connection,
  },
  'elastic.https.ssl.truststore.location': {
    type: 'STRING',
    default: null,
    importance: 'MEDIUM',
    documentation: 'PEM file of the certificates that are trusted, instead of those of the system.',
    group: security,
    aliases: ['connection.ssl.truststore.location'],
  },
  'elastic.https.ssl.keystore.location': {
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation:
      'PEM file with the certificate of the client and its key, or a PKCS12 file with both (.p12, .pfx). JKS files are not read: convert them with keytool -importkeystore -deststoretype PKCS12.',
    group: security,
    aliases: ['connection.ssl.keystore.location'],
  },
  'elastic.https.ssl.keystore.password': {
    type: 'PASSWORD',
    default: null,
    importance: 'LOW',
    documentation: 'Password of that file.',
    group: security,
    aliases: ['connection.ssl.keystore.password'],
  },
  'elastic.https.ssl.endpoint.identification.algorithm': {
    type: 'STRING',
    default: 'https',
    oneOf: ['https', ''],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'Empty: the name in the certificate of a node need not be that of its host.',
    group: security,
    aliases: ['connection.ssl.endpoint.identification.algorithm'],
  },
  'connection.trust.all.certificates': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation: 'Whether certificates of nodes are not checked at all.',
    group: security,
  },
  'key.ignore': {
    type: 'BOOLEAN',
    default: false,
    importance: 'HIGH',
    documentation:
      'false: the document id is the record key, so that a record replaces the one before it with that key. true: each record is a document of its own, with the id topic+partition+offset.',
    group: conversion,
  },
  'topic.key.ignore': {
    type: 'LIST',
    default: [],
    importance: 'LOW',
    documentation: 'Topics for which key.ignore is true.',
    group: conversion,
  },
  'key.ignore.id.strategy': {
    type: 'STRING',
    default: 'topic.partition.offset',
    oneOf: ['topic.partition.offset', 'none', 'record.key'],
    ignoreCase: true,
    importance: 'LOW',
    documentation:
      'Ids where keys are ignored: topic.partition.offset; none, which is use.autogenerated.ids; record.key, which is as if they were not ignored.',
    group: conversion,
  },
  'use.autogenerated.ids': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation:
      'Whether the target makes the ids of documents, each time anew: the one way in which a record that is delivered again becomes a second document.',
    group: conversion,
  },
  'schema.ignore': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation:
      'false: fields are mapped by the schema of the records before the first document that has them is written. true: the target maps them by their first values.',
    group: conversion,
  },
  'topic.schema.ignore': {
    type: 'LIST',
    default: [],
    importance: 'LOW',
    documentation: 'Topics for which schema.ignore is true.',
    group: conversion,
  },
  'decimal.format': {
    type: 'STRING',
    default: 'text',
    oneOf: ['text', 'number'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'text: decimals are texts, mapped as keyword. number: they are JSON numbers with all their digits, mapped as scaled_float where that holds them exactly and as double elsewhere, which is what searches see; the document keeps the digits.',
    group: conversion,
  },
  'compact.map.entries': {
    type: 'BOOLEAN',
    default: true,
    importance: 'LOW',
    documentation:
      'Whether maps with text keys are objects; otherwise, and with other keys, they are lists of objects with key and value.',
    group: conversion,
  },
  'unavailable.value.placeholder': {
    type: 'STRING',
    default: '__debezium_unavailable_value',
    importance: 'LOW',
    documentation:
      'What update events carry for a column whose value the source did not send. Such a field is left as it is in the document. Other records that carry it are refused: it is never written.',
    group: conversion,
  },
  'drop.invalid.message': {
    type: 'BOOLEAN',
    default: false,
    importance: 'LOW',
    documentation:
      'Whether records that cannot be made documents are left out, with a warning and a count, instead of failing the task or going to the dead letter queue.',
    group: conversion,
  },
  'behavior.on.null.values': {
    type: 'STRING',
    default: 'fail',
    oneOf: ['ignore', 'delete', 'fail'],
    ignoreCase: true,
    importance: 'HIGH',
    documentation:
      'What records with a null value and delete events do: delete the document, nothing (they are counted), or fail.',
    group: conversion,
  },
  'behavior.on.malformed.documents': {
    type: 'STRING',
    default: 'fail',
    oneOf: ['ignore', 'warn', 'fail', 'report'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'What happens when the target refuses a document (a value does not fit its mapping, a strict mapping lacks a field): ignore counts it, warn also logs its place, fail fails the task. With errors.tolerance=all it goes to the dead letter queue in every case; report means that.',
    group: conversion,
  },
  'behavior.on.version.conflict': {
    type: 'STRING',
    default: 'warn',
    oneOf: ['ignore', 'warn', 'fail', 'report'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'What happens when a document has a higher version than the record that is to be written, which therefore is not: ignore counts it, warn also logs it, at most once a minute, fail fails the task, report sends it to the dead letter queue.',
    group: conversion,
  },
  'write.method': {
    type: 'STRING',
    default: 'INSERT',
    oneOf: ['INSERT', 'UPSERT'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'INSERT: a record replaces the document. UPSERT: its fields are put into the document, whose other fields stay; such writes have no versions.',
    group: writes,
    aliases: ['index.write.method'],
  },
  'document.version': {
    type: 'STRING',
    default: 'offset',
    oneOf: ['offset', 'source', 'none'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation:
      'Where versions of documents come from, by which the target keeps a newer document when an older record is delivered again. offset: the Kafka offset. source: the position in the log of the source database, of change events only. none: no versions. Only for write.method=INSERT with record keys as ids.',
    group: writes,
  },
  'external.version.header': {
    type: 'STRING',
    default: '',
    importance: 'LOW',
    documentation: 'Header that has the version as a whole number; wins over document.version.',
    group: writes,
  },
  'batch.size': {
    type: 'INT',
    default: 2000,
    min: 1,
    max: 1_000_000,
    importance: 'MEDIUM',
    documentation: 'Most records of one bulk request.',
    group: writes,
  },
  'bulk.size.bytes': {
    type: 'INT',
    default: 5 << 20,
    min: 1024,
    importance: 'LOW',
    documentation:
      'Most bytes of one bulk request, before compression. A larger document is sent alone. A task holds about twice as much for each request under way.',
    group: writes,
  },
  'linger.ms': {
    type: 'LONG',
    default: 1,
    min: 0,
    importance: 'LOW',
    documentation: 'How long records may wait for more while nothing is being written.',
    group: writes,
  },
  'max.in.flight.requests': {
    type: 'INT',
    default: 5,
    min: 1,
    max: 100,
    importance: 'MEDIUM',
    documentation:
      'How many bulk requests a task has under way at the same time while the target holds it up; otherwise one. Records with one id take the same way, so that their order is kept.',
    group: writes,
  },
  'max.retries': {
    type: 'INT',
    default: null,
    min: 0,
    importance: 'MEDIUM',
    documentation:
      'How often a request is tried again after an error that may pass (no connection, no answer, 429, 503). Without end if not set.',
    group: writes,
  },
  'retry.backoff.ms': {
    type: 'LONG',
    default: 100,
    min: 0,
    importance: 'LOW',
    documentation: 'Wait before the first retry; doubled for each further one up to 30 s, with jitter.',
    group: writes,
  },
  'data.stream.type': {
    type: 'STRING',
    default: 'none',
    oneOf: ['none', 'logs', 'metrics'],
    ignoreCase: true,
    importance: 'LOW',
    documentation: 'Writes to the data stream type-dataset-namespace, to which documents are only added.',
    group: streams,
  },
  'data.stream.dataset': {
    type: 'STRING',
    default: '',
    importance: 'LOW',
    documentation: 'Data set of the data stream.',
    group: streams,
  },
  'data.stream.namespace': {
    type: 'STRING',
    default: '${topic}',
    importance: 'LOW',
    documentation: 'Namespace of the data stream; ${topic} is the topic.',
    group: streams,
  },
  'data.stream.timestamp.field': {
    type: 'LIST',
    default: [],
    importance: 'LOW',
    documentation:
      'Fields of which the first one that the record has becomes @timestamp; the time of the record where it has none of them.',
    group: streams,
  },
  'external.resource.usage': {
    type: 'STRING',
    default: 'DISABLED',
    oneOf: ['DISABLED', 'INDEX', 'DATASTREAM', 'ALIAS_INDEX', 'ALIAS_DATASTREAM'],
    ignoreCase: true,
    importance: 'LOW',
    documentation:
      'Writes to indices, data streams or aliases that are there, as topic.to.external.resource.mapping names them; nothing is made and no mapping is changed.',
    group: streams,
  },
  'topic.to.external.resource.mapping': {
    type: 'LIST',
    default: [],
    importance: 'LOW',
    documentation: 'topic:name pairs for external.resource.usage; every topic of the connector needs one.',
    group: streams,
    check: (pairs: readonly string[]) =>
      pairs.every(pair => /^[^:]+:[^:]+$/.test(pair)) ? null : 'it is no list of topic:name pairs',
  },
  'max.buffered.records': ignored('the buffer is bounded by batch.size, bulk.size.bytes and max.in.flight.requests.'),
  'flush.timeout.ms': ignored('a flush has no limit of its own; see read.timeout.ms and max.retries.'),
  'flush.synchronously': ignored('offsets are committed behind a flush in any case.'),
  'max.external.resource.mappings': ignored('there is no limit.'),
  'log.sensitive.data': ignored('values of records are never logged.'),
  'elastic.security.protocol': ignored('the URLs tell whether TLS is used.'),
  'elastic.https.ssl.truststore.password': ignored('PEM files have none.'),
  'elastic.https.ssl.truststore.type': ignored('the file must be a PEM file.'),
  'elastic.https.ssl.keystore.type': ignored('the file tells.'),
  'elastic.https.ssl.key.password': ignored('the password of the keystore is used.'),
  'elastic.https.ssl.protocol': ignored('TLS 1.2 and 1.3 are used.'),
} as const satisfies ConfigKeys;
