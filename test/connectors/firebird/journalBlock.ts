import type { JournalBlock } from '../../../connectors/firebird/journal/segmentFile.ts';

/** A block in the middle of a transaction, with the given operations. */
export const blockOf = (transaction: number, operations: Buffer): JournalBlock => ({
  transaction,
  isFirst: false,
  isLast: false,
  length: operations.length,
  position: 48,
  nextPosition: 64 + operations.length,
  bytes: operations,
  start: 0,
  end: operations.length,
  where: 'a block',
});
