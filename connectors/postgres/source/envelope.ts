/**
 * How the parts of PostgreSQL change events lie in a batch: which array slot holds what. Everything but the rows themselves is either constant, one value a batch, or an integer a record.
 */
import { OPTIONAL_INT64, OPTIONAL_STRING, STRING } from '../../../schemas/data/index.ts';
import { sourceSchema } from '../../../schemas/envelope/debezium.ts';
import type { Layout } from '../../../schemas/transcode/layout.ts';
import { CONNECTOR_NAME, CONNECTOR_VERSION } from '../version.ts';

export const POSITION = { before: 0, after: 1, key: 2 } as const;
export const LONG = {
  tsMs: 0,
  tsUs: 1,
  tsNs: 2,
  txId: 3,
  lsn: 4,
  lastCommit: 5,
  totalOrder: 6,
  collectionOrder: 7,
} as const;
export const CHOICE = { op: 0, sequence: 1, snapshot: 0 } as const;
export const CONSTANT = {
  nowMs: 0,
  nowUs: 1,
  nowNs: 2,
  origin: 3,
  originLsn: 4,
  /** In snapshots only. */
  snapshotTsMs: 3,
  snapshotTsUs: 4,
  snapshotTsNs: 5,
  snapshotTxId: 6,
  snapshotLsn: 7,
  snapshotSequence: 8,
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

export const SOURCE_SCHEMA = sourceSchema(CONNECTOR_NAME, [
  ['schema', STRING],
  ['table', STRING],
  ['txId', OPTIONAL_INT64],
  ['lsn', OPTIONAL_INT64],
  ['xmin', OPTIONAL_INT64],
  ['origin', OPTIONAL_STRING],
  ['origin_lsn', OPTIONAL_INT64],
]);

const NULL: Layout = { kind: 'null' };
const constant = (value: unknown): Layout => ({ kind: 'constant', value });
const long = (slot: number): Layout => ({ kind: 'long', slot });
const batch = (slot: number): Layout => ({ kind: 'batch', slot });
const fields = (...of: Layout[]): Layout => ({ kind: 'struct', fields: of });
const now = [batch(CONSTANT.nowMs), batch(CONSTANT.nowUs), batch(CONSTANT.nowNs)];

export interface EventPlace {
  readonly prefix: string;
  readonly database: string;
  readonly schema: string;
  readonly table: string;
}

/** The layout of streamed events around the layouts of their rows. `null` for rows of a table whose events carry none, such as truncates. */
export function streamLayout(place: EventPlace, before: Layout, after: Layout, hasTransactions: boolean): Layout {
  const sequence: Layout = {
    kind: 'choice',
    slot: CHOICE.sequence,
    of: [
      { kind: 'text', parts: ['[null,"', { slot: LONG.lsn }, '"]'] },
      { kind: 'text', parts: ['["', { slot: LONG.lastCommit }, '","', { slot: LONG.lsn }, '"]'] },
    ],
  };
  const source = fields(
    constant(CONNECTOR_VERSION),
    constant(CONNECTOR_NAME),
    constant(place.prefix),
    long(LONG.tsMs),
    constant('false'),
    constant(place.database),
    sequence,
    long(LONG.tsUs),
    long(LONG.tsNs),
    constant(place.schema),
    constant(place.table),
    long(LONG.txId),
    long(LONG.lsn),
    NULL,
    batch(CONSTANT.origin),
    batch(CONSTANT.originLsn),
  );
  const transaction = hasTransactions
    ? fields(
        { kind: 'text', parts: [{ slot: LONG.txId }, ':', { slot: LONG.lsn }] },
        long(LONG.totalOrder),
        long(LONG.collectionOrder),
      )
    : NULL;
  const op: Layout = { kind: 'choice', slot: CHOICE.op, of: OPERATIONS.map(constant) };
  return fields(before, after, source, transaction, op, ...now);
}

/** The layout of snapshot events: all but row and marker is the batch's. */
export function snapshotLayout(place: EventPlace, after: Layout): Layout {
  const source = fields(
    constant(CONNECTOR_VERSION),
    constant(CONNECTOR_NAME),
    constant(place.prefix),
    batch(CONSTANT.snapshotTsMs),
    { kind: 'choice', slot: CHOICE.snapshot, of: SNAPSHOT_MARKERS.map(constant) },
    constant(place.database),
    batch(CONSTANT.snapshotSequence),
    batch(CONSTANT.snapshotTsUs),
    batch(CONSTANT.snapshotTsNs),
    constant(place.schema),
    constant(place.table),
    batch(CONSTANT.snapshotTxId),
    batch(CONSTANT.snapshotLsn),
    NULL,
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
