/** From a topic (and the `source` of its events) to the name of the target table, in the ways that users of JDBC sinks write it. */
import { ConnectError } from '../../runtime/api/index.ts';

export interface TableNameRules {
  /** `${topic}`, `${source.<field>}` and fixed text. */
  readonly format: string;
  /** topic -> table, before the format. */
  readonly mapping: ReadonlyMap<string, string>;
  /** Characters outside [A-Za-z0-9_] of the topic become `_`. */
  readonly normalize: boolean;
  /** As the Debezium sink does: dots of the topic become `_`. */
  readonly dotsToUnderscores: boolean;
}

export interface TableName {
  readonly schema: string | null;
  readonly table: string;
}

/** The fields of `source` that the name needs. */
export const sourceFieldsOf = (format: string): readonly string[] => [
  ...new Set([...format.matchAll(/\$\{source\.([^}]+)\}/g)].map(m => m[1]!)),
];

/** `source` gives a field of the event's source block; undefined = the record has none. */
export function tableNameOf(topic: string, source: (field: string) => unknown, rules: TableNameRules): TableName {
  const mapped = rules.mapping.get(topic);
  if (mapped !== undefined) return splitName(mapped);
  let name = topic;
  if (rules.normalize) name = name.replaceAll(/[^A-Za-z0-9_]/g, '_');
  else if (rules.dotsToUnderscores) name = name.replaceAll('.', '_');
  return splitName(
    rules.format.replaceAll(/\$\{(topic|source\.[^}]+)\}/g, (_, key: string) => {
      if (key === 'topic') return name;
      const value = source(key.slice('source.'.length));
      if (typeof value !== 'string' || value === '')
        throw new ConnectError(
          'SINK_TABLE_NAME',
          `table.name.format names \${${key}}, but the record has no such field in its source block; only change events with an envelope have one`,
          { place: { topic } },
        );
      return value;
    }),
  );
}

/** `table`, `schema.table`, or `catalog.schema.table`, whose first part (a topic prefix, mostly) is left out. Quoted parts may contain dots. */
export function splitName(name: string): TableName {
  const parts = [...name.matchAll(/"((?:[^"]|"")*)"|([^.]+)/g)].map(m => m[1]?.replaceAll('""', '"') ?? m[2]!);
  const table = parts.at(-1);
  if (table === undefined) throw new ConnectError('SINK_TABLE_NAME', `"${name}" is no table name`);
  return { schema: parts.at(-2) ?? null, table };
}

/** `topic:table` pairs, as `topics.to.tables.mapping` has them. Returns the first pair that is not one as an error text. */
export function parseMapping(pairs: readonly string[]): Map<string, string> | string {
  const mapping = new Map<string, string>();
  for (const pair of pairs) {
    const [topic, table, ...rest] = pair.split(':');
    if (!topic || !table || rest.length > 0) return `"${pair}" is not topic:table`;
    mapping.set(topic, table);
  }
  return mapping;
}
