/**
 * The tables of the server at one point of its log: statements are applied one after the other. What a statement does to a table that is already so is no
 * error: after a restart the model may know a later table than the statement does.
 */
import type { ParsedColumn } from './parseColumn.ts';
import type { AlterSpec, DdlStatement, ParsedKey, Place, TableRef } from './parseStatement.ts';
import { type ColumnDefinition, isTextual, sameName, type TableDefinition } from './tableDefinition.ts';

export interface TableChange {
  readonly type: 'CREATE' | 'ALTER' | 'DROP';
  readonly table: TableRef;
  /** null where the table was dropped. */
  readonly definition: TableDefinition | null;
}

const keyOf = ({ database, name }: TableRef): string => `${database}\0${name}`;

export class SchemaModel {
  private readonly tables = new Map<string, TableDefinition>();
  private readonly charsets = new Map<string, string>();
  /** Of the server, for databases that are not known. */
  charset: string | null = null;

  table(ref: TableRef): TableDefinition | null {
    return this.tables.get(keyOf(ref)) ?? null;
  }

  set(definition: TableDefinition): void {
    this.tables.set(keyOf(definition), definition);
  }

  setDatabase(name: string, charset: string | null): void {
    if (charset !== null) this.charsets.set(name, charset);
  }

  /** The tables that must be known for the statement to be applied. */
  needs(statement: DdlStatement): readonly TableRef[] {
    switch (statement.kind) {
      case 'create-table':
        return statement.like === null ? [] : [statement.like];
      case 'alter-table':
      case 'create-index':
      case 'drop-index':
        return [statement.table];
      case 'rename-tables': {
        // What an earlier pair of the statement makes is not there before.
        const made = new Set<string>();
        return statement.pairs.flatMap(({ from, to }) => {
          const isMade = made.has(keyOf(from));
          made.add(keyOf(to));
          return isMade ? [] : [from];
        });
      }
      case 'drop-tables':
      case 'database':
      case 'drop-database':
        return [];
    }
  }

  /** What it changed, table by table. */
  apply(statement: DdlStatement): readonly TableChange[] {
    switch (statement.kind) {
      case 'create-table':
        return this.create(statement);
      case 'alter-table':
        return this.alter(statement.table, statement.specs);
      case 'rename-tables':
        return statement.pairs.flatMap(({ from, to }) => this.rename(from, to));
      case 'drop-tables':
        return statement.tables.map(table => {
          this.tables.delete(keyOf(table));
          return { type: 'DROP', table, definition: null };
        });
      case 'create-index': {
        const table = this.table(statement.table);
        if (table !== null && statement.key !== null) this.set(withKey(table, statement.key));
        return [];
      }
      case 'drop-index': {
        const table = this.table(statement.table);
        if (table !== null) this.set(withoutKey(table, statement.name));
        return [];
      }
      case 'database':
        this.setDatabase(statement.name, statement.charset);
        return [];
      case 'drop-database': {
        const dropped = [...this.tables.values()].filter(table => table.database === statement.name);
        for (const table of dropped) this.tables.delete(keyOf(table));
        this.charsets.delete(statement.name);
        return dropped.map(({ database, name }) => ({ type: 'DROP', table: { database, name }, definition: null }));
      }
    }
  }

  private create(statement: Extract<DdlStatement, { kind: 'create-table' }>): readonly TableChange[] {
    const { table: ref, like, columns, keys, options } = statement;
    if (statement.isOptional && this.table(ref) !== null) return [];
    const base = like === null ? null : this.table(like);
    if (like !== null && base === null) return [];
    let definition: TableDefinition =
      base !== null
        ? { ...base, ...ref }
        : {
            ...ref,
            charset: options.charset ?? this.charsets.get(ref.database) ?? this.charset,
            columns: [],
            primaryKey: [],
            uniqueKeys: [],
            comment: options.comment,
          };
    if (base === null) {
      definition = withColumns(definition, columns, { kind: 'last' });
      for (const key of keys) definition = withKey(definition, key);
    }
    this.set(definition);
    return [{ type: 'CREATE', table: ref, definition }];
  }

  private alter(ref: TableRef, specs: readonly AlterSpec[]): readonly TableChange[] {
    let table = this.table(ref);
    if (table === null) return [];
    for (const spec of specs) table = altered(table, spec);
    const isRenamed = table.database !== ref.database || table.name !== ref.name;
    if (isRenamed) this.tables.delete(keyOf(ref));
    this.set(table);
    const { database, name } = table;
    return [{ type: 'ALTER', table: { database, name }, definition: table }];
  }

  private rename(from: TableRef, to: TableRef): readonly TableChange[] {
    const table = this.table(from);
    if (table === null) return [];
    this.tables.delete(keyOf(from));
    const definition = { ...table, ...to };
    this.set(definition);
    return [{ type: 'ALTER', table: to, definition }];
  }
}

function altered(table: TableDefinition, spec: AlterSpec): TableDefinition {
  switch (spec.kind) {
    case 'add':
      return withColumns(table, spec.columns, spec.place);
    case 'drop': {
      const isDropped = (name: string): boolean => sameName(name, spec.name);
      const columns = table.columns.filter(column => !isDropped(column.name));
      return {
        ...table,
        columns,
        primaryKey: table.primaryKey.filter(name => !isDropped(name)),
        uniqueKeys: table.uniqueKeys
          .map(key => ({ ...key, columns: key.columns.filter(name => !isDropped(name)) }))
          .filter(key => key.columns.length > 0),
      };
    }
    case 'change':
      return withChanged(table, spec.from, spec.column, spec.place);
    case 'rename-column':
      return renamed(table, spec.from, spec.to);
    case 'default': {
      const change = (column: ColumnDefinition): ColumnDefinition =>
        sameName(column.name, spec.column) ? { ...column, defaultText: spec.text } : column;
      return { ...table, columns: table.columns.map(change) };
    }
    case 'add-key':
      return withKey(table, spec.key);
    case 'drop-primary':
      return { ...table, primaryKey: [] };
    case 'drop-key':
      return withoutKey(table, spec.name);
    case 'rename-key': {
      const uniqueKeys = table.uniqueKeys.map(key => (sameName(key.name, spec.from) ? { ...key, name: spec.to } : key));
      return { ...table, uniqueKeys };
    }
    case 'convert': {
      const { charset } = spec;
      if (charset === null) return table;
      const columns = table.columns.map(column => (isTextual(column.type) ? { ...column, charset } : column));
      return { ...table, charset, columns };
    }
    case 'rename':
      return { ...table, ...spec.to };
    case 'options': {
      const { charset, comment } = spec.options;
      return { ...table, charset: charset ?? table.charset, comment: comment ?? table.comment };
    }
  }
}

/** A column without character set has the table's, also when that changes later. */
const settled = (column: ColumnDefinition, table: TableDefinition): ColumnDefinition =>
  isTextual(column.type) && column.charset === null ? { ...column, charset: table.charset } : column;

function withColumns(table: TableDefinition, added: readonly ParsedColumn[], place: Place): TableDefinition {
  const fresh = added.filter(({ column }) => !table.columns.some(other => sameName(other.name, column.name)));
  const columns = [...table.columns];
  columns.splice(indexOf(columns, place), 0, ...fresh.map(({ column }) => settled(column, table)));
  return fresh.reduce(withColumnKeys, { ...table, columns });
}

function withColumnKeys(table: TableDefinition, { column, isPrimary, isUnique }: ParsedColumn): TableDefinition {
  let out = table;
  const columns = [column.name];
  if (isPrimary) out = withKey(out, { kind: 'primary', name: null, columns, isWhole: true });
  if (isUnique) out = withKey(out, { kind: 'unique', name: null, columns, isWhole: true });
  return out;
}

function indexOf(columns: readonly ColumnDefinition[], place: Place): number {
  switch (place.kind) {
    case 'first':
      return 0;
    case 'last':
      return columns.length;
    case 'after': {
      const at = columns.findIndex(column => sameName(column.name, place.column));
      return at < 0 ? columns.length : at + 1;
    }
  }
}

function withChanged(table: TableDefinition, from: string, parsed: ParsedColumn, place: Place | null): TableDefinition {
  const at = table.columns.findIndex(column => sameName(column.name, from));
  if (at < 0) return table;
  const isInPrimary = table.primaryKey.some(name => sameName(name, from));
  const column = settled(parsed.column, table);
  const changed = isInPrimary ? { ...column, isRequired: true } : column;
  let columns = table.columns.with(at, changed);
  if (place !== null) {
    columns = columns.toSpliced(at, 1);
    columns.splice(indexOf(columns, place), 0, changed);
  }
  return withColumnKeys(inKeys({ ...table, columns }, from, column.name), parsed);
}

function renamed(table: TableDefinition, from: string, to: string): TableDefinition {
  const columns = table.columns.map(column => (sameName(column.name, from) ? { ...column, name: to } : column));
  return inKeys({ ...table, columns }, from, to);
}

function inKeys(table: TableDefinition, from: string, to: string): TableDefinition {
  const change = (names: readonly string[]): string[] => names.map(name => (sameName(name, from) ? to : name));
  return {
    ...table,
    primaryKey: change(table.primaryKey),
    uniqueKeys: table.uniqueKeys.map(key => ({ ...key, columns: change(key.columns) })),
  };
}

function withKey(table: TableDefinition, key: ParsedKey): TableDefinition {
  // The column's own spelling of its name.
  const columns = key.columns.map(name => table.columns.find(column => sameName(column.name, name))?.name ?? name);
  if (key.kind === 'primary') {
    const inKey = (column: ColumnDefinition): boolean => columns.includes(column.name);
    return {
      ...table,
      primaryKey: columns,
      columns: table.columns.map(column => (inKey(column) ? { ...column, isRequired: true } : column)),
    };
  }
  const name = key.name ?? freeName(table, columns[0] ?? 'functional_index');
  const others = table.uniqueKeys.filter(other => !sameName(other.name, name));
  return { ...table, uniqueKeys: [...others, { name, columns, isWhole: key.isWhole }] };
}

/** The server names a key by its first column. */
function freeName(table: TableDefinition, column: string): string {
  const isTaken = (name: string): boolean => table.uniqueKeys.some(key => sameName(key.name, name));
  let name = column;
  for (let n = 2; isTaken(name); n++) name = `${column}_${n}`;
  return name;
}

const withoutKey = (table: TableDefinition, name: string): TableDefinition =>
  sameName(name, 'PRIMARY')
    ? { ...table, primaryKey: [] }
    : { ...table, uniqueKeys: table.uniqueKeys.filter(key => !sameName(key.name, name)) };
