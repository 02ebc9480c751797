/**
 * A table as it is at one point of the journal, and the layouts its records may have there. The journal names neither table id nor format: the
 * length of a record tells.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import type { NamedField } from './metadata.ts';
import type { FormatField, RecordFormat } from './recordFormat.ts';

export interface LayoutColumn {
  readonly id: number;
  readonly name: string;
  readonly field: FormatField;
  /** The column is of an older format: it is no longer in the table. */
  readonly isDropped: boolean;
  readonly isNotNull: boolean;
  readonly precision: number | null;
}

/** Columns in table order, then those dropped since. */
export interface RecordLayout {
  readonly table: TableState;
  readonly format: RecordFormat;
  readonly columns: readonly LayoutColumn[];
}

export const isNull = (bytes: Buffer, start: number, id: number): boolean =>
  (bytes[start + (id >> 3)]! & (1 << (id & 7))) !== 0;

export class TableState {
  readonly relation: number;
  readonly name: string;
  readonly key: readonly string[];
  readonly #format: number;
  #formats: readonly RecordFormat[] = [];
  readonly #fields: readonly NamedField[];
  /** Last names of columns that are not in the table any more. */
  readonly #droppedNames: ReadonlyMap<number, string>;
  /** By length of the record, negative where DDL is under way. */
  readonly #layouts = new Map<number, readonly RecordLayout[]>();
  readonly #built = new Map<RecordFormat, RecordLayout>();

  constructor(
    relation: number,
    name: string,
    format: number,
    formats: readonly RecordFormat[],
    fields: readonly NamedField[],
    droppedNames: ReadonlyMap<number, string>,
    key: readonly string[],
  ) {
    this.relation = relation;
    this.name = name;
    this.key = key;
    this.#format = format;
    this.setFormats(formats);
    this.#fields = fields.toSorted((a, b) => a.position - b.position || a.id - b.id);
    this.#droppedNames = droppedNames;
  }

  /** Names of all columns it ever had, for the state after it. */
  names(): ReadonlyMap<number, string> {
    return new Map([...this.#droppedNames, ...this.#fields.map(field => [field.id, field.name] as const)]);
  }

  /** All that are known by now: a failed DDL adds one that some records have. */
  setFormats(formats: readonly RecordFormat[]): void {
    if (formats.length !== this.#formats.length) this.#layouts.clear();
    this.#formats = formats.toSorted((a, b) => a.format - b.format);
  }

  /**
   * Layouts of records of `length` bytes, the nearest to the current one first: older ones before newer ones, which the database has already, but for the next one
   * where DDL is under way (`isAltering`).
   */
  layouts(length: number, isAltering = false): readonly RecordLayout[] {
    const key = isAltering ? -length : length;
    const known = this.#layouts.get(key);
    if (known !== undefined) return known;
    const current = this.#format;
    const far = ({ format }: RecordFormat): number => {
      if (isAltering && format === current + 1) return 1;
      return 2 * Math.abs(format - current) + (format > current ? 1 : 0);
    };
    // Of several of one number the last counts.
    const fits = this.#formats.filter(format => format.length === length).reverse();
    const layouts = fits.sort((a, b) => far(a) - far(b)).map(format => this.#layoutOf(format));
    if (layouts.length > 0) this.#layouts.set(key, layouts);
    return layouts;
  }

  /** The layout of what is written now. */
  currentLayout(): RecordLayout {
    const format = this.#formats.findLast(of => of.format === this.#format);
    if (format === undefined) {
      throw new ConnectError('FB_METADATA_INVALID', `Format ${this.#format} of ${this.name} is not described.`);
    }
    return this.layouts(format.length)[0]!;
  }

  /** One object per format, whatever it is found by. */
  #layoutOf(format: RecordFormat): RecordLayout {
    let layout = this.#built.get(format);
    if (layout === undefined) {
      layout = this.#build(format);
      this.#built.set(format, layout);
    }
    return layout;
  }

  #build(format: RecordFormat): RecordLayout {
    const column = (id: number, name: string, of: NamedField | null): LayoutColumn | null => {
      const field = format.fields[id];
      if (field === undefined || field.offset === 0) return null;
      const isNotNull = of?.notNull === true;
      return { id, name, field, isDropped: of === null, isNotNull, precision: of?.precision ?? null };
    };
    const columns: (LayoutColumn | null)[] = this.#fields
      .filter(field => field.computed !== true)
      .map(field => column(field.id, field.name, field));
    const isCurrent = new Set(this.#fields.map(field => field.id));
    for (let id = 0; id < format.fields.length; id++) {
      if (!isCurrent.has(id)) columns.push(column(id, this.#droppedNames.get(id) ?? `FIELD_${id}`, null));
    }
    return { table: this, format, columns: columns.filter(of => of !== null) };
  }
}
