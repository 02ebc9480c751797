/**
 * All that can be known to be wrong before anything is read, in one report: each problem with its code and what to change. Used by validation and by the
 * start of a task.
 */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { ConnectError, type ErrorCode } from '../../../runtime/api/index.ts';
import type { SourceSettings } from '../config.ts';
import { quoteIdentifier } from '../quoteIdentifier.ts';
import { fullName, listTables, type TableName } from './catalog.ts';
import { checkTables } from './checkTables.ts';
import { errnoOf } from './connection.ts';
import { hasLog } from './hasLog.ts';
import type { StoredOffset } from './position.ts';
import { readVariables, readVersion, replicaIds } from './server.ts';

const OLDEST = { mysql: 80000, mariadb: 100600 } as const;

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
  /** Captured tables in order of name. */
  readonly tables: readonly TableName[];
  /** Whether the log names columns: else a history of tables is needed. */
  readonly hasFullMetadata: boolean;
  /** Whether the log behind the stored position is still there; true where there is none. */
  readonly hasLog: boolean;
}

/** `stored` null = offsets are not known here (validation). */
export async function preflight(
  connection: Connection,
  settings: SourceSettings,
  stored: StoredOffset | null,
): Promise<PreflightReport> {
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const add = (code: ErrorCode, key: string, message: string): void => {
    problems.push({ code, key, message });
  };
  await checkVersion(connection, settings, add);
  const variables = await readVariables(connection, VARIABLES);
  const hasFullMetadata =
    settings.snapshot.mode === 'initial_only' || checkSettings(variables, settings, add, warnings);
  await checkRights(connection, settings, locks(variables, settings, stored), add);
  await checkReplicas(connection, settings, warnings);
  const all = await listTables(connection);
  const tables = all.filter(table => settings.tables(fullName(table), table.database));
  await checkReadable(connection, settings, tables, add);
  if (stored?.state !== 'streaming') {
    // Tables of the past are told by the log.
    const { failures, warning } = await checkTables(connection, settings, tables);
    for (const { code, message } of failures) add(code, TABLE_KEYS[code] ?? 'table.include.list', message);
    if (warning !== null) warnings.push(warning);
  }
  const { signalTable } = settings;
  if (signalTable !== null && !all.some(table => fullName(table) === signalTable)) {
    add(
      'MYSQL_SIGNAL_TABLE_MISSING',
      'signal.data.collection',
      `There is no table ${signalTable} (database.table) that the user "${settings.user}" may read. Create it: CREATE TABLE ${signalTable} (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32) NOT NULL, data VARCHAR(2048) NULL).`,
    );
  }
  if (tables.length === 0) {
    warnings.push(
      'the filters (database.include.list, table.include.list and those that exclude) match no table yet, in the form database.table: events come once one is created that they match',
    );
  }
  const position = stored === null || stored.state === 'none' ? null : stored.position;
  const isLogThere = position === null || (await hasLog(connection, position, settings.connector === 'mariadb'));
  return { problems, warnings, tables, hasFullMetadata, hasLog: isLogThere };
}

/** The options by which a table is read all the same. */
const TABLE_KEYS: Readonly<Partial<Record<ErrorCode, string>>> = {
  MYSQL_COLUMN_UNSUPPORTED: 'column.exclude.list',
  MYSQL_MASK_INVALID: 'column.exclude.list',
  MYSQL_KEY_INVALID: 'message.key.columns',
};

type Add = (code: ErrorCode, key: string, message: string) => void;

async function checkVersion(connection: Connection, settings: SourceSettings, add: Add): Promise<void> {
  const version = await readVersion(connection);
  const isMariaDb = settings.connector === 'mariadb';
  if (version.isMariaDb !== isMariaDb) {
    add(
      'MYSQL_VERSION_UNSUPPORTED',
      'connector.class',
      `The server is ${version.isMariaDb ? 'MariaDB' : 'MySQL'} (${version.text}); use the ${version.isMariaDb ? 'MariaDbConnector' : 'MySqlConnector'}.`,
    );
  } else if (version.number < OLDEST[settings.connector]) {
    add(
      'MYSQL_VERSION_UNSUPPORTED',
      'database.hostname',
      `The server is ${version.text}; ${isMariaDb ? 'MariaDB 10.6' : 'MySQL 8.0'} or newer is needed.`,
    );
  }
}

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  log_bin: ['ON', '1'],
  binlog_format: ['ROW'],
  binlog_row_image: ['FULL'],
  binlog_row_metadata: ['FULL'],
};

const VARIABLES = [
  ...Object.keys(NEEDED),
  'gtid_mode',
  'server_id',
  'binlog_expire_logs_seconds',
  'binlog_rows_query_log_events',
  'binlog_annotate_row_events',
];
type Variables = ReadonlyMap<string, string>;

/** A connector that rests over a weekend should find its place in the log again. */
const LEAST_KEPT_SECONDS = 3 * 86_400;

const hasGtids = (variables: Variables, settings: SourceSettings): boolean =>
  settings.connector === 'mariadb' || variables.get('gtid_mode')?.toUpperCase() === 'ON';

/** Whether the start takes a snapshot that locks. */
function locks(variables: Variables, settings: SourceSettings, stored: StoredOffset | null): boolean {
  const { mode, isLocking } = settings.snapshot;
  const isTaken = mode !== 'no_data' && (mode === 'always' || stored?.state !== 'streaming');
  return isTaken && (isLocking || !hasGtids(variables, settings));
}

/** Returns whether the log names columns. */
function checkSettings(variables: Variables, settings: SourceSettings, add: Add, warnings: string[]): boolean {
  for (const [name, values] of Object.entries(NEEDED)) {
    const value = variables.get(name);
    if (value === undefined || values.includes(value.toUpperCase())) continue;
    if (name === 'binlog_row_metadata' && settings.historyTopic !== null) continue;
    add(
      'MYSQL_SETTING_INVALID',
      'database.hostname',
      `${name} is ${value === '' ? "''" : value}; set ${name}=${values[0] === '' ? "''" : values[0]} on the server.`,
    );
  }
  if (!hasGtids(variables, settings)) {
    warnings.push(
      'gtid_mode is not ON: the source cannot follow a failover to another server, and locks writing for the moment in which its snapshot begins',
    );
  }
  const keptSeconds = Number(variables.get('binlog_expire_logs_seconds') ?? 0);
  if (keptSeconds > 0 && keptSeconds < LEAST_KEPT_SECONDS) {
    warnings.push(
      `the server keeps its log for ${keptSeconds} s (binlog_expire_logs_seconds): a connector that rests for longer has to read all rows again`,
    );
  }
  if (settings.serverId !== null && String(settings.serverId) === variables.get('server_id')) {
    add('MYSQL_SERVER_ID_TAKEN', 'database.server.id', `${settings.serverId} is the id of the server itself.`);
  }
  if (
    settings.includeQuery &&
    variables.get('binlog_rows_query_log_events') !== 'ON' &&
    variables.get('binlog_annotate_row_events') !== 'ON'
  ) {
    warnings.push('include.query is set, and the server does not log statements by default');
  }
  return variables.get('binlog_row_metadata')?.toUpperCase() === 'FULL';
}

async function checkRights(
  connection: Connection,
  settings: SourceSettings,
  isLocking: boolean,
  add: Add,
): Promise<void> {
  const [rows] = await connection.query<RowDataPacket[]>('SHOW GRANTS');
  const global = rows.map(row => String(Object.values(row)[0])).filter(grant => / ON \*\.\* TO /i.test(grant));
  const has = (right: RegExp): boolean => global.some(grant => /\bALL PRIVILEGES\b/i.test(grant) || right.test(grant));
  const need = (right: RegExp, name: string): void => {
    if (has(right)) return;
    // Rights by roles are not in the list.
    if (rows.some(row => /^GRANT `[^`]*`@`[^`]*` TO /i.test(String(Object.values(row)[0])))) return;
    add(
      'MYSQL_RIGHTS_MISSING',
      'database.user',
      `User "${settings.user}" lacks ${name}; run GRANT ${name} ON *.* TO '${settings.user}'@'…'.`,
    );
  };
  if (settings.snapshot.mode !== 'initial_only') {
    need(/\bREPLICATION (SLAVE|REPLICA)\b/i, 'REPLICATION SLAVE');
    need(/\bREPLICATION CLIENT\b|\bBINLOG MONITOR\b|\bSUPER\b/i, 'REPLICATION CLIENT');
  }
  if (isLocking) need(/\bRELOAD\b|\bFLUSH_TABLES\b/i, 'RELOAD');
}

/** It may be this connector's own connection from before, which the server has not missed yet: only the stream can tell. */
async function checkReplicas(connection: Connection, settings: SourceSettings, warnings: string[]): Promise<void> {
  const { serverId } = settings;
  if (serverId === null || settings.snapshot.mode === 'initial_only') return;
  try {
    if (!(await replicaIds(connection)).has(serverId)) return;
    warnings.push(
      `database.server.id ${serverId} is in use: by this connector until a moment ago, or by another replica`,
    );
  } catch (error) {
    if (errnoOf(error) !== 1227) throw error;
  }
}

/**
 * Tables that the user may not read are not in the catalog, but their changes are in the log: they would be published without the rows that are there.
 * Only those that are named in full can be asked for.
 */
async function checkReadable(
  connection: Connection,
  settings: SourceSettings,
  visible: readonly TableName[],
  add: Add,
): Promise<void> {
  const seen = new Set(visible.map(table => fullName(table).toLowerCase()));
  for (const { database, name } of settings.namedTables) {
    const table = fullName({ database, name });
    if (seen.has(table.toLowerCase())) continue;
    try {
      await connection.query(`SELECT 1 FROM ${quoteIdentifier(database)}.${quoteIdentifier(name)} LIMIT 0`);
    } catch (error) {
      // One that is not there yet is told by another number, to those who might read it.
      if (errnoOf(error) !== TABLE_ACCESS_DENIED && errnoOf(error) !== DATABASE_ACCESS_DENIED) continue;
      add(
        'MYSQL_RIGHTS_MISSING',
        'database.user',
        `User "${settings.user}" may not read ${table}, which table.include.list names; run GRANT SELECT ON ${quoteIdentifier(database)}.${quoteIdentifier(name)} TO '${settings.user}'@'…'.`,
      );
    }
  }
}

const TABLE_ACCESS_DENIED = 1142;
const DATABASE_ACCESS_DENIED = 1044;

/** One error that has all the problems; its code is that of the first. */
export function preflightError(problems: readonly Problem[]): ConnectError {
  const lines = problems.map(({ code, message }) => (problems.length === 1 ? message : `[${code}] ${message}`));
  return new ConnectError(problems[0]!.code, lines.join('\n'));
}
