/**
 * A transaction of the journal while it is open: where its blocks lie, and what of it its savepoints have undone. Its contents stay on disk, but for
 * those of small recent blocks, so that memory does not grow with transactions.
 */
import { statementText } from '../journal/characterSets.ts';
import { type ControlCode, Operation, type OperationVisitor, readOperations } from '../journal/readOperations.ts';
import type { JournalBlock } from '../journal/segmentFile.ts';
import type { RecordPlace } from '../journal/tableHistory.ts';
import type { BlockCache } from './blockCache.ts';

export interface BlockRef extends RecordPlace {
  readonly sequence: number;
  /** Of its operations in the file. */
  readonly position: number;
  readonly length: number;
  readonly where: string;
  /** Null = to be read again. */
  bytes: Buffer | null;
}

/** Operations [from, to) of the transaction, counted over all its blocks, that were rolled back to a savepoint. */
export interface Undone {
  readonly from: number;
  to: number;
}

export type Outcome = 'open' | 'committed' | 'rolled back';

export class OpenTransaction {
  readonly number: number;
  /** Of the segment it began in. */
  readonly sequence: number;
  readonly blocks: BlockRef[] = [];
  readonly undone: Undone[] = [];
  /** Statements of DDL. */
  readonly statements: string[] = [];
  /** Whether a record has a layout that was not known when its block was read. */
  hasUnknownLayout = false;
  /** A crash of the server was read of since its last block, which it has lived through or not. */
  isDoubted = false;
  /** Whether its first block was read. */
  readonly isWhole: boolean;
  #operations = 0;
  /** Where each open savepoint began. */
  readonly #savepoints: number[] = [];

  constructor(number: number, sequence: number, isWhole: boolean) {
    this.number = number;
    this.sequence = sequence;
    this.isWhole = isWhole;
  }

  /** Takes in a block: checks all of it, and tells what became of the transaction. */
  add(block: JournalBlock, sequence: number, place: RecordPlace, cache: BlockCache | null): Outcome {
    const { tables, isAltering } = place;
    this.isDoubted = false;
    let ending: ControlCode | null = null;
    let [lastTable, lastLength] = ['', -1];
    const count = (table: string, start: number, end: number): void => {
      this.#operations++;
      if (lastTable === table && lastLength === end - start) return;
      [lastTable, lastLength] = [table, end - start];
      if (!tables.get(table)?.layouts(end - start).length) this.hasUnknownLayout = true;
    };
    const visitor: OperationVisitor = {
      control: code => {
        switch (code) {
          case Operation.startSavepoint:
            this.#savepoints.push(this.#operations);
            break;
          case Operation.releaseSavepoint:
            this.#savepoints.pop();
            break;
          case Operation.rollbackSavepoint:
            this.#undo(this.#savepoints.pop());
            break;
          case Operation.commit:
          case Operation.rollback:
          case Operation.cleanup:
            ending = code;
            break;
          default:
        }
      },
      insert: count,
      update: (table, oldStart, oldEnd, start, end) => {
        count(table, start, end);
        if (oldEnd - oldStart !== end - start && !tables.get(table)?.layouts(oldEnd - oldStart).length)
          this.hasUnknownLayout = true;
      },
      delete: count,
      blobBegin: () => {},
      blobChunk: () => {},
      blobEnd: () => {},
      sql: (_user, charset, start, end) => {
        this.#operations++;
        this.statements.push(statementText(charset, block.bytes, start, end));
      },
      sequence: () => {},
    };
    readOperations(block.bytes, block.start, block.end, block.where, visitor);
    const ref: BlockRef = {
      sequence,
      position: block.nextPosition - (block.end - block.start),
      length: block.end - block.start,
      tables,
      isAltering,
      where: block.where,
      bytes: null,
    };
    cache?.keep(block, ref);
    this.blocks.push(ref);
    if (!block.isLast) return 'open';
    return ending === Operation.commit ? 'committed' : 'rolled back';
  }

  /** A pop of an empty stack undoes nothing: its push was never journalled, and neither was anything before. */
  #undo(from: number | undefined): void {
    if (from === undefined || from === this.#operations) return;
    while (this.undone.length > 0 && this.undone.at(-1)!.from >= from) this.undone.pop();
    const last = this.undone.at(-1);
    if (last !== undefined && last.to >= from) last.to = this.#operations;
    else this.undone.push({ from, to: this.#operations });
  }
}
