/**
 * Schemas of Debezium's change events: names, versions, fields and their order, as its consumers and their registries know them.
 * Names are built from the topic's name as given: adjusting names is the caller's.
 */
import {
  array,
  INT64,
  map,
  OPTIONAL_INT64,
  OPTIONAL_STRING,
  optional,
  primitive,
  type Schema,
  STRING,
  type StructSchema,
  struct,
} from '../data/index.ts';

export type NamedSchema = readonly [name: string, schema: Schema];

/** What `op` can be: read, create, update, delete, truncate, logical message. */
export type Operation = 'r' | 'c' | 'u' | 'd' | 't' | 'm';

/** What `source.snapshot` can be, in Debezium's order. */
export const SNAPSHOT_VALUES = [
  'true',
  'first',
  'first_in_data_collection',
  'last_in_data_collection',
  'last',
  'false',
  'incremental',
] as const;
export type SnapshotValue = (typeof SNAPSHOT_VALUES)[number];

/** A STRING of the named values: how Debezium marks enumerations. */
export const enumSchema = (
  allowed: readonly string[],
  options: { optional?: boolean; defaultValue?: string } = {},
): Schema =>
  primitive('STRING', {
    ...options,
    name: 'io.debezium.data.Enum',
    version: 1,
    parameters: { allowed: allowed.join(',') },
  });

/** The event's key: the columns of the primary key, in key order. */
export const keySchema = (topic: string, columns: readonly NamedSchema[]): StructSchema =>
  struct(columns, { name: `${topic}.Key` });

/** A row, the type of `before` and `after`. */
export const rowSchema = (topic: string, columns: readonly NamedSchema[]): StructSchema =>
  struct(columns, { name: `${topic}.Value` });

/** Where a change comes from: the part that all connectors have, then what `connector` (postgresql, mysql, …) adds. */
export const sourceSchema = (connector: string, added: readonly NamedSchema[]): StructSchema =>
  struct(
    [
      ['version', STRING],
      ['connector', STRING],
      ['name', STRING],
      ['ts_ms', INT64],
      ['snapshot', enumSchema(SNAPSHOT_VALUES, { optional: true, defaultValue: 'false' })],
      ['db', STRING],
      ['sequence', OPTIONAL_STRING],
      ['ts_us', OPTIONAL_INT64],
      ['ts_ns', OPTIONAL_INT64],
      ...added,
    ],
    { name: `io.debezium.connector.${connector}.Source`, version: 1 },
  );

/** `transaction` of an event: its transaction's id, and its place among all changes and among those of its table. */
export const transactionBlock: StructSchema = struct(
  [
    ['id', STRING],
    ['total_order', INT64],
    ['data_collection_order', INT64],
  ],
  { name: 'event.block', version: 1 },
);

/** A change event of a table. */
export function envelopeSchema(topic: string, row: StructSchema, source: StructSchema): StructSchema {
  const state = optional(row);
  return struct(
    [
      ['before', state],
      ['after', state],
      ['source', source],
      ['transaction', optional(transactionBlock)],
      ['op', STRING],
      ['ts_ms', OPTIONAL_INT64],
      ['ts_us', OPTIONAL_INT64],
      ['ts_ns', OPTIONAL_INT64],
    ],
    { name: `${topic}.Envelope`, version: 2 },
  );
}

/** Index of each of the envelope's fields. */
export const EnvelopeField = {
  before: 0,
  after: 1,
  source: 2,
  transaction: 3,
  op: 4,
  tsMs: 5,
  tsUs: 6,
  tsNs: 7,
} as const;

const common = (name: string, fields: readonly NamedSchema[]): StructSchema =>
  struct(fields, { name: `io.debezium.connector.common.${name}`, version: 1 });

/** Heartbeat topic. */
export const heartbeatKey: StructSchema = common('ServerNameKey', [['serverName', STRING]]);
export const heartbeatValue: StructSchema = common('Heartbeat', [['ts_ms', INT64]]);

/** Notification topic. */
export const notificationKey: StructSchema = common('NotificationKey', [['id', STRING]]);
export const notificationValue: StructSchema = common('Notification', [
  ['id', STRING],
  ['type', STRING],
  ['aggregate_type', STRING],
  ['additional_data', map(STRING, STRING, { optional: true })],
  ['timestamp', INT64],
]);

/** Transaction topic: one record where a transaction begins, one with its counts where it ends. */
export const transactionKey: StructSchema = common('TransactionMetadataKey', [['id', STRING]]);
export const transactionCollection: StructSchema = struct(
  [
    ['data_collection', STRING],
    ['event_count', INT64],
  ],
  { name: 'event.collection', version: 1, optional: true },
);
export const transactionValue: StructSchema = common('TransactionMetadataValue', [
  ['status', STRING],
  ['id', STRING],
  ['event_count', OPTIONAL_INT64],
  ['data_collections', array(transactionCollection, { optional: true })],
  ['ts_ms', INT64],
]);
