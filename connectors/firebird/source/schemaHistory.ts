/**
 * The schema history of a source: layouts of all tables with the position in the journal where each became so, in a file beside the segments. What the
 * database has dropped since stays in it, so that a reader that lags, or starts over, knows what it reads. Read again after each commit of DDL.
 */
import { open, readFile, rename } from 'node:fs/promises';
import { ConnectError } from '../../../schemas/errors.ts';
import {
  type HistoryEntry,
  type JournalMetadata,
  type JournalPosition,
  parseMetadata,
  type RelationFormats,
} from '../journal/metadata.ts';
import { comparePositions, TableHistory } from '../journal/tableHistory.ts';
import type { Catalog, CatalogTable } from './catalog.ts';
import { compareStamps, LONG_AGO } from './commitStamp.ts';
import { ddlTargets } from './ddlTargets.ts';
import { alteredTable, createdTable } from './tableSteps.ts';

const START: JournalPosition = { sequence: 0, offset: 0 };

/** Key of what can differ between two entries of a table. */
const shapeOf = ({
  name,
  format,
  fields,
  key,
}: {
  name: string;
  format: number;
  fields: unknown;
  key?: unknown;
}): string => JSON.stringify([name, format, fields, key]);

export class SchemaHistory {
  readonly #path: string;
  #metadata: JournalMetadata;

  private constructor(path: string, metadata: JournalMetadata) {
    this.#path = path;
    this.#metadata = metadata;
  }

  /** Null = there is no such file. Throws FB_METADATA_INVALID. */
  static async load(path: string): Promise<SchemaHistory | null> {
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw unusable(path, error);
    }
    return new SchemaHistory(path, parseMetadata(text, path));
  }

  /** A new one, that knows everything the database has now. */
  static async create(path: string, catalog: Catalog, timeZones: Record<string, string>): Promise<SchemaHistory> {
    const made = new SchemaHistory(path, metadataOf(catalog, timeZones));
    await made.#save();
    return made;
  }

  /** The tables as the database has them now. */
  static tablesNow(catalog: Catalog, timeZones: Record<string, string>): TableHistory {
    const tables = new TableHistory(metadataOf(catalog, timeZones));
    tables.startAt(START, 0);
    return tables;
  }

  get guid(): string {
    return this.#metadata.guid;
  }

  /** Whether the DDL up to a position is in it already. */
  hasLearned(position: JournalPosition): boolean {
    const { learned } = this.#metadata;
    return learned !== undefined && comparePositions(position, learned) <= 0;
  }

  /** For a reader that has not begun: `startAt` tells it where. */
  tables(): TableHistory {
    return new TableHistory(this.#metadata);
  }

  /**
   * What the DDL of a transaction left behind at `position`, from a catalogue that shows it. The database may be ahead: what later transactions made of a table
   * waits for them.
   */
  async add(
    catalog: Catalog,
    tnx: number,
    position: JournalPosition,
    statements: readonly string[],
    tables: TableHistory,
  ): Promise<void> {
    const stamp = catalog.stamp ?? { ...LONG_AGO, tnx };
    const targets = statements.flatMap(ddlTargets);
    const relations = mergeFormats(this.#metadata.relations, catalog.relations);
    const formatsOf = new Map(relations.map(({ id, formats }) => [id, formats]));
    const known = this.#latest();
    const entries: HistoryEntry[] = [];
    for (const table of catalog.tables) {
      const latest = known.get(table.relation);
      known.delete(table.relation);
      const before = latest === undefined || latest.dropped === true || latest.name !== table.name ? null : latest;
      const isLater = compareStamps(table.changed, stamp) > 0;
      if (before === null) {
        if (compareStamps(table.created, stamp) > 0) continue;
        const made = isLater ? createdTable(table, formatsOf.get(table.relation) ?? [], targets) : table;
        entries.push(entryOf(made, tnx, position));
      } else if (shapeOf(before) !== shapeOf(table)) {
        const altered = isLater ? alteredTable(table, before, formatsOf.get(table.relation) ?? [], targets) : table;
        if (altered !== null) entries.push(entryOf(altered, tnx, position));
      }
    }
    for (const [relation, before] of known) {
      if (before.dropped === true) continue;
      const isDropped = targets.some(
        ({ verb, kind, name }) => kind === 'table' && (verb === 'drop' || verb === 'recreate') && name === before.name,
      );
      if (isDropped) entries.push({ tnx, position, relation, dropped: true });
    }
    // A table that is made takes the name of one that was dropped.
    entries.sort((a, b) => Number(b.dropped === true) - Number(a.dropped === true));
    const history = [...this.#metadata.history, ...entries];
    this.#metadata = { ...this.#metadata, relations, history, learned: position };
    await this.#save();
    for (const { id, formats } of relations) tables.setFormats(id, formats);
    tables.apply(entries);
  }

  /** Formats that came about without a commit of DDL. */
  async addFormats(catalog: Catalog, tables: TableHistory): Promise<void> {
    const relations = mergeFormats(this.#metadata.relations, catalog.relations);
    this.#metadata = { ...this.#metadata, relations };
    await this.#save();
    for (const { id, formats } of relations) tables.setFormats(id, formats);
  }

  #latest(): Map<number, HistoryEntry> {
    return new Map(this.#metadata.history.map(entry => [entry.relation, entry]));
  }

  async #save(): Promise<void> {
    const temporary = `${this.#path}.tmp`;
    try {
      const file = await open(temporary, 'w');
      try {
        await file.writeFile(`${JSON.stringify(this.#metadata)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, this.#path);
    } catch (error) {
      throw unusable(this.#path, error);
    }
  }
}

function metadataOf({ guid, engine, relations, tables }: Catalog, timeZones: Record<string, string>): JournalMetadata {
  return { guid, engine, timeZones, relations, history: tables.map(table => entryOf(table, 0, START)) };
}

const unusable = (path: string, error: unknown): ConnectError =>
  new ConnectError('FB_DIRECTORY_UNUSABLE', `The schema history ${path} cannot be used: ${(error as Error).message}.`, {
    cause: error,
  });

const entryOf = (
  { relation, name, format, fields, key }: CatalogTable,
  tnx: number,
  position: JournalPosition,
): HistoryEntry => ({
  tnx,
  position,
  relation,
  name,
  format,
  fields,
  key,
});

/** Several may have one number: what was read last counts, since the number of a format that a failed DDL left behind is used again. */
function mergeFormats(known: readonly RelationFormats[], now: readonly RelationFormats[]): readonly RelationFormats[] {
  const merged = new Map(known.map(relation => [relation.id, relation]));
  for (const relation of now) {
    const before = merged.get(relation.id);
    const read = new Set(relation.formats.map(of => JSON.stringify(of)));
    // Another name: the number of the table was used again.
    const kept = before?.name === relation.name ? before.formats.filter(of => !read.has(JSON.stringify(of))) : [];
    const formats = [...kept, ...relation.formats].sort((a, b) => a.format - b.format);
    merged.set(relation.id, { ...relation, formats });
  }
  return [...merged.values()];
}
