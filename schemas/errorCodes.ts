/**
 * All error codes, each with what it means and what to do. Codes are stable: they may be added, never renamed.
 * `docs/errors.md` is generated from this list.
 */
export const errorCodes = {
  DATA_INVALID: 'A value does not fit its schema. The message names the field and both.',
  CONVERTER_FAILED:
    'A record could not be converted to or from bytes. The message names topic, partition and offset. Check that the converters fit the topic; for single bad records of a sink set errors.tolerance=all and errors.deadletterqueue.topic.name.',
  REGISTRY_UNREACHABLE:
    'The schema registry did not answer. Check schema.registry.url; the task retries, no offset is lost.',
  REGISTRY_INCOMPATIBLE:
    'The registry refused a schema as incompatible with the registered versions of its subject. The message names subject, version and what differs. Change the compatibility level of the subject (PUT /config/{subject} of the registry) or write to a new topic, then restart the task: no change is lost.',
  REGISTRY_SCHEMA_UNKNOWN:
    'The registry has no schema for an id or subject. Check that the topic was written with this registry.',
  CONFIG_INVALID:
    'A configuration value is missing or invalid, or a file of them cannot be read. The message names the key or the file.',
  TRANSCODE_ROW_INVALID:
    'A row that the database sent does not fit the schema of its events. The message names the column: choose another form for its type (time.precision.mode, decimal.handling.mode and the like), or, where the row is not what its table says, report it.',
  TRANSCODE_LAYOUT_INVALID:
    'A connector described its records in a way that does not fit their schema. A defect of the connector: report it.',
  CONFIG_PROVIDER_FAILED:
    'A placeholder such as ${file:/path:key} could not be resolved. The message names the path and why.',
  TRANSFORM_FAILED:
    'A transform cannot work on a record. The message names the transform, the field and why; errors.tolerance decides what follows.',
  PLUGIN_NOT_FOUND:
    'No plugin answers to a class name in the configuration. The message lists what there is; check connector.class and plugin.path.',
  PLUGIN_MODULE_INVALID:
    'A module of plugin.path cannot be loaded, or exports no list named `plugins`, or the "millrace" key of its package.json is wrong. The message names the module and why.',
  PLUGIN_API_UNSUPPORTED:
    'A package of plugin.path was written for another version of the plugin API than this Millrace has. Install the release of the package that fits, or another Millrace.',
  PLUGIN_DUPLICATE:
    'Two modules bring a plugin of the same class. The message names both; take one of them off plugin.path.',
  OFFSET_TOPIC_INVALID:
    'The topic of source offsets is missing, or is not compacted, so that offsets would be lost. Create it with cleanup.policy=compact.',
  OFFSETS_INVALID:
    'Offsets given over REST do not fit the connector. The message says what a partition and an offset of it look like.',
  SOURCE_TOPIC_MISSING:
    'A source writes to a topic that does not exist and could not be created. Create it, or set topic.creation.default.* and the right to create topics.',
  SOURCE_TRANSACTION_FENCED:
    'With exactly-once delivery: another task took over the transactional.id of this one, or a transaction took longer than transaction.timeout.ms, so that the broker ended it. The task starts again from the last committed offset where it is still to run here. If it goes on, raise producer.override.transaction.timeout.ms (up to transaction.max.timeout.ms of the brokers), or look for a second cluster with the same group.id.',
  SOURCE_TASK_SUPERSEDED:
    'With exactly-once delivery: a task was to start that is not this worker’s any more, or whose connector has newer task configs. It starts again with them where it is to run.',
  SINK_DLQ_FAILED:
    'A failing record could not be written to the dead letter queue. Check errors.deadletterqueue.topic.name and the rights on that topic.',
  FILE_UNUSABLE:
    'A file of a file connector cannot be opened, read or written. The message names it and why; for a sink its folder must exist.',
  WORKER_THREAD_ENDED:
    'The thread that ran a task ended or stopped answering. Its tasks are started again on another thread; the trace says why it ended.',
  BROKER_UNREACHABLE:
    'No broker of the cluster answers. Check bootstrap.servers, the security settings and the network; the worker retries, no offset is lost.',
  BROKER_AUTHENTICATION_FAILED:
    'A broker refused the credentials, or does not speak the configured security.protocol. Check security.protocol, sasl.* and ssl.* of the client.',
  BROKER_CONFIG_INVALID: 'A Kafka client setting is missing or invalid. The message names the key.',
  BROKER_NOT_AUTHORIZED:
    'The user of a Kafka client may not do what a request asks for. The message names it: grant the permission (ACL), or use other credentials.',
  BROKER_REQUEST_FAILED:
    'A broker refused a request, for a reason of its own that the message gives (limits, settings of the topic).',
  BROKER_TOPIC_UNKNOWN:
    'A topic or partition does not exist. Create it, or allow its creation with topic.creation.* or auto.create.topics.enable of the broker.',
  BROKER_RECORD_TOO_LARGE:
    'A record is larger than the client, the topic or the broker allows. Raise max.request.size of the producer, max.message.bytes of the topic or message.max.bytes of the broker, as the message says.',
  BROKER_DELIVERY_TIMEOUT:
    'Records could not be delivered within delivery.timeout.ms. Look at the brokers; nothing after them was written, they will be sent again.',
  BROKER_PRODUCER_FENCED:
    'A newer producer with the same transactional.id took over, since another instance of the same task runs, or the broker has ended a transaction that ran longer than transaction.timeout.ms. The producer can write no more.',
  BROKER_OUT_OF_ORDER_SEQUENCE:
    'The broker no longer knows what this producer wrote before (data loss or removal on the broker). A new producer goes on from the last acknowledged record.',
  BROKER_CLOSED:
    'The worker, or the thread of the task, closed its connection to the broker, and something asked it for more. What was not acknowledged is sent again by the next start.',
  BROKER_PRODUCER_CLOSED: 'The producer was closed while records were still to be sent; they were not written.',
  BROKER_TRANSACTION_STATE:
    'A call that the state of the transaction does not allow. A defect of the caller: report it.',
  BROKER_CORRUPT_BATCH:
    'Bytes read from a topic are damaged. The message names topic, partition and offset; check the disks of the broker, or move the consumer past the batch.',
  BROKER_OLD_MESSAGE_FORMAT: 'A topic holds messages in a format from before Kafka 0.11, which is not read.',
  BROKER_OFFSET_OUT_OF_RANGE:
    'The position of the consumer is outside what the topic still holds and auto.offset.reset is none. Reset the offsets of the consumer, or set auto.offset.reset.',
  BROKER_GROUP_NOT_EMPTY: 'Offsets of a group can only be changed while it has no members. Stop the connector first.',
  BROKER_GROUP_MEMBER_LOST:
    'The consumer is no longer a member of its group (it was too slow, or fenced), so that the offsets were not committed. The records will come again.',
  BROKER_DATA_DIR_IN_USE:
    'Another process writes the data directory of the embedded broker. Stop it, or choose another --data-dir. The message names the process.',
  BROKER_DISK_FULL:
    'The disk of the embedded broker is full. Make room, or lower retention.ms or retention.bytes; nothing acknowledged is lost, writing goes on when there is room.',
  BROKER_READ_ONLY:
    'The embedded broker was opened for reading beside its worker. Use the REST API of the worker for what writes.',
  BROKER_STORE_FAILED:
    'The store of the embedded broker could not be opened, read or written. Check the disk and the permissions of the data directory.',
  BROKER_TOPIC_INVALID: 'A topic cannot be created as asked. The message says which name, number or config is wrong.',
  BROKER_GROUP_INCONSISTENT:
    'Other members of the group use another protocol. Choose another group id, or the same partition.assignment.strategy for all members.',
  INTERNAL_TOPIC_INVALID:
    'A topic in which the worker keeps its state is missing, not compacted, or has too many partitions. The message says what to change.',
  INTERNAL_TOPIC_WRITE_FAILED:
    'A change could not be written to the config topic and has no effect. Look at the broker, then send the request again.',
  INTERNAL_TOPIC_BEHIND:
    'The worker could not read its own topic to the end in time. It tries again; look at the broker if this goes on.',
  REQUEST_INVALID: 'A REST request has a malformed or incomplete body. The message says what is expected.',
  REQUEST_CONFLICT: 'A REST request contradicts the present state. The message says which.',
  REQUEST_FORBIDDEN: 'A REST request is not allowed by the worker configuration. The message names the key.',
  REQUEST_TIMED_OUT:
    'A REST request took longer than 90 s. The message says what the worker was doing; send it again later.',
  RESOURCE_UNKNOWN: 'A REST request names a connector, task, plugin or logger that does not exist.',
  CONNECTOR_FAILED: 'A connector could not be started or could not make its task configs. The trace tells more.',
  WORKER_STARTING: 'The worker is still reading its state. Ask again in a moment.',
  WORKER_GROUP_IN_USE:
    'Another worker on the same Kafka has the same group.id. Give this worker another group.id, or stop the other one; the message names it.',
  CLUSTER_LEADER_UNREACHABLE:
    'The worker that leads the cluster, or owns what a request is about, did not answer. Another takes over within session.timeout.ms: send the request again. If this goes on, check rest.advertised.host.name of that worker.',
  CLUSTER_REQUEST_REFUSED:
    'Another worker of the cluster refused what this one told it. The message has its answer; check that all workers have the same topics and algorithms.',
  CLUSTER_FENCING_FAILED:
    'The leader of the cluster could not make sure that no earlier task of an exactly-once source can write any more, so that the task did not start. The message says why; every worker needs exactly.once.source.support=preparing or enabled, and Kafka rights on the transactional.ids.',
  CLI_REQUEST_FAILED:
    'A worker refused what a command asked of it, or did not answer. The message has the address and the answer; check --url, --user and --ca.',
  CLI_USAGE: 'The command line is not understood. --help shows what is.',
  PG_UNREACHABLE:
    'The PostgreSQL server did not answer, or closed the connection. Check database.hostname, database.port, database.sslmode and that the server runs; the task retries, nothing is lost.',
  PG_LOGIN_REFUSED:
    'PostgreSQL refused the user. Check database.user, database.password and pg_hba.conf, which needs an entry for replication connections to the database too.',
  PG_DATABASE_MISSING: 'The database does not exist. Check database.dbname.',
  PG_VERSION_UNSUPPORTED: 'The server is older than PostgreSQL 13. Upgrade it.',
  PG_WAL_LEVEL: 'The server does not write what logical decoding needs. Set wal_level=logical and restart the server.',
  PG_REPLICATION_DENIED:
    'The user may not replicate. Run ALTER ROLE ... REPLICATION (on managed servers grant the role they name, such as rds_replication).',
  PG_SLOTS_FULL: 'No replication slot is free. Drop unused ones or raise max_replication_slots, which needs a restart.',
  PG_SENDERS_FULL: 'No WAL sender is free. Raise max_wal_senders, which needs a restart.',
  PG_SLOT_ACTIVE:
    'The replication slot is in use by another connection; the message has its process id. Give each connector its own slot.name.',
  PG_SLOT_AHEAD:
    'The replication slot has gone past the position that the connector stored, so that changes in between would be missing: the slot was dropped and created again, moved by hand, or shared by two connectors. Give each connector its own slot.name, and reset the offsets of the connector (or use snapshot.mode=when_needed) to read all rows again.',
  PG_SLOT_INVALID:
    'A slot of this name exists but cannot serve: another database, another plug-in or not logical. Choose another slot.name or drop it.',
  PG_SLOT_MISSING:
    'There is a stored position but its replication slot is gone: changes made since are lost to this connector. Reset the offsets of the connector to read all rows again (PUT /connectors/{name}/stop, DELETE /connectors/{name}/offsets, PUT /connectors/{name}/resume), or use snapshot.mode=when_needed.',
  PG_SLOT_LOST:
    'The server removed WAL that the replication slot needs. Raise max_slot_wal_keep_size (or idle_replication_slot_timeout), drop the slot and reset the offsets of the connector as for PG_SLOT_MISSING, or use snapshot.mode=when_needed.',
  PG_PUBLICATION_MISSING:
    'The publication does not exist and may not be created: create it, or set publication.autocreate.mode to all_tables or filtered. Or changes were made while it did not exist, which the server never sends: create it, then stop the connector, drop the slot and reset the offsets to read all rows again.',
  PG_PUBLICATION_DENIED:
    'The publication could not be created. FOR ALL TABLES needs a superuser, others need CREATE on the database and ownership of the tables.',
  PG_PUBLICATION_INCOMPLETE:
    'The publication leaves out captured tables. Add them with ALTER PUBLICATION ... ADD TABLE, or leave them out of table.include.list.',
  PG_SIGNAL_TABLE_MISSING:
    'The table of signal.data.collection does not exist. Create it with columns id, type and data, or remove the option.',
  PG_TABLES_MISSING: 'The filters match no table. Check schema and table include and exclude lists.',
  PG_TABLE_DENIED: 'The user may not read a captured table. Run GRANT SELECT (and USAGE on its schema).',
  PG_KEY_INVALID: 'A column of message.key.columns does not exist in its table.',
  PG_MASK_INVALID:
    'A column.mask option matches a column whose values are not texts. Leave the column out with column.exclude.list, or correct the option.',
  PG_OFFSET_INVALID: 'The stored or given offset is not a PostgreSQL position. Reset the offsets of the connector.',
  PG_SNAPSHOT_FAILED:
    'The snapshot could not read a table. The message is the one of the server; the snapshot starts over.',
  PG_SPILL_FAILED:
    'An open transaction could not be kept in a temporary file. Make room, set TMPDIR to another folder, or set streaming.mode=off.',
  PG_STREAM_FAILED: 'The server ended the replication stream with an error. The message is the one of the server.',
  PG_STATEMENT_REFUSED:
    'PostgreSQL refused a statement of the source. The message is the one of the server: mostly a missing right or a setting.',
  PG_PROTOCOL_INVALID: 'The server sent what this connector does not understand. Report it with the position.',
  MYSQL_UNREACHABLE:
    'The MySQL or MariaDB server did not answer, or closed the connection. Check database.hostname, database.port, database.ssl.mode and that the server runs; the task retries, nothing is lost.',
  MYSQL_TLS_FAILED:
    'No TLS connection to the MySQL server could be made. Check database.ssl.mode and the PEM files of database.ssl.ca, database.ssl.cert and database.ssl.key.',
  MYSQL_LOGIN_REFUSED:
    'MySQL refused the user. Check database.user, database.password and the host that the user may come from.',
  MYSQL_VERSION_UNSUPPORTED:
    'The server is older than MySQL 8.0 or MariaDB 10.6, or is the other one of the two. Upgrade it, or use the class of the connector that fits.',
  MYSQL_RIGHTS_MISSING:
    'The user lacks a right. Grant REPLICATION SLAVE, REPLICATION CLIENT and SELECT on the captured tables, and RELOAD for snapshot.locking.mode=minimal; the message names what is missing.',
  MYSQL_SETTING_INVALID:
    'A setting of the server makes change data capture impossible. The message has the setting and the value that it needs, such as log_bin=ON, binlog_format=ROW, binlog_row_image=FULL, binlog_row_metadata=FULL.',
  MYSQL_KEY_INVALID: 'A column of message.key.columns does not exist in its table.',
  MYSQL_MASK_INVALID:
    'A column.mask option matches a column whose values are not texts. Leave the column out with column.exclude.list, or correct the option.',
  MYSQL_COLUMN_UNSUPPORTED:
    'A column has a type or a character set that is not read. Leave it out with column.exclude.list; the message names column and type.',
  MYSQL_ROW_IMAGE:
    'A change was logged without all of its columns. Set binlog_row_image=FULL on the server, in the sessions that write too, then reset the offsets of the connector, or set its position behind the change.',
  MYSQL_ROW_METADATA:
    'A change was logged without the names of its columns. Set binlog_row_metadata=FULL on the server; changes from before need a new snapshot: reset the offsets of the connector.',
  MYSQL_SCHEMA_HISTORY:
    'The topic of schema.history.internal.kafka.topic lacks the history that the log needs. Set binlog_row_metadata=FULL, or take a new snapshot, and keep the topic for ever.',
  MYSQL_DDL_UNSUPPORTED:
    'A statement that defines tables could not be read, and the log does not name columns. Set binlog_row_metadata=FULL.',
  MYSQL_LOG_PURGED:
    'The server removed the log that the stored position needs. Raise binlog_expire_logs_seconds, then reset the offsets of the connector to read all rows again (PUT /connectors/{name}/stop, DELETE /connectors/{name}/offsets, PUT /connectors/{name}/resume), or use snapshot.mode=when_needed.',
  MYSQL_SIGNAL_TABLE_MISSING:
    'The table of signal.data.collection (database.table) does not exist, or the user may not read it. Create it with columns id, type and data, or remove the option.',
  MYSQL_SERVER_ID_TAKEN:
    'Another replica of the server has the same id. Give each connector its own database.server.id.',
  MYSQL_OFFSET_INVALID:
    'The stored or given offset is not a position in a binary log. Reset the offsets of the connector.',
  MYSQL_SNAPSHOT_FAILED:
    'The snapshot could not read a table. The message is the one of the server; the snapshot starts over.',
  MYSQL_STREAM_FAILED: 'The server ended the stream of its log with an error. The message is the one of the server.',
  MYSQL_STATEMENT_REFUSED:
    'MySQL refused a statement of the source. The message is the one of the server: mostly a missing right or a setting.',
  MYSQL_EVENT_UNSUPPORTED:
    'The log has an event with changes that is not read. The message names it and the setting of the server that causes it.',
  MYSQL_EVENT_DAMAGED:
    'An event of the log does not have its checksum, or is malformed. The message names file and position; compare with mysqlbinlog on the server and report it.',
  FB_SEGMENT_INVALID:
    'A file of the Firebird journal is damaged or is not a journal segment. The message names the file and the byte. Restore it from the archive; the task goes on from its last offset when it is restarted.',
  FB_SEGMENT_UNSUPPORTED:
    'A segment of the Firebird journal has a version, protocol or operation that this release does not know; Firebird 4 and 5 write version 1 and protocol 1.',
  FB_SEGMENT_MISSING:
    'A segment of the Firebird journal is needed and is not in journal.source.dir while later ones are, or while a transaction began in it. Nothing is skipped: put the file back, or reset the offsets of the connector to take a new snapshot.',
  FB_LAYOUT_UNKNOWN:
    'A record of the Firebird journal fits no known layout of its table: metadata are missing or belong to another database. The message names table, length and transaction. Check the metadata file, or reset the offsets of the connector to take a new snapshot.',
  FB_METADATA_INVALID:
    'A file of Firebird metadata (--metadata, schema.history.file) cannot be read. The message tells what is wrong with it.',
  FB_VALUE_INVALID:
    'A value in a record of the Firebird journal or of a query has no form in events, such as text in a character set that is not supported. The message names table and column.',
  FB_UNREACHABLE: 'The Firebird server does not answer. Check database.hostname and database.port.',
  FB_LOGIN_FAILED:
    'The Firebird server refused the login or the database. Check database.user, database.password and database.dbname.',
  FB_STATEMENT_REFUSED: 'Firebird refused a statement. The message is the one of the server: mostly a missing right.',
  FB_DIRECTORY_UNUSABLE:
    'A directory or file of the Firebird connector cannot be read or written. The message names it and why.',
  FB_PUBLICATION_DISABLED:
    'The database has no publication, so that its changes are not journalled. Run ALTER DATABASE ENABLE PUBLICATION and ALTER DATABASE INCLUDE ALL TO PUBLICATION, and set up replication.conf.',
  FB_OFFSET_INVALID:
    'The stored or given offset is not a position in a Firebird journal. Reset the offsets of the connector.',
  FB_COMMIT_UNDECIDED:
    'The Firebird journal has the COMMIT of a transaction that the database has not committed: it is in limbo, or the database was restored to an earlier state. Nothing behind it is published. End a transaction in limbo with gfix; after a restore reset the offsets of the connector.',
  TASK_FAILED: 'A task ended by an error that has no code of its own. The trace tells more.',
  SINK_TABLE_NAME:
    'A topic and table.name.format (or topics.to.tables.mapping) give no table name for a record. Change the format, or use a topic whose records have the fields that it names.',
  SINK_TABLE_MISSING:
    'The target table does not exist. Create it, correct table.name.format, or set auto.create=true; the message names the table.',
  SINK_COLUMN_MISSING:
    'A field has no column in the target table. Add the column, leave the field out with field.exclude.list, or set auto.evolve=true.',
  SINK_FIELDS_COLLIDE:
    'Two fields of a record would take the same place in the target: columns whose names differ only by case, or a field that is renamed to the name of another one. Nothing of the record is written. Rename or drop one with a transform, leave it out with field.exclude.list, correct the renaming, or create a column of its exact name where the target allows it.',
  SINK_COLUMN_REQUIRED:
    'A column of the target is NOT NULL without default and the records do not have it, or a new field that may not be null cannot be added to a table that has rows. Give the column a default.',
  SINK_TYPE_MISMATCH:
    'Values of a field can never be written to its column. Change the type of the column or leave the field out with field.exclude.list; the message names both types.',
  SINK_KEY_INDEX_MISSING:
    'insert.mode=upsert or update needs a primary key or unique index on exactly the key columns. Create one, or correct pk.mode and pk.fields; the message names table and columns.',
  SINK_KEY_MISSING:
    'A record has no key where pk.mode takes it from, or a null in it. Correct pk.mode and pk.fields, or the producer. For tables without key: pk.mode=none with insert.mode=insert, or message.key.columns of the source.',
  SINK_NULL_VALUE:
    'A record with a null value, or a delete event, came while deletes are not enabled. Set delete.enabled=true (with pk.mode=record_key; MongoDB: delete.on.null.values=true; Elasticsearch: behavior.on.null.values=delete), or filter such records out.',
  SINK_VALUE_UNUSABLE:
    'The value of a record is neither a struct nor a JSON object, so that it has no fields to write. Check value.converter.',
  SINK_VALUE_UNAVAILABLE:
    'A new row carries the placeholder __debezium_unavailable_value (unavailable.value.placeholder) instead of a value that its source did not send: mostly a key change of a row with an unchanged large value. Set REPLICA IDENTITY FULL on the table at the source, or use a source that reads such values again; flattened records need add.fields=op. Nothing of the record is written; errors.tolerance=all sends it to a dead letter queue.',
  SINK_VALUE_UNFIT:
    'A value does not fit its column: out of range, too many digits, not of that form. Values are never cut. Change the column, or send the record to a dead letter queue with errors.tolerance=all.',
  SINK_SCHEMA_NEEDED:
    'A table cannot be created or changed from records without schema. Create the table by hand, or use a converter that carries schemas.',
  SINK_RECORD_REJECTED:
    'The target refused a single record: a constraint, a trigger, a value that does not fit. The message has the database’s reason. Correct it, or send such records to a dead letter queue with errors.tolerance=all.',
  SINK_UNAVAILABLE:
    'The target could not be reached, or did not take a write for now, and max.retries is used up. Nothing is lost: the task goes on from its last committed offset when it is restarted.',
  SINK_PRIVILEGE:
    'The user of the sink lacks a right on the target. Grant it (for auto.create and auto.evolve: CREATE on the schema, or ownership of the table); the message names the right or statement, and the table.',
  SINK_LOGIN_FAILED:
    'The target refused the login. Check connection.url (MongoDB: connection.uri), connection.user and connection.password.',
  SINK_DDL_FAILED:
    'A table could not be created or changed as auto.create or auto.evolve ask. The message has the statement and the database’s reason.',
  SINK_WRITE_FAILED:
    'The target refused a write for a reason that lies neither in a record nor in the connection, such as a table that was changed meanwhile. Restart the task; it reads the table anew.',
  SINK_FENCED:
    'With delivery.guarantee=exactly-once another task has taken over a partition, or its offset in the target was changed meanwhile. Nothing was written. The task starts again by itself from what is stored; if it goes on, two connectors of the same name write to one target: rename one, or give it another exactly.once.offsets.table.',
  SINK_SEEK_LOST:
    'A sink keeps its offsets in its target and went to one that the topic does not have: the topic was deleted and made again, or lost records. Stop the connector and reset its offsets (DELETE /connectors/{name}/offsets) to read the topic from its beginning.',
  SINK_COLUMN_RENAMED:
    'With auto.evolve: a field with a default came where a column of the same type went. Whether it was renamed, so that rows keep their values, or added, so that they take the default, the records do not tell. Make the change in the target by the statement in the message that is right, and restart the task.',
  SINK_INDEX_MISSING:
    'An index, alias or data stream of the target is not there and is not the sink’s to make, went away meanwhile, or is not named for a topic. Create it (for a data stream its index template), correct the configuration, or restart the task, which makes indices anew.',
  SINK_INDEX_FAILED:
    'An index, or the mapping of its fields, could not be made. The message has the target’s reason: a name that is no index name, too many fields, a type that the target does not have. Make it by hand, or set schema.ignore=true.',
  SINK_DOCUMENT_ID:
    'The key of a record cannot be the id of a document: it is longer than the target takes (512 bytes), or empty. Take another key, or set key.ignore=true; errors.tolerance=all sends such records to a dead letter queue.',
  SINK_VERSION_MISSING:
    'A record has no version where external.version.header or document.version takes it from. Correct the producer, or take versions from elsewhere.',
  SINK_VERSION_CONFLICT:
    'With behavior.on.version.conflict=fail or report: the target has a newer version of a document than the record has, or another document of the same version. The topic was made anew, or its keys come from several partitions; see external.version.header and document.version.',
} as const;

export type ErrorCode = keyof typeof errorCodes;
