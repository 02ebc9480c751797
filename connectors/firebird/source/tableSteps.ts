/**
 * Tables as they were just after a statement of DDL, told from its words and the formats they have had since, for a source that is behind: the catalogue
 * shows later work too.
 */
import type { NamedField } from '../journal/metadata.ts';
import type { FormatField, RecordFormat } from '../journal/recordFormat.ts';
import type { CatalogTable } from './catalog.ts';
import type { DdlTarget } from './ddlTargets.ts';

/** What was known of a table before the statement. */
export interface KnownTable {
  readonly format: number;
  readonly fields: readonly NamedField[];
  readonly key?: readonly string[];
}

/** A table with the first of its formats, after the statements that made it. */
export function createdTable(
  table: CatalogTable,
  formats: readonly RecordFormat[],
  targets: readonly DdlTarget[],
): CatalogTable {
  const first = formats.findLast(({ format }) => format === formats[0]!.format);
  if (first === undefined) return table;
  const added = targets.filter(({ verb, name }) => verb !== 'drop' && name === table.name).flatMap(of => of.added);
  return withFormat(table, first, null, added.length === first.fields.length ? added : []);
}

/** A table after the statements of a transaction; null where they change nothing that records or their names show. */
export function alteredTable(
  table: CatalogTable,
  before: KnownTable,
  formats: readonly RecordFormat[],
  targets: readonly DdlTarget[],
): CatalogTable | null {
  const isOf = ({ verb, kind, name }: DdlTarget): boolean =>
    verb === 'alter' && (kind === 'table' ? name === table.name : table.domains.has(name));
  const own = targets.filter(isOf);
  if (own.length === 0) return null;
  const last = formats.findLast(({ format }) => format === before.format);
  const next = formats.findLast(of => of.format === before.format + 1 && isMadeBy(own, of, last, before, formats));
  const renamed = new Map(own.flatMap(of => of.renamed));
  const format = next ?? (renamed.size > 0 ? last : undefined);
  if (format === undefined) return null;
  const named = (name: string): string => renamed.get(name) ?? name;
  const fields = before.fields.map(field => ({ ...field, name: named(field.name) }));
  const known = { ...before, fields, ...(before.key !== undefined && { key: before.key.map(named) }) };
  return withFormat(table, format, known, next === undefined ? [] : own.flatMap(({ added }) => added));
}

/** Not every statement makes a format, so the next one may be a later statement's: whether it differs from the last as these say, and not otherwise. */
function isMadeBy(
  targets: readonly DdlTarget[],
  next: RecordFormat,
  last: RecordFormat | undefined,
  before: KnownTable,
  formats: readonly RecordFormat[],
): boolean {
  const added = targets.flatMap(of => of.added).length;
  // Of several of one number the last counts.
  const earlier = formats.filter((of, i) => of.format <= before.format && of.format !== formats[i + 1]?.format);
  const highest = Math.max(0, ...earlier.map(of => of.fields.length));
  if (added > 0 ? next.fields.length !== highest + added : next.fields.length > highest) return false;
  const dropped = new Set(targets.flatMap(of => of.dropped));
  const changed = new Set(targets.flatMap(of => of.changed));
  const mayAllChange = targets.some(({ kind }) => kind === 'domain');
  return before.fields.every(({ id, name, computed }) => {
    if (computed === true) return true;
    const [field, old] = [next.fields[id], last?.fields[id]];
    if (dropped.has(name)) return !isStored(field);
    return isStored(field) && (mayAllChange || changed.has(name) || old === undefined || isAlike(field, old));
  });
}

const isStored = (field: FormatField | undefined): field is FormatField => field !== undefined && field.offset > 0;

const isAlike = (a: FormatField, b: FormatField): boolean =>
  a.dtype === b.dtype && a.scale === b.scale && a.length === b.length && a.subType === b.subType;

/**
 * Columns that are in the format, under the names that were known. Those that the statements added have the names that stand there: since then they may
 * have got others, or been dropped. Ids are given out in the order of a statement, and never twice in a table's life.
 */
function withFormat(
  table: CatalogTable,
  format: RecordFormat,
  before: KnownTable | null,
  added: readonly string[],
): CatalogTable {
  const isIn = ({ id, computed }: NamedField): boolean => computed === true || isStored(format.fields[id]);
  const fields = (before?.fields ?? []).filter(isIn);
  const known = new Set(before?.fields.map(({ id }) => id));
  const now = new Map(table.fields.map(field => [field.id, field]));
  const firstAdded = format.fields.length - added.length;
  for (let id = 0; id < format.fields.length; id++) {
    if (known.has(id)) continue;
    const of = now.get(id);
    const name = added[id - firstAdded] ?? of?.name;
    if (name === undefined || !(of === undefined ? isStored(format.fields[id]) : isIn(of))) continue;
    const last = Math.max(-1, ...fields.map(({ position }) => position));
    fields.push({ ...(of ?? { id, position: 1 + last }), name });
  }
  const names = new Set(fields.map(({ name }) => name));
  const key = [before?.key ?? [], table.key].find(of => of.length > 0 && of.every(name => names.has(name))) ?? [];
  return { ...table, format: format.format, fields, key };
}
