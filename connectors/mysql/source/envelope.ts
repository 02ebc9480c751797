/** How the parts of MySQL change events lie in a batch: which array slot holds what. */
import {
  INT32,
  INT64,
  OPTIONAL_INT64,
  OPTIONAL_STRING,
  STRING,
  type StructSchema,
} from '../../../schemas/data/index.ts';
import { sourceSchema } from '../../../schemas/envelope/debezium.ts';
import type { Layout } from '../../../schemas/transcode/layout.ts';
import { CONNECTOR_VERSION } from '../version.ts';

export const POSITION = { before: 0, after: 1, key: 2 } as const;
/** Those before `row` are of an event, which is the group of its records. */
export const LONG = {
  tsMs: 0,
  tsUs: 1,
  tsNs: 2,
  serverId: 3,
  gtidNumber: 4,
  thread: 5,
  position: 6,
  row: 7,
  totalOrder: 8,
  collectionOrder: 9,
} as const;
export const CHOICE = { op: 0, snapshot: 0 } as const;
export const CONSTANT = {
  nowMs: 0,
  nowUs: 1,
  nowNs: 2,
  file: 3,
  query: 4,
  /** In snapshots only. */
  snapshotTsMs: 4,
  snapshotTsUs: 5,
  snapshotTsNs: 6,
  snapshotPosition: 7,
  snapshotServerId: 8,
  snapshotGtid: 9,
} as const;

export const OPERATIONS = ['c', 'u', 'd', 't'] as const;
export const OPERATION = { c: 0, u: 1, d: 2, t: 3 } as const;
export const SNAPSHOT_MARKERS = [
  'true',
  'first',
  'first_in_data_collection',
  'last_in_data_collection',
  'last',
  'incremental',
] as const;
export const MARKER = {
  true: 0,
  first: 1,
  firstInCollection: 2,
  lastInCollection: 3,
  last: 4,
  incremental: 5,
} as const;

export type ConnectorName = 'mysql' | 'mariadb';

const added = [
  ['table', OPTIONAL_STRING],
  ['server_id', INT64],
  ['gtid', OPTIONAL_STRING],
  ['file', STRING],
  ['pos', INT64],
  ['row', INT32],
  ['thread', OPTIONAL_INT64],
  ['query', OPTIONAL_STRING],
] as const;
export const SOURCE_SCHEMAS: Readonly<Record<ConnectorName, StructSchema>> = {
  mysql: sourceSchema('mysql', added),
  mariadb: sourceSchema('mariadb', added),
};

const NULL: Layout = { kind: 'null' };
const constant = (value: unknown): Layout => ({ kind: 'constant', value });
const long = (slot: number): Layout => ({ kind: 'long', slot });
const ofEvent = (slot: number): Layout => ({ kind: 'long', slot, isGrouped: true });
const batch = (slot: number): Layout => ({ kind: 'batch', slot });
const fields = (...of: Layout[]): Layout => ({ kind: 'struct', fields: of });
const now = [batch(CONSTANT.nowMs), batch(CONSTANT.nowUs), batch(CONSTANT.nowNs)];

export interface EventPlace {
  readonly connector: ConnectorName;
  readonly prefix: string;
  readonly database: string;
  readonly table: string;
}

/** What differs between transactions and is part of the layout, since texts of records are made of fixed parts and numbers. */
export interface TransactionForm {
  /** null = transactions have no id. */
  readonly gtidPrefix: string | null;
  /** Whether a client's thread is known: it is not for what a DDL statement did. */
  readonly hasThread: boolean;
  /** The file in the transaction's id; null where transactions are not published, or have a GTID. */
  readonly idFile: string | null;
  readonly hasTransactions: boolean;
}

const gtidText = (prefix: string): Layout => ({
  kind: 'text',
  parts: [prefix, { slot: LONG.gtidNumber, isGrouped: true }],
});

/** The layout of streamed events around the layouts of their rows. */
export function streamLayout(place: EventPlace, before: Layout, after: Layout, form: TransactionForm): Layout {
  const { gtidPrefix } = form;
  const source = fields(
    constant(CONNECTOR_VERSION),
    constant(place.connector),
    constant(place.prefix),
    ofEvent(LONG.tsMs),
    constant('false'),
    constant(place.database),
    NULL,
    ofEvent(LONG.tsUs),
    ofEvent(LONG.tsNs),
    constant(place.table),
    ofEvent(LONG.serverId),
    gtidPrefix === null ? NULL : gtidText(gtidPrefix),
    batch(CONSTANT.file),
    ofEvent(LONG.position),
    long(LONG.row),
    form.hasThread ? ofEvent(LONG.thread) : NULL,
    batch(CONSTANT.query),
  );
  const id: Layout =
    gtidPrefix !== null
      ? gtidText(gtidPrefix)
      : { kind: 'text', parts: [`file=${form.idFile ?? ''},pos=`, { slot: LONG.gtidNumber, isGrouped: true }] };
  const transaction = form.hasTransactions ? fields(id, long(LONG.totalOrder), long(LONG.collectionOrder)) : NULL;
  const op: Layout = { kind: 'choice', slot: CHOICE.op, of: OPERATIONS.map(constant) };
  return fields(before, after, source, transaction, op, ...now);
}

/** The layout of snapshot events: all but row and marker is the batch's. */
export function snapshotLayout(place: EventPlace, after: Layout): Layout {
  const source = fields(
    constant(CONNECTOR_VERSION),
    constant(place.connector),
    constant(place.prefix),
    batch(CONSTANT.snapshotTsMs),
    { kind: 'choice', slot: CHOICE.snapshot, of: SNAPSHOT_MARKERS.map(constant) },
    constant(place.database),
    NULL,
    batch(CONSTANT.snapshotTsUs),
    batch(CONSTANT.snapshotTsNs),
    constant(place.table),
    batch(CONSTANT.snapshotServerId),
    batch(CONSTANT.snapshotGtid),
    batch(CONSTANT.file),
    batch(CONSTANT.snapshotPosition),
    constant(0),
    NULL,
    NULL,
  );
  return fields(NULL, after, source, NULL, constant('r'), ...now);
}

/** Time of processing as the three constants of a batch. */
export function processingTime(): readonly [bigint, bigint, bigint] {
  const us = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000));
  return [us / 1000n, us, us * 1000n];
}
