/**
 * The tables as they are at the point of the journal that the reader has reached. DDL takes effect at its commit. `tables` is a new map after each
 * change, so that whoever keeps one keeps the tables as they were.
 */
import type { HistoryEntry, JournalMetadata, JournalPosition } from './metadata.ts';
import type { RecordFormat } from './recordFormat.ts';
import { TableState } from './tableState.ts';
import type { TimeZones } from './temporal.ts';

/** By name. No record of a table follows the commit that dropped it: DROP fails while a transaction that is open has used the table. */
export type Tables = ReadonlyMap<string, TableState>;

/** Where in the journal a record lies. */
export interface RecordPlace {
  readonly tables: Tables;
  /** DDL is under way there: its format is in use a moment before its COMMIT is in the journal. */
  readonly isAltering: boolean;
}

export const comparePositions = (a: JournalPosition, b: JournalPosition): number =>
  a.sequence - b.sequence || a.offset - b.offset;

export class TableHistory {
  tables: Tables = new Map();
  /** Open transactions with DDL. */
  readonly altering = new Set<number>();
  readonly zones: TimeZones;
  readonly #formats = new Map<number, readonly RecordFormat[]>();
  readonly #states = new Map<number, TableState>();
  /** Not taken over yet, in order. */
  readonly #positioned: HistoryEntry[] = [];
  readonly #byTransaction = new Map<number, HistoryEntry[]>();

  constructor(metadata: JournalMetadata) {
    this.zones = new Map(Object.entries(metadata.timeZones).map(([id, name]) => [Number(id), name]));
    for (const { id, formats } of metadata.relations) this.#formats.set(id, formats);
    for (const entry of metadata.history) {
      if (entry.position !== undefined) {
        this.#positioned.push(entry);
        continue;
      }
      const entries = this.#byTransaction.get(entry.tnx);
      if (entries === undefined) this.#byTransaction.set(entry.tnx, [entry]);
      else entries.push(entry);
    }
  }

  /** Of the records that are read now. */
  get here(): RecordPlace {
    return { tables: this.tables, isAltering: this.altering.size > 0 };
  }

  /** Takes over what became so before the reader's first position, or, where entries have none, before its first transaction. */
  startAt(position: JournalPosition, transaction: number): void {
    this.#positioned.sort((a, b) => comparePositions(a.position!, b.position!));
    this.passTo(position);
    const early = [...this.#byTransaction.keys()].filter(tnx => tnx < transaction).sort((a, b) => a - b);
    for (const tnx of early) this.commit(tnx);
  }

  /** Takes over what became so up to a position; those of earlier ones have been. */
  passTo(position: JournalPosition): void {
    let count = 0;
    while (count < this.#positioned.length && comparePositions(this.#positioned[count]!.position!, position) <= 0)
      count++;
    if (count > 0) this.apply(this.#positioned.splice(0, count));
  }

  /** Takes over what a transaction left behind, where entries have no position. */
  commit(transaction: number): void {
    const entries = this.#byTransaction.get(transaction);
    if (entries !== undefined) this.apply(entries);
  }

  setFormats(relation: number, formats: readonly RecordFormat[]): void {
    this.#formats.set(relation, formats);
    this.#states.get(relation)?.setFormats(formats);
  }

  apply(entries: readonly HistoryEntry[]): void {
    const tables = new Map(this.tables);
    for (const entry of entries) {
      const before = this.#states.get(entry.relation);
      if (entry.dropped === true) {
        this.#states.delete(entry.relation);
        if (before !== undefined && tables.get(before.name) === before) tables.delete(before.name);
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
