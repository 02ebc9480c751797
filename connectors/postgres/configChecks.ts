/** Checks of the source's config beyond single values. Options of Debezium that would change events and are not there yet are refused. */
import type { Config, ConfigError, ConfigValues } from '../../runtime/api/index.ts';
import { misspeltKeys } from '../shared/misspeltKeys.ts';
import { sourceKeys } from './configKeys.ts';
import { parseFilter } from './source/filters.ts';
import { parseKeyColumns } from './source/keyColumns.ts';

type Values = ConfigValues<typeof sourceKeys>;

const invalid = (key: string, value: string, why: string): ConfigError => ({
  key,
  message: `Invalid value ${value} for configuration ${key}: ${why}`,
});

/** Options of Debezium that change events and that this connector does not have yet: their effect would be missed without a word. */
const REFUSED: readonly (readonly [RegExp, (value: string) => boolean])[] = [
  [/^column\.(mask|truncate)\./, () => true],
  [/^(column|datatype)\.propagate\.source\.type$/, () => true],
  [/^(converters|post\.processors|custom\.metric\.tags)$/, value => value !== ''],
  [
    /^include\.unknown\.datatypes$|^skip\.messages\.without\.change$|^include\.schema\.comments$/,
    value => /^true$/i.test(value),
  ],
  [
    /^signal\.data\.collection$|^read\.only$|^replica\.identity\.autoset\.values$/,
    value => value !== '' && value !== 'false',
  ],
  [/^topic\.naming\.strategy$/, value => !/SchemaTopicNamingStrategy$/.test(value)],
  [/^xmin\.fetch\.interval\.ms$/, value => value !== '0'],
];

/** Options without effect on events, or whose only supported value is the default. */
const IGNORED =
  /^(max\.queue\.size|errors\.max\.retries|snapshot\.max\.threads|snapshot\.isolation\.mode|streaming\.delay\.ms|signal\.(enabled\.channels|poll\.interval\.ms)|notification\.|incremental\.snapshot\.|retriable\.restart\.connector\.wait\.ms|connection\.validation\.timeout\.ms|flush\.lsn\.source|offset\.mismatch\.strategy|schema\.refresh\.mode|slot\.stream\.params|xmin\.fetch\.interval\.ms|database\.(query\.timeout\.ms|sslfactory)|guardrail\.|topic\.cache\.size|snapshot\.tables\.order\.by\.row\.count|schema\.history\.|lsn\.flush\.|openlineage\.|advanced\.metrics\.)/;

/** Read beside the keys of the definition. */
const FURTHER = /^(snapshot\.select\.statement\.overrides\.|topic\.heartbeat\.name$)/;

/** Whether a key beyond the definition is read here, refused, or told to have no effect. */
export const readsKey = (key: string): boolean =>
  FURTHER.test(key) || IGNORED.test(key) || REFUSED.some(([name]) => name.test(key));

/** A warning that names options of Debezium that do nothing here; null = there are none. */
export function ignoredOptions(config: Config): string | null {
  const ignored = Object.keys(config).filter(key => IGNORED.test(key));
  return ignored.length === 0 ? null : `these options have no effect in this connector: ${ignored.join(', ')}`;
}

/** What single values do not show: options that exclude each other, malformed lists, options that are refused. */
export function crossChecks(config: Config, values: Partial<Values>): ConfigError[] {
  const errors: ConfigError[] = [];
  for (const [key, value] of Object.entries(config)) {
    if (REFUSED.some(([name, isSet]) => name.test(key) && isSet(value))) {
      errors.push(
        invalid(key, value, 'this option of Debezium is not supported yet and would change events; remove it'),
      );
    }
  }
  // A misspelt filter would capture everything.
  errors.push(...misspeltKeys(config, Object.keys(sourceKeys), readsKey));
  const plugin = values['plugin.name'];
  if (plugin !== undefined && plugin !== 'pgoutput') {
    errors.push(
      invalid(
        'plugin.name',
        plugin,
        'only pgoutput is supported; it comes with every PostgreSQL server, so set plugin.name=pgoutput (a slot made with another plug-in cannot be used)',
      ),
    );
  }
  for (const what of ['schema', 'table', 'column', 'message.prefix'] as const) {
    if (values[`${what}.include.list`] && values[`${what}.exclude.list`]) {
      errors.push(
        invalid(
          `${what}.exclude.list`,
          String(values[`${what}.exclude.list`]),
          `${what}.include.list is already set; use only one of them`,
        ),
      );
    }
  }
  for (const key of Object.keys(sourceKeys).filter(k => k.endsWith('.list')) as (keyof Values)[]) {
    const value = values[key];
    if (typeof value !== 'string') continue;
    try {
      parseFilter(value, null);
    } catch (error) {
      errors.push(invalid(key, value, `a regular expression is malformed: ${(error as Error).message}`));
    }
  }
  const slot = values['slot.name'];
  if (slot !== undefined && !/^[a-z0-9_]{1,63}$/.test(slot)) {
    errors.push(invalid('slot.name', slot, 'only lower-case letters, digits and underscores are allowed, at most 63'));
  }
  const skipped = values['skipped.operations'];
  if (skipped !== undefined && !/^\s*(none|[cudt](\s*,\s*[cudt])*)?\s*$/.test(skipped)) {
    errors.push(invalid('skipped.operations', skipped, 'a list of c, u, d, t, or none'));
  }
  const keyColumns = values['message.key.columns'];
  if (keyColumns) {
    try {
      parseKeyColumns(keyColumns);
    } catch (error) {
      errors.push(invalid('message.key.columns', keyColumns, (error as Error).message));
    }
  }
  return errors;
}
