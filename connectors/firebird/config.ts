/** The source's configuration, parsed once into `SourceSettings`. */
import { join } from 'node:path';
import { type Config, type ConfigError, configDef } from '../../runtime/api/index.ts';
import type { NameAdjustment } from '../shared/eventNames.ts';
import { type KeyColumns, parseKeyColumns } from '../shared/keyColumns.ts';
import { parseFilter } from '../shared/textFilter.ts';
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
  readonly deletesSegments: boolean;
  readonly pollIntervalMs: number;
  readonly errorTimeoutMs: number;
  readonly historyFile: string;
  readonly format: 'debezium' | 'journal';
  readonly journalTopic: string;
  readonly includesDdl: boolean;
  readonly includesSequences: boolean;
  readonly dumpsBlobs: boolean;
  readonly tables: (name: string) => boolean;
  readonly keyColumns: KeyColumns;
  readonly snapshotMode: 'initial' | 'no_data';
  readonly fetchSize: number;
  readonly hasTombstones: boolean;
  readonly decimals: DecimalMode;
  readonly placeholder: string;
  readonly schemaNames: NameAdjustment;
  readonly fieldNames: NameAdjustment;
}

export function parseSettings(config: Config): { settings: SourceSettings | null; errors: readonly ConfigError[] } {
  const { values, errors } = sourceConfigDef.parse(config);
  if (errors.length > 0) return { settings: null, errors };
  const problems: ConfigError[] = [];
  const checked = <T>(key: keyof typeof sourceKeys, parse: () => T): T | null => {
    try {
      return parse();
    } catch (error) {
      problems.push({
        key,
        message: `Invalid value ${config[key]} for configuration ${key}: ${(error as Error).message}`,
      });
      return null;
    }
  };
  const include = values['table.include.list'];
  const exclude = values['table.exclude.list'];
  if (include !== null && exclude !== null) {
    problems.push({
      key: 'table.exclude.list',
      message: `Invalid value ${exclude} for configuration table.exclude.list: only one of it and table.include.list can be set`,
    });
  }
  const tables = checked(include === null ? 'table.exclude.list' : 'table.include.list', () =>
    parseFilter(include, exclude),
  );
  const keyColumns = checked('message.key.columns', () => parseKeyColumns(values['message.key.columns']));
  if (tables === null || keyColumns === null || problems.length > 0) return { settings: null, errors: problems };
  const prefix = values['topic.prefix'];
  const directory = values['journal.source.dir'];
  const settings: SourceSettings = {
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
    deletesSegments: values['journal.delete.segments'],
    pollIntervalMs: values['poll.interval.ms'],
    errorTimeoutMs: values['error.timeout.ms'],
    historyFile: values['schema.history.file'] ?? join(directory, `.millrace-${prefix}.json`),
    format: values['event.format'].toLowerCase() as SourceSettings['format'],
    journalTopic: values['journal.topic'] ?? prefix,
    includesDdl: values['include.ddl'],
    includesSequences: values['include.sequences'],
    dumpsBlobs: values['dump.blobs'],
    tables,
    keyColumns,
    snapshotMode: values['snapshot.mode'].toLowerCase() as SourceSettings['snapshotMode'],
    fetchSize: values['snapshot.fetch.size'],
    hasTombstones: values['tombstones.on.delete'],
    decimals: values['decimal.handling.mode'].toLowerCase() as DecimalMode,
    placeholder: values['unavailable.value.placeholder'],
    schemaNames: values['schema.name.adjustment.mode'].toLowerCase() as NameAdjustment,
    fieldNames: values['field.name.adjustment.mode'].toLowerCase() as NameAdjustment,
  };
  return { settings, errors: [] };
}
