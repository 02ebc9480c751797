/** The settings of a snapshot that a signal asks for: its tables and conditions in place of those of the config. */

import type { SourceSettings } from '../config.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import { fullName } from './catalog.ts';
import type { BlockingRequest } from './incrementalSnapshot.ts';

/** A condition is what stands behind WHERE, or, as Debezium has it for these snapshots, a whole SELECT. */
export function blockingSettings(settings: SourceSettings, { tables, filters }: BlockingRequest): SourceSettings {
  const selects = new Map(settings.snapshot.selects);
  for (const table of tables) {
    const filter = filters.get(fullName(table));
    if (filter === undefined) continue;
    const name = [table.database, table.name].map(quoteIdentifier).join('.');
    selects.set(fullName(table), /^\s*select\b/i.test(filter) ? filter : `SELECT * FROM ${name} WHERE ${filter}`);
  }
  return { ...settings, snapshot: { ...settings.snapshot, tables: () => true, selects, delayMs: 0 } };
}
