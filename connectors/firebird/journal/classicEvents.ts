/** Blocks of a journal as the classic event stream: everything, in journal order, undone and rolled-back work included. */
import type { JournalEvent, JournalRecord } from '../../../schemas/envelope/firebirdJournal.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import { statementText } from './characterSets.ts';
import { blobIdText, type ClassicValue, classicReader, type ReadValue } from './columnValue.ts';
import { layoutOf } from './layoutOf.ts';
import { type ControlCode, type OperationVisitor, readOperations } from './readOperations.ts';
import type { JournalBlock } from './segmentFile.ts';
import type { TableHistory } from './tableHistory.ts';
import { isNull, type RecordLayout } from './tableState.ts';

const CONTROL_EVENTS = {
  1: 'START TRANSACTION',
  2: 'PREPARE TRANSACTION',
  3: 'COMMIT',
  4: 'ROLLBACK',
  5: 'CLEANUP',
  6: 'SAVEPOINT',
  7: 'RELEASE SAVEPOINT',
  8: 'ROLLBACK SAVEPOINT',
} as const;
const COMMIT = 3;

interface OpenBlob {
  readonly id: string;
  isEmpty: boolean;
}

export class ClassicEvents {
  readonly #history: TableHistory | null;
  /** Blobs whose end is in a later block, by transaction. */
  readonly #openBlobs = new Map<number, OpenBlob>();
  readonly #readers = new WeakMap<RecordLayout, readonly ReadValue<ClassicValue>[]>();
  /** Chunks by transaction whose record, which comes after them, tells whether their table is included. */
  readonly #heldChunks = new Map<number, JournalEvent[]>();
  readonly #dumpsBlobs: boolean;
  readonly #includes: ((table: string) => boolean) | null;

  /** Without a history records stay bytes. Records of tables that are not included are left out, unread; null = all are. */
  constructor(history: TableHistory | null, dumpsBlobs = true, includes: ((table: string) => boolean) | null = null) {
    this.#history = history;
    this.#dumpsBlobs = dumpsBlobs;
    this.#includes = includes;
  }

  /** Hands on the events of a block; a history is moved on at each commit. */
  read(block: JournalBlock, emit: (event: JournalEvent) => void): void {
    const { bytes, transaction: tnx } = block;
    const history = this.#history;
    let hasEnded = false;
    let blob: OpenBlob | null = null;
    const chunk = (data: string): void => {
      if (!this.#dumpsBlobs || blob === null) return;
      const event = { event: 'STORE BLOB', tnx, blobId: blob.id, data } as const;
      if (this.#includes === null) emit(event);
      else if (!this.#heldChunks.get(tnx)?.push(event)) this.#heldChunks.set(tnx, [event]);
    };
    const isIncluded = (table: string): boolean => {
      this.#openBlobs.delete(tnx);
      if (this.#includes === null) return true;
      const chunks = this.#heldChunks.get(tnx);
      this.#heldChunks.delete(tnx);
      if (!this.#includes(table)) return false;
      chunks?.forEach(emit);
      return true;
    };
    const change = (event: 'INSERT' | 'DELETE', table: string, start: number, end: number): void => {
      if (!isIncluded(table)) return;
      if (history === null) {
        emit({ event, tnx, table, record: null, data: bytes.toString('hex', start, end) });
        return;
      }
      const record = this.#record(layoutOf(history.here, table, bytes, start, end, tnx), bytes, start);
      emit({ event, tnx, table, record });
    };
    const visitor: OperationVisitor = {
      control: (code: ControlCode) => {
        if (code >= COMMIT && code <= 5) hasEnded = true;
        emit({ event: CONTROL_EVENTS[code], tnx });
        if (code === COMMIT) history?.commit(tnx);
      },
      insert: (table, start, end) => change('INSERT', table, start, end),
      delete: (table, start, end) => change('DELETE', table, start, end),
      update: (table, oldStart, oldEnd, start, end) => {
        if (!isIncluded(table)) return;
        if (history === null) {
          const [oldData, data] = [bytes.toString('hex', oldStart, oldEnd), bytes.toString('hex', start, end)];
          emit({ event: 'UPDATE', tnx, table, changedFields: [], oldRecord: null, record: null, oldData, data });
          return;
        }
        const layout = layoutOf(history.here, table, bytes, start, end, tnx);
        const oldLayout = layoutOf(history.here, table, bytes, oldStart, oldEnd, tnx);
        const record = this.#record(layout, bytes, start);
        const oldRecord = this.#record(oldLayout, bytes, oldStart);
        const old = new Map(oldRecord);
        const changedFields = record.filter(([name, value]) => old.get(name) !== value).map(([name]) => name);
        emit({ event: 'UPDATE', tnx, table, changedFields, oldRecord, record });
      },
      blobBegin: (high, low) => {
        const id = blobIdText(high, low);
        const open = this.#openBlobs.get(tnx);
        blob = open?.id === id ? open : { id, isEmpty: true };
        this.#openBlobs.set(tnx, blob);
      },
      blobChunk: (start, end) => {
        blob!.isEmpty = false;
        chunk(bytes.toString('hex', start, end));
      },
      blobEnd: () => {
        if (blob!.isEmpty) chunk('');
        this.#openBlobs.delete(tnx);
      },
      sql: (user, charset, start, end) => {
        history?.altering.add(tnx);
        emit({ event: 'EXECUTE SQL', tnx, sql: statementText(charset, bytes, start, end), user });
      },
      sequence: (name, value) => emit({ event: 'SET SEQUENCE', sequence: name, value }),
    };
    readOperations(bytes, block.start, block.end, block.where, visitor);
    if (!block.isLast) return;
    if (tnx === 0) history?.altering.clear();
    history?.altering.delete(tnx);
    this.#openBlobs.delete(tnx);
    this.#heldChunks.delete(tnx);
    if (!hasEnded) emit({ event: 'ROLLBACK', tnx });
  }

  #record(layout: RecordLayout, bytes: Buffer, start: number): JournalRecord {
    let readers = this.#readers.get(layout);
    if (readers === undefined) {
      readers = layout.columns.map(({ field }) => classicReader(field, this.#history!.zones));
      this.#readers.set(layout, readers);
    }
    return layout.columns.map(({ id, name, field }, i) => {
      if (isNull(bytes, start, id)) return [name, null];
      try {
        return [name, readers[i]!(bytes, start + field.offset)];
      } catch (error) {
        if (error instanceof ConnectError) error.at({ table: layout.table.name, column: name });
        throw error;
      }
    });
  }
}
