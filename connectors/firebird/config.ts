/** The source's configuration, parsed once into `SourceSettings`. */
import { join } from 'node:path';
import { type Config, type ConfigError, type ConfigValues, configDef } from '../../runtime/api/index.ts';
import type { NameAdjustment } from '../shared/eventNames.ts';
import { parseOperations } from '../shared/skippedOperations.ts';
import { parseTableLists, type TableLists } from '../shared/tableLists.ts';
import { parseFilter } from '../shared/textFilter.ts';
import { crossChecks, ignoredOptions, keyChecks } from './configChecks.ts';
import { sourceKeys } from './configKeys.ts';
import type { FirebirdAddress } from './connection.ts';
import type { DecimalMode } from './source/columnType.ts';

export const sourceConfigDef = configDef(sourceKeys);

export interface SourceSettings {
  readonly address: FirebirdAddress;
  readonly prefix: string;
  readonly topicDelimiter: string;
  readonly database: string;
  readonly directory: string;
  readonly verifiesCommits: boolean;
  readonly deletesSegments: boolean;
  /** 0 = none. */
  readonly heartbeatIntervalMs: number;
  readonly heartbeatTopic: string;
  /** null = transactions are not published. */
  readonly transactionTopic: string | null;
  readonly hasContextHeaders: boolean;
  readonly skippedOperations: ReadonlySet<string>;
  readonly pollIntervalMs: number;
  readonly errorTimeoutMs: number;
  readonly historyFile: string;
  readonly format: 'debezium' | 'journal';
  readonly journalTopic: string;
  readonly includesDdl: boolean;
  readonly includesSequences: boolean;
  readonly dumpsBlobs: boolean;
  readonly tables: (name: string) => boolean;
  readonly hasTableFilter: boolean;
  /** By TABLE.COLUMN. */
  readonly columns: (name: string) => boolean;
  readonly keyColumns: TableLists;
  readonly snapshotMode: 'initial' | 'always' | 'initial_only' | 'no_data' | 'when_needed';
  readonly snapshotTables: (name: string) => boolean;
  readonly fetchSize: number;
  readonly hasTombstones: boolean;
  readonly decimals: DecimalMode;
  readonly placeholder: string;
  readonly schemaNames: NameAdjustment;
  readonly fieldNames: NameAdjustment;
}

const lower = <T extends string>(value: string): T => value.toLowerCase() as T;

/** Settings of a valid config; `errors` says what is wrong with another one. `warning` names options that have no effect here. */
export function parseSettings(config: Config): {
  settings: SourceSettings | null;
  errors: readonly ConfigError[];
  warning: string | null;
} {
  const { values, errors: parseErrors } = sourceConfigDef.parse(config);
  const errors = [...parseErrors, ...keyChecks(config), ...crossChecks(values)];
  const warning = ignoredOptions(config);
  return errors.length > 0
    ? { settings: null, errors, warning }
    : { settings: settingsOf(config, values), errors, warning };
}

function settingsOf(config: Config, values: ConfigValues<typeof sourceKeys>): SourceSettings {
  const prefix = values['topic.prefix'];
  const directory = values['journal.source.dir'];
  return {
    address: {
      host: values['database.hostname'],
      port: values['database.port'],
      database: values['database.dbname'],
      user: values['database.user'],
      password: values['database.password'].reveal(),
      role: values['database.role'],
    },
    prefix,
    topicDelimiter: values['topic.delimiter'],
    database: values['database.dbname'],
    directory,
    verifiesCommits: values['journal.verify.commits'],
    deletesSegments: values['journal.delete.segments'],
    heartbeatIntervalMs: values['heartbeat.interval.ms'],
    heartbeatTopic: config['topic.heartbeat.name'] ?? `${values['topic.heartbeat.prefix']}.${prefix}`,
    transactionTopic: values['provide.transaction.metadata']
      ? `${prefix}${values['topic.delimiter']}${values['topic.transaction']}`
      : null,
    hasContextHeaders: values['extended.headers.enabled'],
    skippedOperations: parseOperations(values['skipped.operations']),
    pollIntervalMs: values['poll.interval.ms'],
    errorTimeoutMs: values['error.timeout.ms'],
    historyFile: values['schema.history.file'] ?? join(directory, `.millrace-${prefix}.json`),
    format: lower(values['event.format']),
    journalTopic: values['journal.topic'] ?? prefix,
    includesDdl: values['include.ddl'],
    includesSequences: values['include.sequences'],
    dumpsBlobs: values['dump.blobs'],
    hasTableFilter: values['table.include.list'] !== null || values['table.exclude.list'] !== null,
    tables: parseFilter(values['table.include.list'], values['table.exclude.list']),
    columns: parseFilter(values['column.include.list'], values['column.exclude.list']),
    keyColumns: parseTableLists(values['message.key.columns']),
    snapshotMode: /^(never|schema_only)$/i.test(values['snapshot.mode']) ? 'no_data' : lower(values['snapshot.mode']),
    snapshotTables: parseFilter(values['snapshot.include.collection.list'], null),
    fetchSize: values['snapshot.fetch.size'],
    hasTombstones: values['tombstones.on.delete'],
    decimals: lower(values['decimal.handling.mode']),
    placeholder: values['unavailable.value.placeholder'],
    schemaNames: lower(values['schema.name.adjustment.mode']),
    fieldNames: lower(values['field.name.adjustment.mode']),
  };
}
