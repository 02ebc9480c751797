/** What a sink does where its offsets are refused within the transaction of its rows: it asks the table what is there, and the ledger what that means. */
import type { Advance, LedgerRow, OffsetLedger } from './offsetLedger.ts';

/** A partition is not this task's any more, or not where it left it. Never leaves the sink. */
export class OffsetsRefused extends Error {}

/** Of exactly-once delivery. */
export interface SinkOffsets<Connection, Store extends OffsetReader<Connection>> {
  readonly ledger: OffsetLedger;
  readonly store: Store;
}

interface OffsetReader<Connection> {
  read(connection: Connection, topics: readonly { readonly topic: string }[]): Promise<readonly LedgerRow[]>;
}

/** After a refusal: see `OffsetLedger.checkCommitted`. */
export async function checkRefused<Connection>(
  connection: Connection,
  { ledger, store }: SinkOffsets<Connection, OffsetReader<Connection>>,
  advances: readonly Advance[],
): Promise<void> {
  const held = advances.map(advance => advance.held);
  ledger.checkCommitted(await store.read(connection, held), advances);
}
