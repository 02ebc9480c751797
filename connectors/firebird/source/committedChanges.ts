/** Publishes a committed transaction: its blocks again, from memory or disk, without what its savepoints undid, as records of table batches. */
import { type FileHandle, open } from 'node:fs/promises';
import { ConnectError } from '../../../schemas/errors.ts';
import type { TransactionEvents } from '../../shared/transactionEvents.ts';
import type { SourceSettings } from '../config.ts';
import { blobIdText } from '../journal/columnValue.ts';
import { layoutOf } from '../journal/layoutOf.ts';
import { type OperationVisitor, readOperations } from '../journal/readOperations.ts';
import { MARKER, OPERATION } from './envelope.ts';
import type { BlockRef, OpenTransaction } from './openTransaction.ts';
import type { RowBuffer } from './rowBuffer.ts';
import { RowWriter } from './rowWriter.ts';
import type { TableBatch, TableBatches, TransactionStamp } from './tableBatch.ts';
import type { TableVersion, TableVersions } from './tableVersion.ts';

const NEW_KEY = '__debezium.newkey';
const OLD_KEY = '__debezium.oldkey';
const NO_BLOBS: ReadonlyMap<string, readonly Buffer[]> = new Map();

export interface ChangeSink {
  readonly rows: RowBuffer;
  readonly batches: TableBatches;
  readonly versions: TableVersions;
  /** null = transactions are not published. */
  readonly transactions: TransactionEvents | null;
}

export class CommittedChanges {
  readonly #sink: ChangeSink;
  readonly #settings: SourceSettings;
  readonly #writer: RowWriter;
  readonly #pathOf: (sequence: number) => Promise<string>;
  readonly #skips: { readonly c: boolean; readonly u: boolean; readonly d: boolean };
  #file: { readonly sequence: number; readonly handle: FileHandle } | null = null;

  constructor(sink: ChangeSink, settings: SourceSettings, pathOf: (sequence: number) => Promise<string>) {
    this.#sink = sink;
    this.#settings = settings;
    this.#writer = new RowWriter(sink.rows, settings.placeholder, settings.dumpsBlobs);
    this.#pathOf = pathOf;
    const skipped = settings.skippedOperations;
    this.#skips = { c: skipped.has('c'), u: skipped.has('u'), d: skipped.has('d') };
  }

  /** Yields between blocks. */
  async *publish(transaction: OpenTransaction, stamp: TransactionStamp): AsyncGenerator<void> {
    const state = new TransactionState(transaction);
    const { transactions } = this.#sink;
    transactions?.begin(String(transaction.number));
    for (const [i, block] of transaction.blocks.entries()) {
      if (i > 0) yield;
      const bytes = block.bytes ?? (await this.#read(block));
      readOperations(bytes, 0, bytes.length, block.where, this.#visitor(bytes, block, state, stamp));
    }
    transactions?.end();
  }

  /** A record of a change; returns its index. */
  #add(batch: TableBatch, op: number, before: number, after: number, size: number, stamp: TransactionStamp): number {
    const key = after === -1 ? before : after;
    const index = batch.add(op, before, after, key, size, stamp, MARKER.false, false);
    this.#sink.transactions?.count(batch, index, stamp.tsMs);
    return index;
  }

  #visitor(bytes: Buffer, block: BlockRef, state: TransactionState, stamp: TransactionStamp): OperationVisitor {
    const { rows, batches, versions } = this.#sink;
    const { number } = state.transaction;
    const versionOf = (table: string, start: number, end: number): TableVersion | null => {
      if (state.isUndone() || !versions.includes(table)) return null;
      return versions.of(layoutOf(block, table, bytes, start, end, number));
    };
    const nothing = (): void => {};
    return {
      control: nothing,
      insert: (table, start, end) => {
        const version = versionOf(table, start, end);
        if (version !== null && !this.#skips.c) {
          const from = rows.length;
          const after = this.#writer.write(version, bytes, start, state.blobs, false);
          this.#add(batches.of(version, false), OPERATION.c, -1, after, rows.length - from, stamp);
        }
        state.endRecord();
      },
      update: (table, oldStart, oldEnd, start, end) => {
        const version = versionOf(table, start, end);
        if (version !== null && !this.#skips.u) {
          const oldVersion = versions.of(layoutOf(block, table, bytes, oldStart, oldEnd, number));
          const from = rows.length;
          const before = this.#writer.write(oldVersion, bytes, oldStart, state.blobs, true);
          const after = this.#writer.write(version, bytes, start, state.blobs, false);
          const size = rows.length - from;
          if (oldVersion === version && isSameKey(version, bytes, oldStart, start)) {
            this.#add(batches.of(version, false), OPERATION.u, before, after, size, stamp);
          } else this.#changeKey(version, oldVersion, before, after, size, stamp);
        }
        state.endRecord();
      },
      delete: (table, start, end) => {
        const version = versionOf(table, start, end);
        if (version !== null && !this.#skips.d) {
          const from = rows.length;
          const before = this.#writer.write(version, bytes, start, NO_BLOBS, true);
          this.#add(batches.of(version, false), OPERATION.d, before, -1, rows.length - from, stamp);
          this.#tombstone(version, before, stamp, false);
        }
        state.endRecord();
      },
      blobBegin: (high, low) => state.beginBlob(blobIdText(high, low)),
      blobChunk: (start, end) => state.addChunk(bytes.subarray(start, end)),
      blobEnd: nothing,
      sql: () => {
        state.isUndone();
      },
      sequence: nothing,
    };
  }

  #tombstone(version: TableVersion, before: number, stamp: TransactionStamp, hasKeyChange: boolean): void {
    if (!this.#settings.hasTombstones || version.keyLayout === null) return;
    this.#sink.batches.of(version, hasKeyChange).add(OPERATION.d, -1, -1, before, 0, stamp, MARKER.false, true);
  }

  /** A change of key is a delete and a create that name each other's key. */
  #changeKey(
    version: TableVersion,
    oldVersion: TableVersion,
    before: number,
    after: number,
    size: number,
    stamp: TransactionStamp,
  ): void {
    const { batches } = this.#sink;
    const canName = oldVersion === version && version.keyLayout !== null;
    const removed = batches.of(oldVersion, canName);
    const oldIndex = this.#add(removed, OPERATION.d, before, -1, size, stamp);
    this.#tombstone(oldVersion, before, stamp, canName);
    const created = batches.of(version, canName);
    const newIndex = this.#add(created, OPERATION.c, -1, after, 0, stamp);
    if (!canName || created !== removed) return;
    created.setOtherKey(oldIndex, NEW_KEY, newIndex);
    created.setOtherKey(newIndex, OLD_KEY, oldIndex);
  }

  async #read(block: BlockRef): Promise<Buffer> {
    if (this.#file?.sequence !== block.sequence) {
      await this.close();
      this.#file = { sequence: block.sequence, handle: await open(await this.#pathOf(block.sequence), 'r') };
    }
    const bytes = Buffer.allocUnsafeSlow(block.length);
    const { bytesRead } = await this.#file.handle.read(bytes, 0, block.length, block.position);
    if (bytesRead !== block.length) {
      throw new ConnectError('FB_SEGMENT_INVALID', `${block.where}: the file has become shorter.`);
    }
    return bytes;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.handle.close();
  }
}

/** What is carried from operation to operation, and from block to block. */
class TransactionState {
  readonly transaction: OpenTransaction;
  readonly blobs = new Map<string, Buffer[]>();
  #operation = 0;
  #nextUndone = 0;
  #blob: Buffer[] | null = null;
  #blobId = '';

  constructor(transaction: OpenTransaction) {
    this.transaction = transaction;
  }

  /** Counts an operation; true where it was undone. */
  isUndone(): boolean {
    const { undone } = this.transaction;
    const operation = this.#operation++;
    while (this.#nextUndone < undone.length && undone[this.#nextUndone]!.to <= operation) this.#nextUndone++;
    const range = undone[this.#nextUndone];
    return range !== undefined && range.from <= operation;
  }

  /** The same id again goes on where the last block left it. */
  beginBlob(id: string): void {
    if (this.#blob !== null && this.#blobId === id) return;
    this.#blob = [];
    this.#blobId = id;
    this.blobs.set(id, this.#blob);
  }

  addChunk(chunk: Buffer): void {
    this.#blob?.push(chunk);
  }

  endRecord(): void {
    this.#blob = null;
    if (this.blobs.size > 0) this.blobs.clear();
  }
}

/** Compares the images of key columns: they lie alike in both. */
function isSameKey(version: TableVersion, bytes: Buffer, oldStart: number, start: number): boolean {
  for (const index of version.keyIndexes) {
    const { field } = version.columns[index]!.column;
    const [from, to] = [field.offset, field.offset + keyLength(field.dtype, field.length, bytes, start + field.offset)];
    if (bytes.compare(bytes, oldStart + from, oldStart + to, start + from, start + to) !== 0) return false;
  }
  return true;
}

const VARCHAR = 3;

/** Bytes behind the end of a VARCHAR mean nothing. */
const keyLength = (dtype: number, length: number, bytes: Buffer, at: number): number =>
  dtype === VARCHAR ? Math.min(length, 2 + bytes.readUInt16LE(at)) : length;
