/** What the server is and what it has for us: version, slot, publication. Reads and the few statements that create or drop. */
import type pg from 'pg';
import { ConnectError } from '../../../runtime/api/index.ts';
import type { SourceSettings } from '../config.ts';
import { quoteName, sqlState } from './connection.ts';
import { formatLsn, parseLsn } from './lsn.ts';

/** server_version_num: 150004 = 15.4. */
export async function serverVersion(client: pg.Client): Promise<number> {
  return Number((await client.query("SELECT current_setting('server_version_num') AS version")).rows[0].version);
}

export async function isStandby(client: pg.Client): Promise<boolean> {
  return (await client.query('SELECT pg_is_in_recovery() AS standby')).rows[0].standby;
}

export interface SlotState {
  readonly plugin: string | null;
  readonly database: string | null;
  readonly activePid: number | null;
  readonly confirmedFlush: bigint | null;
  /** reserved, extended, unreserved, lost; null = not known. */
  readonly walStatus: string | null;
  /** Whether it sends transactions when they are prepared. */
  readonly isTwoPhase: boolean;
}

export async function readSlot(client: pg.Client, name: string): Promise<SlotState | null> {
  const { rows } = await client.query(
    `SELECT plugin, database, active_pid, confirmed_flush_lsn::text AS flush, wal_status,
            coalesce((to_jsonb(s) ->> 'two_phase')::boolean, false) AS two_phase
       FROM pg_replication_slots s WHERE slot_name = $1`,
    [name],
  );
  const row = rows[0];
  if (row === undefined) return null;
  return {
    plugin: row.plugin,
    database: row.database,
    activePid: row.active_pid,
    confirmedFlush: row.flush === null ? null : parseLsn(row.flush),
    walStatus: row.wal_status,
    isTwoPhase: row.two_phase,
  };
}

/**
 * Why the slot cannot serve this connector, which told the server `flushed` at most: it is past that, so it was made again, moved by hand, or another has read
 * from it, and the server sends nothing from before it. Null where it can, or where what was told is not known.
 */
export function slotAhead(name: string, { confirmedFlush }: SlotState, flushed: bigint | null): string | null {
  if (flushed === null || confirmedFlush === null || confirmedFlush <= flushed) return null;
  return `The slot "${name}" stands at ${formatLsn(confirmedFlush)}, past the stored position ${formatLsn(flushed)}: it was created again, moved by hand, or another connector reads from it, and the changes in between are not sent any more. Give each connector its own slot.name; reset the offsets to read all rows again, use snapshot.mode=when_needed, or, if nothing of it matters, set the stored offset to that position.`;
}

export interface CreatedSlot {
  readonly consistentPoint: bigint;
  readonly snapshotName: string | null;
}

/** On a replication connection, which must stay open and idle for as long as the exported snapshot is to be imported. */
export async function createSlot(
  client: pg.Client,
  version: number,
  settings: SourceSettings,
  hasSnapshot: boolean,
): Promise<CreatedSlot> {
  const twoPhase = settings.slot.isTwoPhase ? ', TWO_PHASE true' : '';
  const options =
    version < 150000
      ? hasSnapshot
        ? 'EXPORT_SNAPSHOT'
        : 'NOEXPORT_SNAPSHOT'
      : `(SNAPSHOT '${hasSnapshot ? 'export' : 'nothing'}'${version >= 170000 && settings.slot.failover ? ', FAILOVER true' : ''}${twoPhase})`;
  try {
    const { rows } = await client.query(
      `CREATE_REPLICATION_SLOT ${quoteName(settings.slot.name)} LOGICAL pgoutput ${options}`,
    );
    return { consistentPoint: parseLsn(rows[0].consistent_point), snapshotName: rows[0].snapshot_name };
  } catch (error) {
    if (sqlState(error) === '53400') {
      throw new ConnectError(
        'PG_SLOTS_FULL',
        `No replication slot is free for "${settings.slot.name}". Drop unused slots or raise max_replication_slots.`,
        { cause: error },
      );
    }
    throw error;
  }
}

/** Waits for the slot to be free for a moment: the server notices the end of our own connection a little later. */
export async function dropSlot(client: pg.Client, name: string): Promise<void> {
  const deadline = Date.now() + 5000;
  for (;;) {
    try {
      await client.query('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1', [
        name,
      ]);
      return;
    } catch (error) {
      if (sqlState(error) !== '55006' || Date.now() > deadline) throw error;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }
}

export interface Publication {
  readonly isAllTables: boolean;
  /** schema.table of what it publishes, as pg_publication_tables expands it. */
  readonly tables: ReadonlySet<string>;
}

export async function readPublication(client: pg.Client, name: string): Promise<Publication | null> {
  const { rows } = await client.query('SELECT puballtables FROM pg_publication WHERE pubname = $1', [name]);
  if (rows.length === 0) return null;
  const tables = await client.query('SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = $1', [
    name,
  ]);
  return {
    isAllTables: rows[0].puballtables,
    tables: new Set(tables.rows.map(row => `${row.schemaname}.${row.tablename}`)),
  };
}

export async function createPublication(
  client: pg.Client,
  settings: SourceSettings,
  tables: readonly { readonly schema: string; readonly name: string }[],
): Promise<void> {
  const { name, autocreate, viaRoot } = settings.publication;
  const list = tables.map(table => `${quoteName(table.schema)}.${quoteName(table.name)}`).join(', ');
  const what = autocreate === 'all_tables' ? 'FOR ALL TABLES' : autocreate === 'filtered' ? `FOR TABLE ${list}` : '';
  const options = viaRoot ? 'WITH (publish_via_partition_root = true)' : '';
  try {
    await client.query(`CREATE PUBLICATION ${quoteName(name)} ${what} ${options}`);
  } catch (error) {
    if (sqlState(error) === '42710') return;
    throw new ConnectError(
      'PG_PUBLICATION_DENIED',
      `The publication "${name}" could not be created: ${(error as Error).message}. Create it yourself, or see publication.autocreate.mode.`,
      { cause: error },
    );
  }
}

/** publication.autocreate.mode=filtered keeps the publication at the captured tables. */
/** Adds those that are missing. Others stay: another connector may have put them there, and would get no changes of them any more. */
export async function addPublicationTables(
  client: pg.Client,
  name: string,
  tables: readonly { readonly schema: string; readonly name: string }[],
): Promise<void> {
  const { rows } = await client.query(
    `SELECT n.nspname AS schema, c.relname AS name
       FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid
       JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE p.pubname = $1`,
    [name],
  );
  const there = new Set(rows.map(row => `${quoteName(row.schema)}.${quoteName(row.name)}`));
  const missing = tables
    .map(table => `${quoteName(table.schema)}.${quoteName(table.name)}`)
    .filter(table => !there.has(table));
  if (missing.length > 0) await client.query(`ALTER PUBLICATION ${quoteName(name)} ADD TABLE ${missing.join(', ')}`);
}
