/** Checks of the source's config beyond single values. Options of Debezium that are not there yet are refused. */
import type { Config, ConfigError, ConfigValues } from '../../runtime/api/index.ts';
import { isShapingKey, parseShaping } from '../shared/columnShaping.ts';
import { misspeltKeys } from '../shared/misspeltKeys.ts';
import { signalKeyErrors } from '../shared/signalKeys.ts';
import { isOperations } from '../shared/skippedOperations.ts';
import { parseTableLists } from '../shared/tableLists.ts';
import { parseFilter } from '../shared/textFilter.ts';
import { sourceKeys } from './configKeys.ts';
import { parseStopPoint } from './source/stopPoint.ts';

type Values = ConfigValues<typeof sourceKeys>;

const invalid = (key: string, value: string, why: string): ConfigError => ({
  key,
  message: `Invalid value ${value} for configuration ${key}: ${why}`,
});

const isGiven = (value: string): boolean => value !== '' && !/^false$/i.test(value);
const always = (): boolean => true;

/** Options of Debezium that this connector does not have yet, and what would come of going on without them: nobody would notice. */
const REFUSED: readonly {
  readonly keys: RegExp;
  readonly isSet: (value: string) => boolean;
  readonly why: string;
}[] = [
  {
    keys: /^(converters|post\.processors|custom\.metric\.tags)$/,
    isSet: value => value !== '',
    why: 'not supported yet',
  },
  {
    keys: /^gtid\.source\.(includes|excludes)$/,
    isSet: isGiven,
    why: 'not supported: all transactions of the server are read',
  },
  {
    keys: /^topic\.naming\.strategy$/,
    isSet: value => !/(Default|Schema)TopicNamingStrategy$/.test(value),
    why: 'only the default strategy is supported, and topics would have other names',
  },
  {
    keys: /^database\.ssl\.(keystore|truststore)/,
    isSet: always,
    why: 'Java key stores are not read; use database.ssl.ca, database.ssl.cert and database.ssl.key with PEM files',
  },
];

/** Names of earlier versions of Debezium; read by nobody, they would change what is captured or how. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['database.server.name', 'topic.prefix'],
  ['table.whitelist', 'table.include.list'],
  ['table.blacklist', 'table.exclude.list'],
  ['database.whitelist', 'database.include.list'],
  ['database.blacklist', 'database.exclude.list'],
  ['column.whitelist', 'column.include.list'],
  ['column.blacklist', 'column.exclude.list'],
  ['heartbeat.topics.prefix', 'topic.heartbeat.prefix'],
  ['transaction.topic', 'topic.transaction'],
  ['database.history.kafka.topic', 'schema.history.internal.kafka.topic'],
  ['database.history.skip.unparseable.ddl', 'schema.history.internal.skip.unparseable.ddl'],
  ['sanitize.field.names', 'field.name.adjustment.mode'],
]);

/** Options without effect on events, or whose only supported value is the default. */
const IGNORED =
  /^(max\.queue\.size|errors\.max\.retries|snapshot\.max\.threads|snapshot\.isolation\.mode|streaming\.delay\.ms|signal\.poll\.interval\.ms|signal\.kafka\.(groupId|bootstrap\.servers|poll\.timeout\.ms)$|signal\.consumer\.|read\.only|incremental\.snapshot\.(allow|watermarking)\.|retriable\.restart\.connector\.wait\.ms|connection\.validation\.timeout\.ms|connect\.keep\.alive$|database\.(query\.timeout\.ms|initial\.statements|jdbc\.|connectionTimeZone|protocol)|driver\.|guardrail\.|topic\.cache\.size|snapshot\.tables\.order\.by\.row\.count|min\.row\.count\.to\.stream\.results|schema\.history\.(?!internal\.(kafka\.topic|skip\.unparseable\.ddl)$)|ddl\.parser\.type|inconsistent\.schema\.handling\.mode|enable\.time\.adjuster|binlog\.buffer\.size|use\.nongraceful\.disconnect|event\.deserialization\.|gtid\.ignore\.|internal\.|openlineage\.|advanced\.metrics\.)/;

/** Read beside the keys of the definition. */
const FURTHER = /^(snapshot\.select\.statement\.overrides\.|topic\.heartbeat\.name$)/;

/** Whether a key beyond the definition is read here, refused, or told to have no effect. */
export const readsKey = (key: string): boolean =>
  isShapingKey(key) ||
  FURTHER.test(key) ||
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
export function crossChecks(values: Partial<Values>, isMariaDb: boolean): ConfigError[] {
  const errors: ConfigError[] = [];
  for (const what of ['database', 'table', 'column'] as const) {
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
  const skipped = values['skipped.operations'];
  if (skipped !== undefined && !isOperations(skipped)) {
    errors.push(invalid('skipped.operations', skipped, 'a list of c, u, d, t, or none'));
  }
  const skippedByTable = values['table.skipped.operations'];
  if (skippedByTable) {
    try {
      parseTableLists(skippedByTable);
      const wrong = skippedByTable.split(';').find(rule => !isOperations(rule.slice(rule.lastIndexOf(':') + 1)));
      if (wrong !== undefined) throw new Error(`"${wrong.trim()}" does not end with a list of c, u, d, t, or none`);
    } catch (error) {
      errors.push(invalid('table.skipped.operations', skippedByTable, (error as Error).message));
    }
  }
  if (values['signal.data.collection'] && skipped !== undefined && /\bc\b/.test(skipped)) {
    errors.push(
      invalid(
        'skipped.operations',
        skipped,
        'signals are rows inserted into signal.data.collection: c cannot be skipped',
      ),
    );
  }
  const stopAt = values['stop.at'];
  if (stopAt) {
    try {
      parseStopPoint(stopAt, isMariaDb);
    } catch (error) {
      errors.push(invalid('stop.at', stopAt, `neither file:position nor a set of GTIDs: ${(error as Error).message}`));
    }
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
