/**
 * The tables as they are at the point of the journal that the reader has reached. DDL takes effect at its commit. `tables` is a new map after each
 * change, so that whoever keeps one keeps the tables as they were.
 */
import type { HistoryEntry, JournalMetadata, JournalPosition } from './metadata.ts';
import type { RecordFormat } from './recordFormat.ts';
import { TableState } from './tableState.ts';
import type { TimeZones } from './temporal.ts';

/** By name. A dropped table stays until its name is used again: blocks of open transactions may still have records of it. */
export type Tables = ReadonlyMap<string, TableState>;

const isBefore = (a: JournalPosition, b: JournalPosition): boolean =>
  a.sequence < b.sequence || (a.sequence === b.sequence && a.offset <= b.offset);

export class TableHistory {
  tables: Tables = new Map();
  readonly zones: Map<number, string>;
  readonly #formats = new Map<number, RecordFormat[]>();
  readonly #states = new Map<number, TableState>();
  readonly #byTransaction = new Map<number, HistoryEntry[]>();

  constructor(metadata: JournalMetadata) {
    this.zones = new Map(Object.entries(metadata.timeZones).map(([id, name]) => [Number(id), name]));
    for (const { id, formats } of metadata.relations) this.#formats.set(id, [...formats]);
    for (const entry of metadata.history) {
      const entries = this.#byTransaction.get(entry.tnx);
      if (entries === undefined) this.#byTransaction.set(entry.tnx, [entry]);
      else entries.push(entry);
    }
  }

  get timeZones(): TimeZones {
    return this.zones;
  }

  /** Takes over what became so before the reader's first position, or, where entries have none, before its first transaction. */
  startAt(position: JournalPosition, transaction: number): void {
    for (const [tnx, entries] of [...this.#byTransaction].sort(([a], [b]) => a - b)) {
      const of = entries[0]!.position;
      if (of === undefined ? tnx < transaction : isBefore(of, position)) this.commit(tnx);
    }
  }

  /** Whether DDL of the transaction is known. */
  has(transaction: number): boolean {
    return this.#byTransaction.has(transaction);
  }

  commit(transaction: number): void {
    const entries = this.#byTransaction.get(transaction);
    if (entries !== undefined) this.apply(entries);
  }

  addFormats(relation: number, formats: readonly RecordFormat[]): void {
    this.#formats.set(relation, [...formats]);
  }

  apply(entries: readonly HistoryEntry[]): void {
    const tables = new Map(this.tables);
    for (const entry of entries) {
      const before = this.#states.get(entry.relation);
      if (entry.dropped === true) {
        this.#states.delete(entry.relation);
        continue;
      }
      if (before !== undefined && before.name !== entry.name && tables.get(before.name) === before) {
        tables.delete(before.name);
      }
      const state = new TableState(
        entry.relation,
        entry.name,
        entry.format,
        this.#formats.get(entry.relation) ?? [],
        entry.fields,
        before?.names() ?? new Map(),
        entry.key ?? [],
      );
      this.#states.set(entry.relation, state);
      tables.set(entry.name, state);
    }
    this.tables = tables;
  }
}
