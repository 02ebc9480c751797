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
import type { RecordFormat } from '../journal/recordFormat.ts';
import { comparePositions, TableHistory } from '../journal/tableHistory.ts';
import type { Catalog, CatalogTable } from './catalog.ts';

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
    const { guid, engine, relations, tables } = catalog;
    const history = tables.map(table => entryOf(table, 0, START));
    const made = new SchemaHistory(path, { guid, engine, timeZones, relations, history });
    await made.#save();
    return made;
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
   * What the DDL of a transaction left behind at `position`, from a catalogue read after it. The database may be ahead: a table that got several formats since
   * is taken one format further by each transaction whose statements name it.
   */
  async add(
    catalog: Catalog,
    tnx: number,
    position: JournalPosition,
    statements: readonly string[],
    tables: TableHistory,
  ): Promise<void> {
    const known = this.#latest();
    const entries: HistoryEntry[] = [];
    for (const table of catalog.tables) {
      const before = known.get(table.relation);
      known.delete(table.relation);
      if (before === undefined || before.dropped === true) {
        entries.push(
          entryOf(
            { ...table, format: before === undefined ? firstFormat(catalog, table) : table.format },
            tnx,
            position,
          ),
        );
        continue;
      }
      if (shapeOf(before) === shapeOf(table)) continue;
      const isAhead = table.format > before.format + 1;
      const isNamed = statements.some(
        sql => sql.toUpperCase().includes(before.name.toUpperCase()) || /\bdomain\b/i.test(sql),
      );
      if (table.format !== before.format && !isNamed) continue;
      entries.push(entryOf(isAhead ? { ...table, format: before.format + 1 } : table, tnx, position));
    }
    for (const [relation, before] of known) {
      if (before.dropped === true) continue;
      const isNamed = statements.some(sql => sql.toUpperCase().includes(before.name.toUpperCase()));
      if (isNamed) entries.push({ tnx, position, relation, dropped: true });
    }
    const relations = mergeFormats(this.#metadata.relations, catalog.relations);
    const history = [...this.#metadata.history, ...entries];
    this.#metadata = { ...this.#metadata, relations, history, learned: position };
    await this.#save();
    for (const { id, formats } of relations) tables.setFormats(id, formats);
    tables.apply(entries);
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

/** Of a table that is new here; the first one that the database still describes. */
function firstFormat(catalog: Catalog, table: CatalogTable): number {
  return catalog.relations.find(of => of.id === table.relation)?.formats[0]?.format ?? table.format;
}

function mergeFormats(known: readonly RelationFormats[], now: readonly RelationFormats[]): readonly RelationFormats[] {
  let isChanged = false;
  const merged = new Map(known.map(relation => [relation.id, relation]));
  for (const relation of now) {
    const before = merged.get(relation.id);
    const numbers = new Set(before?.formats.map(of => of.format));
    const added: RecordFormat[] = relation.formats.filter(of => !numbers.has(of.format));
    if (before !== undefined && added.length === 0 && before.name === relation.name) continue;
    isChanged = true;
    merged.set(relation.id, { ...relation, formats: [...(before?.formats ?? []), ...added] });
  }
  return isChanged ? [...merged.values()] : known;
}
