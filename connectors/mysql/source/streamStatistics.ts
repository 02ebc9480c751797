/** What the stream gave, counted by kind and by table, and how it stands, as metrics under Debezium's names. */
import type { SourceBatch, TaskMetrics } from '../../../runtime/api/index.ts';
import { TableSourceBatch } from '../../shared/tableSourceBatch.ts';
import type { ChangeStream } from './changeStream.ts';
import { CHOICE, OPERATION } from './envelope.ts';

const KINDS = [
  [OPERATION.c, 'create'],
  [OPERATION.u, 'update'],
  [OPERATION.d, 'delete'],
  [OPERATION.t, 'truncate'],
] as const;

export class StreamStatistics {
  private readonly metrics: TaskMetrics;
  private sessions = 0;
  private disconnects = 0;
  private errors = 0;
  /** When the last event came; null = none has. */
  private lastEventAtMs: number | null = null;

  constructor(metrics: TaskMetrics) {
    this.metrics = metrics;
  }

  /** Batches as the stream gave them, none where it failed, and the stream behind them. */
  see(batches: readonly SourceBatch[], stream: ChangeStream): void {
    const { metrics } = this;
    let newest = 0;
    for (const batch of batches) {
      if (!(batch instanceof TableSourceBatch)) continue;
      this.count(batch);
      newest = Math.max(newest, batch.sourceTimestampMs ?? 0);
    }
    const now = Date.now();
    if (newest > 0) {
      this.lastEventAtMs = now;
      metrics.gauge('last_event_time_ms', newest);
      metrics.gauge('milliseconds_behind_source', Math.max(0, now - newest));
    } else if (batches.length === 0 && stream.isConnected) {
      // All that the server has was given.
      metrics.gauge('milliseconds_behind_source', 0);
    }
    metrics.gauge('connected', stream.isConnected ? 1 : 0);
    if (this.lastEventAtMs !== null) metrics.gauge('milliseconds_since_last_event', now - this.lastEventAtMs);
    metrics.count('number_of_disconnects', stream.disconnects - this.disconnects);
    metrics.count('number_of_erroneous_events', stream.errors - this.errors);
    this.disconnects = stream.disconnects;
    this.errors = stream.errors;
    const { place } = stream;
    if (place === null) return;
    if (place.session !== this.sessions) {
      this.sessions = place.session;
      metrics.gauge('connect_time_ms', now);
    }
    metrics.gauge('binlog_file_number', Number(/\d+$/.exec(place.file)?.[0] ?? 0));
    metrics.gauge('binlog_position', place.position);
  }

  private count(batch: TableSourceBatch): void {
    const { rows, tombstones } = batch.wire;
    const operations = rows.choices[CHOICE.op]!;
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < batch.count; i++) if (tombstones?.[i] !== 1) counts[operations[i]!]!++;
    for (const [operation, kind] of KINDS) {
      const count = counts[operation]!;
      if (count === 0) continue;
      this.metrics.count('total_number_of_events_seen', count);
      this.metrics.count(`total_number_of_${kind}_events_seen`, count);
      this.metrics.count(`table_${kind}_events_seen`, count, batch.topic);
    }
  }
}
