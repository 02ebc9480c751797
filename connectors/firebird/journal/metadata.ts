/**
 * What is known of a database's tables, as data: all formats, and the history of names and current formats. The same form serves as the file that
 * `millrace firebird journal --metadata` reads and as the schema history that a source keeps.
 */
import { ConnectError } from '../../../schemas/errors.ts';
import { checkFormat, type RecordFormat } from './recordFormat.ts';

export interface NamedField {
  readonly id: number;
  readonly name: string;
  /** Place in the table. */
  readonly position: number;
  readonly computed?: boolean;
  readonly notNull?: boolean;
  /** Digits that a NUMERIC or DECIMAL was declared with. */
  readonly precision?: number;
}

/** Where in the journal something became so: behind the block that ends at `offset` of segment `sequence`. */
export interface JournalPosition {
  readonly sequence: number;
  readonly offset: number;
}

/** What a transaction left behind at its commit. */
export type HistoryEntry = {
  readonly tnx: number;
  /** Absent = only the transaction tells. */
  readonly position?: JournalPosition;
  readonly relation: number;
} & (
  | { readonly dropped: true }
  | {
      readonly dropped?: false;
      readonly name: string;
      readonly format: number;
      readonly fields: readonly NamedField[];
      /** Names of the columns of the primary key, or of the first unique constraint over columns that are not null. */
      readonly key?: readonly string[];
    }
);

export interface RelationFormats {
  readonly id: number;
  readonly name: string;
  readonly formats: readonly RecordFormat[];
}

export interface JournalMetadata {
  readonly guid: string;
  readonly engine?: string;
  readonly timeZones: Readonly<Record<string, string>>;
  readonly relations: readonly RelationFormats[];
  readonly history: readonly HistoryEntry[];
  /** Up to where the DDL of the journal is in it; absent = nothing is said. */
  readonly learned?: JournalPosition;
}

type Json = unknown;
type JsonObject = Readonly<Record<string, Json>>;

/** Reads the JSON form. Throws FB_METADATA_INVALID; `file` is named in errors. */
export function parseMetadata(text: string, file: string): JournalMetadata {
  const fail = (what: string, cause?: unknown): never => {
    throw new ConnectError('FB_METADATA_INVALID', `${file}: ${what}.`, { cause });
  };
  let json: Json;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return fail(`it is not JSON: ${(error as Error).message}`, error);
  }
  const object = (value: Json, what: string): JsonObject =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : fail(`${what} is not an object`);
  const list = (value: Json, what: string): readonly Json[] =>
    Array.isArray(value) ? value : fail(`${what} is not a list`);
  const string = (value: Json, what: string): string =>
    typeof value === 'string' ? value : fail(`${what} is not a string`);
  const integer = (value: Json, what: string): number =>
    Number.isSafeInteger(value) ? (value as number) : fail(`${what} is not an integer`);

  const readFormat = (value: Json, table: string): RecordFormat => {
    const of = object(value, `a format of ${table}`);
    const fields = list(of.fields, `fields of a format of ${table}`).map((item, id) => {
      const field = object(item, `field ${id} of ${table}`);
      const get = (key: string): number => integer(field[key], `${key} of field ${id} of ${table}`);
      return {
        dtype: get('dtype'),
        scale: get('scale'),
        length: get('length'),
        subType: get('subType'),
        flags: get('flags'),
        offset: get('offset'),
      };
    });
    const format = { format: integer(of.format, 'format'), length: integer(of.length, 'length'), fields };
    return checkFormat(format, table);
  };
  const readPosition = (value: Json): JournalPosition => {
    const at = object(value, 'a position');
    return { sequence: integer(at.sequence, 'sequence'), offset: integer(at.offset, 'offset') };
  };
  const readEntry = (value: Json): HistoryEntry => {
    const of = object(value, 'an entry of history');
    const tnx = integer(of.tnx, 'tnx');
    const relation = integer(of.relation, 'relation');
    const position = of.position === undefined ? {} : { position: readPosition(of.position) };
    if (of.dropped === true) return { tnx, relation, dropped: true, ...position };
    const fields = list(of.fields, 'fields').map((item): NamedField => {
      const field = object(item, 'a field');
      return {
        id: integer(field.id, 'id'),
        name: string(field.name, 'name'),
        position: integer(field.position, 'position'),
        ...(field.computed === true && { computed: true }),
        ...(field.notNull === true && { notNull: true }),
        ...(field.precision !== undefined && { precision: integer(field.precision, 'precision') }),
      };
    });
    const key = of.key === undefined ? {} : { key: list(of.key, 'key').map(name => string(name, 'a name in key')) };
    return {
      tnx,
      relation,
      name: string(of.name, 'name'),
      format: integer(of.format, 'format'),
      fields,
      ...key,
      ...position,
    };
  };

  const root = object(json, 'the file');
  const timeZones = object(root.timeZones ?? {}, 'timeZones');
  return {
    guid: string(root.guid, 'guid'),
    ...(root.engine !== undefined && { engine: string(root.engine, 'engine') }),
    timeZones: Object.fromEntries(Object.entries(timeZones).map(([id, name]) => [id, string(name, 'a time zone')])),
    relations: list(root.relations, 'relations').map(item => {
      const of = object(item, 'a relation');
      const name = string(of.name, 'name');
      const formats = list(of.formats, `formats of ${name}`).map(format => readFormat(format, name));
      return { id: integer(of.id, 'id'), name, formats };
    }),
    history: list(root.history, 'history').map(readEntry),
    ...(root.learned !== undefined && { learned: readPosition(root.learned) }),
  };
}
