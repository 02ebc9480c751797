/** How the parts of Firebird change events lie in a batch: which array slot holds what. */
import { OPTIONAL_INT64, STRING } from '../../../schemas/data/index.ts';
import { sourceSchema } from '../../../schemas/envelope/debezium.ts';
import type { Layout } from '../../../schemas/transcode/layout.ts';
import { CONNECTOR_NAME, CONNECTOR_VERSION } from '../version.ts';

export const POSITION = { before: 0, after: 1, key: 2 } as const;
export const LONG = {
  tsMs: 0,
  tsUs: 1,
  tsNs: 2,
  txId: 3,
  segment: 4,
  offset: 5,
  totalOrder: 6,
  collectionOrder: 7,
} as const;
export const LONGS = 8;
export const CHOICE = { op: 0, snapshot: 1 } as const;
const CONSTANT = { nowMs: 0, nowUs: 1, nowNs: 2 } as const;

const OPERATIONS = ['c', 'u', 'd', 'r'] as const;
export const OPERATION = { c: 0, u: 1, d: 2, r: 3 } as const;
const SNAPSHOT_MARKERS = ['false', 'true'] as const;
export const MARKER = { false: 0, true: 1 } as const;

/** `segment` and `pos` are where the transaction's end lies in the journal; null in snapshots. */
export const SOURCE_SCHEMA = sourceSchema(CONNECTOR_NAME, [
  ['table', STRING],
  ['txId', OPTIONAL_INT64],
  ['segment', OPTIONAL_INT64],
  ['pos', OPTIONAL_INT64],
]);

const constant = (value: unknown): Layout => ({ kind: 'constant', value });
const long = (slot: number): Layout => ({ kind: 'long', slot });
const batch = (slot: number): Layout => ({ kind: 'batch', slot });

/** Its id is the transaction's number. */
const TRANSACTION: Layout = {
  kind: 'struct',
  fields: [{ kind: 'text', parts: [{ slot: LONG.txId }] }, long(LONG.totalOrder), long(LONG.collectionOrder)],
};

export interface EventPlace {
  readonly prefix: string;
  readonly database: string;
  readonly table: string;
  /** Whether events of the stream tell their place in their transaction. */
  readonly hasTransactions: boolean;
}

export function eventLayout(place: EventPlace, before: Layout, after: Layout): Layout {
  const { prefix, database, table } = place;
  const source: Layout = {
    kind: 'struct',
    fields: [
      constant(CONNECTOR_VERSION),
      constant(CONNECTOR_NAME),
      constant(prefix),
      long(LONG.tsMs),
      { kind: 'choice', slot: CHOICE.snapshot, of: SNAPSHOT_MARKERS.map(constant) },
      constant(database),
      { kind: 'null' },
      long(LONG.tsUs),
      long(LONG.tsNs),
      constant(table),
      long(LONG.txId),
      long(LONG.segment),
      long(LONG.offset),
    ],
  };
  const op: Layout = { kind: 'choice', slot: CHOICE.op, of: OPERATIONS.map(constant) };
  const now = [batch(CONSTANT.nowMs), batch(CONSTANT.nowUs), batch(CONSTANT.nowNs)];
  const transaction: Layout = place.hasTransactions
    ? { kind: 'choice', slot: CHOICE.snapshot, of: [TRANSACTION, { kind: 'null' }] }
    : { kind: 'null' };
  return { kind: 'struct', fields: [before, after, source, transaction, op, ...now] };
}
