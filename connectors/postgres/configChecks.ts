/** Checks of the source's config beyond single values. Options of Debezium that are not there yet are refused. */
import type { Config, ConfigError, ConfigValues } from '../../runtime/api/index.ts';
import { isShapingKey, parseShaping } from '../shared/columnShaping.ts';
import { misspeltKeys } from '../shared/misspeltKeys.ts';
import { signalKeyErrors } from '../shared/signalKeys.ts';
import { isOperations } from '../shared/skippedOperations.ts';
import { parseTableLists } from '../shared/tableLists.ts';
import { parseFilter } from '../shared/textFilter.ts';
import { sourceKeys } from './configKeys.ts';

type Values = ConfigValues<typeof sourceKeys>;

const invalid = (key: string, value: string, why: string): ConfigError => ({
  key,
  message: `Invalid value ${value} for configuration ${key}: ${why}`,
});

const isGiven = (value: string): boolean => value !== '' && !/^false$/i.test(value);

/** Options of Debezium that this connector does not have yet, and what would come of going on without them: nobody would notice. */
const REFUSED: readonly {
  readonly keys: RegExp;
  readonly isSet: (value: string) => boolean;
  readonly why: string;
}[] = [
  {
    keys: /^(converters|post\.processors)$/,
    isSet: value => value !== '',
    why: 'not supported yet, and events would differ',
  },
  { keys: /^custom\.metric\.tags$/, isSet: value => value !== '', why: 'not supported yet' },
  {
    keys: /^(include\.unknown\.datatypes|include\.schema\.comments)$/,
    isSet: isGiven,
    why: 'not supported yet, and events would differ',
  },
  {
    keys: /^replica\.identity\.autoset\.values$/,
    isSet: isGiven,
    why: 'not supported yet, set it with ALTER TABLE ... REPLICA IDENTITY',
  },
  {
    keys: /^topic\.naming\.strategy$/,
    isSet: value => !/SchemaTopicNamingStrategy$/.test(value),
    why: 'only SchemaTopicNamingStrategy is supported yet, and topics would have other names',
  },
  { keys: /^xmin\.fetch\.interval\.ms$/, isSet: value => value !== '0', why: 'not supported yet' },
];

/** Names of earlier versions of Debezium; read by nobody, they would change what is captured or how. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['database.server.name', 'topic.prefix'],
  ['table.whitelist', 'table.include.list'],
  ['table.blacklist', 'table.exclude.list'],
  ['schema.whitelist', 'schema.include.list'],
  ['schema.blacklist', 'schema.exclude.list'],
  ['column.whitelist', 'column.include.list'],
  ['column.blacklist', 'column.exclude.list'],
  ['slot.drop_on_stop', 'slot.drop.on.stop'],
  ['toasted.value.placeholder', 'unavailable.value.placeholder'],
  ['heartbeat.topics.prefix', 'topic.heartbeat.prefix'],
  ['transaction.topic', 'topic.transaction'],
  ['sanitize.field.names', 'field.name.adjustment.mode'],
]);

/** Options without effect on events, or whose only supported value is the default. */
const IGNORED =
  /^(max\.queue\.size|errors\.max\.retries|snapshot\.isolation\.mode|streaming\.delay\.ms|signal\.poll\.interval\.ms|signal\.kafka\.(groupId|bootstrap\.servers|poll\.timeout\.ms)$|signal\.consumer\.|read\.only|incremental\.snapshot\.(allow|watermarking)\.|retriable\.restart\.connector\.wait\.ms|connection\.validation\.timeout\.ms|flush\.lsn\.source|offset\.mismatch\.strategy|schema\.refresh\.mode|slot\.stream\.params|xmin\.fetch\.interval\.ms|database\.(query\.timeout\.ms|sslfactory)|guardrail\.|topic\.cache\.size|snapshot\.tables\.order\.by\.row\.count|schema\.history\.|lsn\.flush\.|openlineage\.|advanced\.metrics\.)/;

/** Read beside the keys of the definition. */
const FURTHER = /^(snapshot\.select\.statement\.overrides\.|topic\.heartbeat\.name$)/;

/** Whether a key beyond the definition is read here, refused, or told to have no effect. */
export const readsKey = (key: string): boolean =>
  FURTHER.test(key) ||
  isShapingKey(key) ||
  IGNORED.test(key) ||
  RENAMED.has(key) ||
  REFUSED.some(({ keys }) => keys.test(key));

/** A warning that names options of Debezium that do nothing here; null = there are none. */
export function ignoredOptions(config: Config): string | null {
  const ignored = Object.keys(config).filter(key => IGNORED.test(key));
  return ignored.length === 0 ? null : `these options have no effect in this connector: ${ignored.join(', ')}`;
}

/** Keys that are refused by their name: outdated, not supported, or misspelt, such as a filter without which everything would be captured. */
export function keyChecks(config: Config): ConfigError[] {
  const errors: ConfigError[] = [];
  for (const [key, value] of Object.entries(config)) {
    const successor = RENAMED.get(key);
    if (successor !== undefined) {
      errors.push({ key, message: `Unknown configuration ${key}: Debezium calls it ${successor} now; use that name` });
    }
    const refused = REFUSED.find(({ keys, isSet }) => keys.test(key) && isSet(value));
    if (refused !== undefined) errors.push(invalid(key, value, `${refused.why}; remove it`));
  }
  return [
    ...errors,
    ...signalKeyErrors(config),
    ...parseShaping(config).errors,
    ...misspeltKeys(config, Object.keys(sourceKeys), readsKey),
  ];
}

/** What single values do not show: options that exclude each other, malformed lists. */
export function crossChecks(values: Partial<Values>): ConfigError[] {
  const errors: ConfigError[] = [];
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
  if (skipped !== undefined && !isOperations(skipped)) {
    errors.push(invalid('skipped.operations', skipped, 'a list of c, u, d, t, or none'));
  }
  const signals = values['signal.data.collection'];
  if (signals && skipped !== undefined && /\bc\b/.test(skipped)) {
    errors.push(
      invalid(
        'skipped.operations',
        skipped,
        'signals are rows inserted into signal.data.collection: c cannot be skipped',
      ),
    );
  }
  const keyColumns = values['message.key.columns'];
  if (keyColumns) {
    try {
      parseTableLists(keyColumns);
    } catch (error) {
      errors.push(invalid('message.key.columns', keyColumns, (error as Error).message));
    }
  }
  return errors;
}
