/** What would stop the reading of captured tables as they are now, before hours of others are read: columns, keys, masks. */
import type { Connection } from 'mysql2/promise';
import { ConnectError } from '../../../runtime/api/index.ts';
import type { SourceSettings } from '../config.ts';
import type { TableName } from './catalog.ts';
import { TableVersions } from './tableVersions.ts';

const MOST_NAMES = 10;

export interface TablesReport {
  /** One a table. */
  readonly failures: readonly ConnectError[];
  /** null = all have a key. */
  readonly warning: string | null;
}

export async function checkTables(
  connection: Connection,
  settings: SourceSettings,
  tables: readonly TableName[],
): Promise<TablesReport> {
  const versions = new TableVersions(settings);
  const failures: ConnectError[] = [];
  const keyless: string[] = [];
  for (const table of tables) {
    try {
      const version = await versions.fromCatalog(connection, table);
      if (version?.keySchema === null) keyless.push(version.fullName);
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      failures.push(error);
    }
  }
  return { failures, warning: keyless.length === 0 ? null : keylessWarning(keyless) };
}

function keylessWarning(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  const shown = `${names.slice(0, MOST_NAMES).join(', ')}${more}`;
  return `these tables have no key, so that the order of their changes is lost between partitions: ${shown}; message.key.columns gives them one`;
}
