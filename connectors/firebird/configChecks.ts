/** Checks of the source's config beyond single values: options that exclude each other, lists, and options of Debezium that are not there. */
import type { Config, ConfigError, ConfigValues } from '../../runtime/api/index.ts';
import { misspeltKeys } from '../shared/misspeltKeys.ts';
import { isOperations } from '../shared/skippedOperations.ts';
import { parseTableLists } from '../shared/tableLists.ts';
import { parseFilter } from '../shared/textFilter.ts';
import { sourceKeys } from './configKeys.ts';

type Values = ConfigValues<typeof sourceKeys>;

const invalid = (key: string, value: string, why: string): ConfigError => ({
  key,
  message: `Invalid value ${value} for configuration ${key}: ${why}`,
});

/** Options of Debezium without which events would be others than asked for. */
const REFUSED: readonly { readonly keys: RegExp; readonly why: string }[] = [
  { keys: /^column\.(mask|truncate)\./, why: 'not supported yet, and values would be published in full' },
  {
    keys: /^(column|datatype)\.propagate\.source\.type$/,
    why: 'not supported yet, and schemas would lack the source types',
  },
  { keys: /^(converters|post\.processors)$/, why: 'not supported yet' },
  { keys: /^signal\.data\.collection$/, why: 'signals and incremental snapshots are not supported yet' },
  {
    keys: /^(time\.precision\.mode|binary\.handling\.mode)$/,
    why: 'not supported yet, and values would have another form',
  },
];

/** Options of Debezium without effect on events. */
const IGNORED =
  /^(max\.queue\.size|max\.batch\.size|errors\.max\.retries|snapshot\.max\.threads|signal\.(enabled\.channels|poll\.interval\.ms)|notification\.|retriable\.restart\.connector\.wait\.ms|guardrail\.|topic\.cache\.size|schema\.history\.internal|internal\.|openlineage\.|advanced\.metrics\.)/;

const FURTHER = /^topic\.heartbeat\.name$/;
const readsKey = (key: string): boolean =>
  FURTHER.test(key) || IGNORED.test(key) || REFUSED.some(({ keys }) => keys.test(key));

/** A warning that names options of Debezium that do nothing here; null = there are none. */
export function ignoredOptions(config: Config): string | null {
  const ignored = Object.keys(config).filter(key => IGNORED.test(key));
  return ignored.length === 0 ? null : `these options have no effect in this connector: ${ignored.join(', ')}`;
}

/** Keys that are refused by their name: not supported, or misspelt, such as a filter without which everything would be captured. */
export function keyChecks(config: Config): ConfigError[] {
  const refused = Object.entries(config).flatMap(([key, value]) => {
    const found = REFUSED.find(({ keys }) => keys.test(key));
    return found === undefined || value === '' ? [] : [invalid(key, value, `${found.why}; remove it`)];
  });
  return [...refused, ...misspeltKeys(config, Object.keys(sourceKeys), readsKey)];
}

export function crossChecks(values: Partial<Values>): ConfigError[] {
  const errors: ConfigError[] = [];
  const checked = (key: keyof Values & string, parse: (value: string) => unknown): void => {
    const value = values[key];
    if (typeof value !== 'string') return;
    try {
      parse(value);
    } catch (error) {
      errors.push(invalid(key, value, (error as Error).message));
    }
  };
  for (const what of ['table', 'column'] as const) {
    const include = values[`${what}.include.list`];
    const exclude = values[`${what}.exclude.list`];
    if (include != null && exclude != null) {
      errors.push(invalid(`${what}.exclude.list`, exclude, `only one of it and ${what}.include.list can be set`));
    }
    checked(`${what}.include.list`, value => parseFilter(value, null));
    checked(`${what}.exclude.list`, value => parseFilter(value, null));
  }
  checked('snapshot.include.collection.list', value => parseFilter(value, null));
  checked('message.key.columns', parseTableLists);
  const skipped = values['skipped.operations'];
  if (skipped !== undefined && !isOperations(skipped)) {
    errors.push(invalid('skipped.operations', skipped, 'a list of c, u, d, t, or none'));
  }
  const mode = values['snapshot.mode'];
  if (mode !== undefined && /^journal$/i.test(values['event.format'] ?? '') && /^(initial_only|always)$/i.test(mode)) {
    errors.push(invalid('snapshot.mode', mode, 'event.format=journal reads no rows; leave it out, or set no_data'));
  }
  return errors;
}
