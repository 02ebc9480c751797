/**
 * Looks at the slot at intervals, on a connection of its own: how much WAL it keeps, as gauges, and whether the server may soon remove what it needs, as a warning
 * with the rate and the time that is left.
 */
import type pg from 'pg';
import type { Logger, TaskMetrics } from '../../../runtime/api/index.ts';
import type { SourceSettings } from '../config.ts';
import { connect } from './connection.ts';

const INTERVAL_MS = 15_000;
/** Share of max_slot_wal_keep_size from which on it is told. */
const WARN_SHARE = 0.5;
/** The same warning is not repeated before. */
const REPEAT_MS = 300_000;

export interface KeptWal {
  /** Bytes of WAL from the slot's restart point to the end. */
  readonly keptBytes: number;
  /** Bytes that may be written until the slot is lost; null = no bound, or not known. */
  readonly safeBytes: number | null;
  /** reserved, extended, unreserved, lost. */
  readonly walStatus: string;
}

/** A warning that tells what is left, or null. `before` is the state `elapsedMs` ago. */
export function walWarning(now: KeptWal, before: KeptWal | null, elapsedMs: number): string | null {
  if (now.walStatus === 'unreserved') {
    return `the server may remove WAL that the slot needs at its next checkpoint: it keeps ${mebibytes(now.keptBytes)}`;
  }
  const { safeBytes, keptBytes } = now;
  if (safeBytes === null || keptBytes < (keptBytes + safeBytes) * WARN_SHARE) return null;
  const grown = before === null ? 0 : keptBytes - before.keptBytes;
  const rate = elapsedMs > 0 ? (grown * 1000) / elapsedMs : 0;
  const left = rate > 0 ? `; it grows by ${mebibytes(rate)} a second, so ${duration(safeBytes / rate)} are left` : '';
  return `the slot keeps ${mebibytes(keptBytes)} of WAL, and is lost after ${mebibytes(safeBytes)} more${left}`;
}

const mebibytes = (bytes: number): string => `${(bytes / 1048576).toFixed(1)} MiB`;
const duration = (seconds: number): string =>
  seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} minutes`;

export class SlotWatch {
  private readonly settings: SourceSettings;
  private readonly metrics: TaskMetrics;
  private readonly logger: Logger;
  private client: pg.Client | null = null;
  private looking: Promise<void> | null = null;
  private isClosed = false;
  private nextMs = 0;
  private warnedMs = Number.NEGATIVE_INFINITY;
  private before: { readonly state: KeptWal; readonly atMs: number } | null = null;

  constructor(settings: SourceSettings, metrics: TaskMetrics, logger: Logger) {
    this.settings = settings;
    this.metrics = metrics;
    this.logger = logger;
  }

  /** Looks if it is time; nobody has to wait for it. */
  tick(): void {
    const now = performance.now();
    if (this.looking !== null || now < this.nextMs) return;
    this.nextMs = now + INTERVAL_MS;
    this.looking = this.look()
      .catch(error => {
        if (this.isClosed) return;
        // The stream itself notices a server that is gone.
        this.logger.warn({ reason: String(error) }, 'the state of the slot could not be read');
        return this.endClient();
      })
      .finally(() => {
        this.looking = null;
      });
  }

  private async look(): Promise<void> {
    const { slot } = this.settings;
    this.client ??= await connect(this.settings, 'watch');
    if (this.isClosed) return await this.endClient();
    const { rows } = await this.client.query(
      `SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn)::text AS kept,
              safe_wal_size::text AS safe, wal_status AS status
         FROM pg_replication_slots WHERE slot_name = $1`,
      [slot.name],
    );
    const row = rows[0];
    if (row === undefined || row.kept === null) return;
    const state: KeptWal = {
      keptBytes: Number(row.kept),
      safeBytes: row.safe === null ? null : Number(row.safe),
      walStatus: row.status,
    };
    this.metrics.gauge('slot_wal_kept_bytes', state.keptBytes);
    if (state.safeBytes !== null) this.metrics.gauge('slot_wal_safe_bytes', state.safeBytes);
    const atMs = performance.now();
    const warning = walWarning(state, this.before?.state ?? null, atMs - (this.before?.atMs ?? atMs));
    this.before = { state, atMs };
    if (warning !== null && atMs - this.warnedMs > REPEAT_MS) {
      this.warnedMs = atMs;
      this.logger.warn({ slot: slot.name }, `${warning}. Let the connector catch up, or raise max_slot_wal_keep_size.`);
    }
  }

  private async endClient(): Promise<void> {
    const { client } = this;
    this.client = null;
    await client?.end().catch(() => {});
  }

  /** Does not wait for a server that does not answer. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.endClient();
  }
}
