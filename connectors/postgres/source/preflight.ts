/**
 * All that can be known to be wrong before anything is created, in one report: each problem with its code and what to change. Used by validation and by
 * the start of a task.
 */
import type pg from 'pg';
import { ConnectError, type ErrorCode } from '../../../runtime/api/index.ts';
import type { SourceSettings } from '../config.ts';
import { fullName, listTables, type TableName } from './catalog.ts';
import { MODERN_SINCE, ORIGIN_SINCE, TWO_PHASE_SINCE } from './pluginOptions.ts';
import { type StoredOffset, toldFlushed } from './position.ts';
import { isStandby, readPublication, readSlot, type SlotState, serverVersion, slotAhead } from './server.ts';

const OLDEST_VERSION = 130000;

export interface Problem {
  readonly code: ErrorCode;
  /** Config key that it is shown at. */
  readonly key: string;
  readonly message: string;
}

export interface PreflightReport {
  readonly problems: readonly Problem[];
  /** Oddities that do not stop the connector. */
  readonly warnings: readonly string[];
  readonly serverVersion: number;
  readonly isStandby: boolean;
  readonly slot: SlotState | null;
  readonly hasPublication: boolean;
  /** Captured tables in order of schema and name. */
  readonly tables: readonly TableName[];
  /** Those and the signal table: what has to be published. */
  readonly published: readonly TableName[];
}

/** `stored` null = offsets are not known here (validation). */
export async function preflight(
  client: pg.Client,
  settings: SourceSettings,
  stored: StoredOffset | null,
): Promise<PreflightReport> {
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const add = (code: ErrorCode, key: string, message: string): void => {
    problems.push({ code, key, message });
  };
  const version = await serverVersion(client);
  if (version < OLDEST_VERSION) {
    add(
      'PG_VERSION_UNSUPPORTED',
      'database.hostname',
      `The server is PostgreSQL ${Math.floor(version / 10000)}; 13 or newer is needed.`,
    );
  }
  const needsSlot = settings.snapshot.mode !== 'initial_only';
  const slot = await readSlot(client, settings.slot.name);
  if (needsSlot) {
    await checkServer(client, settings, slot, add);
    checkOrigin(settings, version, add);
    checkTwoPhase(settings, version, add);
    checkSlot(settings, slot, stored, add);
  }
  const all = await listTables(client);
  const tables = all.filter(table => settings.tables(fullName(table), table.schema));
  if (tables.length === 0) checkFilters(settings, all, stored, add, warnings);
  else if (settings.snapshot.mode !== 'no_data') await checkRights(client, settings, tables, add);
  const published = all.filter(table => tables.includes(table) || fullName(table) === settings.signalTable);
  checkSignals(settings, published, version, add);
  const hasPublication = needsSlot ? await checkPublication(client, settings, published, add, warnings) : true;
  warnIdentity(tables, warnings);
  return {
    problems,
    warnings,
    serverVersion: version,
    isStandby: await isStandby(client),
    slot,
    hasPublication,
    tables,
    published,
  };
}

type Add = (code: ErrorCode, key: string, message: string) => void;

async function checkServer(
  client: pg.Client,
  settings: SourceSettings,
  slot: SlotState | null,
  add: Add,
): Promise<void> {
  const { rows } = await client.query(
    `SELECT current_setting('wal_level') AS wal_level, current_setting('max_replication_slots')::int AS max_slots,
            current_setting('max_wal_senders')::int AS max_senders, (SELECT count(*)::int FROM pg_replication_slots) AS slots,
            (SELECT count(*)::int FROM pg_stat_replication) AS senders,
            (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user) OR EXISTS (
               SELECT 1 FROM pg_roles WHERE rolname IN ('rds_replication', 'azure_pg_admin', 'cloudsqlsuperuser')
                AND pg_has_role(current_user, oid, 'member')) AS may_replicate`,
  );
  const row = rows[0];
  if (row.wal_level !== 'logical') {
    add(
      'PG_WAL_LEVEL',
      'database.hostname',
      `wal_level is ${row.wal_level}; set wal_level=logical and restart the server.`,
    );
  }
  if (!row.may_replicate) {
    add(
      'PG_REPLICATION_DENIED',
      'database.user',
      `User "${settings.user}" may not replicate; run ALTER ROLE "${settings.user}" REPLICATION.`,
    );
  }
  if (slot === null && row.slots >= row.max_slots) {
    add(
      'PG_SLOTS_FULL',
      'slot.name',
      `All ${row.max_slots} replication slots are taken; drop unused ones or raise max_replication_slots.`,
    );
  }
  if (row.senders >= row.max_senders) {
    add('PG_SENDERS_FULL', 'database.hostname', `All ${row.max_senders} WAL senders are busy; raise max_wal_senders.`);
  }
}

function checkSlot(settings: SourceSettings, slot: SlotState | null, stored: StoredOffset | null, add: Add): void {
  const name = settings.slot.name;
  const isNeeded = settings.snapshot.mode !== 'when_needed';
  if (slot === null) {
    if (stored?.state === 'streaming' && isNeeded) {
      add(
        'PG_SLOT_MISSING',
        'slot.name',
        `The slot "${name}" does not exist, but there is a stored position: changes made since the slot was dropped cannot be read. Reset the offsets of the connector to read all rows again, or use snapshot.mode=when_needed.`,
      );
    }
    return;
  }
  if (slot.plugin !== 'pgoutput' || slot.database !== settings.database) {
    add(
      'PG_SLOT_INVALID',
      'slot.name',
      `The slot "${name}" is of plug-in ${slot.plugin ?? 'none (physical)'} in database ${slot.database ?? 'none'}; it must be of pgoutput in ${settings.database}. Choose another slot.name or drop it.`,
    );
  }
  if (slot.isTwoPhase && !settings.slot.isTwoPhase) {
    add(
      'PG_SLOT_INVALID',
      'slot.name',
      `The slot "${name}" sends transactions when they are prepared. Set slot.two.phase=true, or drop the slot and let the connector create it.`,
    );
  }
  const ahead = stored === null ? null : slotAhead(name, slot, toldFlushed(stored));
  if (ahead !== null && isNeeded) add('PG_SLOT_AHEAD', 'slot.name', ahead);
  if (stored !== null && stored.state !== 'streaming' && slot.activePid !== null) {
    add(
      'PG_SLOT_ACTIVE',
      'slot.name',
      `The slot "${name}" is in use by process ${slot.activePid} of the server, and this connector has not begun to read from it. Give each connector its own slot.name.`,
    );
  }
  if (slot.walStatus === 'lost' && isNeeded && stored?.state !== 'snapshotting') {
    add(
      'PG_SLOT_LOST',
      'slot.name',
      `The server removed WAL that the slot "${name}" needs. Raise max_slot_wal_keep_size, drop the slot and reset the offsets of the connector, or use snapshot.mode=when_needed.`,
    );
  }
}

function checkTwoPhase(settings: SourceSettings, version: number, add: Add): void {
  if (!settings.slot.isTwoPhase || version >= TWO_PHASE_SINCE) return;
  add(
    'PG_VERSION_UNSUPPORTED',
    'slot.two.phase',
    'slot.two.phase needs PostgreSQL 15 or newer. Remove it: prepared transactions are then sent after their commit.',
  );
}

function checkOrigin(settings: SourceSettings, version: number, add: Add): void {
  if (settings.publication.origin === 'any' || version >= ORIGIN_SINCE) return;
  add(
    'PG_VERSION_UNSUPPORTED',
    'publish.origin',
    'publish.origin=none needs PostgreSQL 16 or newer. Remove it: the changes that came by replication are then published too, with their origin in source.',
  );
}

function checkSignals(settings: SourceSettings, published: readonly TableName[], version: number, add: Add): void {
  const { signalTable, signalTopic } = settings;
  if (signalTable === null && signalTopic === null) return;
  if (signalTable !== null && !published.some(table => fullName(table) === signalTable)) {
    add(
      'PG_SIGNAL_TABLE_MISSING',
      'signal.data.collection',
      `The table ${signalTable} does not exist. Create it: CREATE TABLE ${signalTable} (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL).`,
    );
  }
  if (version < MODERN_SINCE) {
    add(
      'PG_VERSION_UNSUPPORTED',
      signalTable === null ? 'signal.enabled.channels' : 'signal.data.collection',
      'Incremental snapshots need PostgreSQL 14 or newer, whose streams carry logical messages. Remove signal.data.collection and the channel kafka.',
    );
  }
}

/** For no captured table. Without filters, databases may start empty; a connector that was streaming may have seen its tables dropped. */
function checkFilters(
  settings: SourceSettings,
  all: readonly TableName[],
  stored: StoredOffset | null,
  add: Add,
  warnings: string[],
): void {
  const { tableFilters: filters, publication } = settings;
  const isFiltered = publication.autocreate === 'filtered';
  if (filters.length === 0) {
    if (isFiltered) {
      add(
        'PG_TABLES_MISSING',
        'publication.autocreate.mode',
        `The database "${settings.database}" has no tables, and publication.autocreate.mode=filtered needs one. Create tables first, or choose all_tables.`,
      );
    }
    return;
  }
  const given = filters.map(({ key, value }) => `${key}=${value}`).join(' and ');
  const there = all.length === 0 ? 'no tables' : shorten(all.map(fullName), 20);
  const message = `No table matches ${given}. The database "${settings.database}" has ${there}. Patterns are regular expressions that must match the whole name, for tables schema.table.`;
  if (stored?.state === 'streaming' && !isFiltered) warnings.push(message);
  else add('PG_TABLES_MISSING', filters[0]!.key, message);
}

async function checkRights(
  client: pg.Client,
  settings: SourceSettings,
  tables: readonly TableName[],
  add: Add,
): Promise<void> {
  const { rows } = await client.query(
    `SELECT c.oid::int8::text AS oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.oid = ANY ('{${tables.map(t => t.oid).join(',')}}'::oid[])
        AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE'))`,
  );
  const denied = new Set(rows.map(row => Number(row.oid)));
  const names = tables.filter(table => denied.has(table.oid)).map(fullName);
  if (names.length > 0) {
    add(
      'PG_TABLE_DENIED',
      'database.user',
      `User "${settings.user}" may not read ${shorten(names)}; grant SELECT on them and USAGE on their schemas.`,
    );
  }
}

async function checkPublication(
  client: pg.Client,
  settings: SourceSettings,
  tables: readonly TableName[],
  add: Add,
  warnings: string[],
): Promise<boolean> {
  const { name, autocreate } = settings.publication;
  const publication = await readPublication(client, name);
  if (publication === null) {
    if (autocreate === 'disabled') {
      add(
        'PG_PUBLICATION_MISSING',
        'publication.name',
        `The publication "${name}" does not exist and publication.autocreate.mode is disabled. Create it, or choose all_tables or filtered.`,
      );
      return false;
    }
    const { rows } = await client.query(
      `SELECT rolsuper AS super, has_database_privilege(current_database(), 'CREATE') AS may_create FROM pg_roles WHERE rolname = current_user`,
    );
    const isAllowed = rows[0].super || (autocreate !== 'all_tables' && rows[0].may_create);
    if (!isAllowed) {
      add(
        'PG_PUBLICATION_DENIED',
        'publication.autocreate.mode',
        `User "${settings.user}" may not create the publication "${name}" ${autocreate === 'all_tables' ? 'for all tables, which needs a superuser; use filtered, or create it yourself' : 'without CREATE on the database'}.`,
      );
    }
    return false;
  }
  if (!publication.isAllTables && autocreate !== 'filtered') {
    const left = tables.filter(table => !isPublished(table, publication.tables)).map(fullName);
    if (left.length > 0) {
      const message = `The publication "${name}" leaves out ${shorten(left)}: their changes will not come. Add them with ALTER PUBLICATION, or leave them out of the filters.`;
      // A publication that holds none of the tables is a mistake; one that holds some may be meant so.
      if (left.length === tables.length) add('PG_PUBLICATION_INCOMPLETE', 'publication.name', message);
      else warnings.push(message);
    }
  }
  return true;
}

/** pg_publication_tables names either a root or its partitions. */
const isPublished = (table: TableName, published: ReadonlySet<string>): boolean =>
  published.has(fullName(table)) || table.kind === 'partitioned' || table.isPartition;

function warnIdentity(tables: readonly TableName[], warnings: string[]): void {
  const without = tables
    .filter(t => t.kind === 'table' && (t.replicaIdentity === 'n' || (t.replicaIdentity === 'd' && !t.hasPrimaryKey)))
    .map(fullName);
  if (without.length > 0) {
    warnings.push(
      `${shorten(without)} ${without.length === 1 ? 'has' : 'have'} neither a primary key nor another replica identity: once published, UPDATE and DELETE on them fail in the application. Add a key or set REPLICA IDENTITY.`,
    );
  }
}

const shorten = (names: readonly string[], most = 10): string =>
  names.length <= most ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${names.length - most} more`;

/** One error for all problems: the code of the first, the texts of all. */
export function preflightError(problems: readonly Problem[]): ConnectError {
  const [first] = problems;
  const text = problems.map(({ code, message }, i) => (i === 0 ? message : `Also [${code}] ${message}`));
  return new ConnectError(first!.code, text.join(' '));
}
