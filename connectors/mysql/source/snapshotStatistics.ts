/** How a snapshot goes, as metrics under Debezium's names. */
import type { TaskMetrics } from '../../../runtime/api/index.ts';

export class SnapshotStatistics {
  private readonly metrics: TaskMetrics;
  private readonly startedMs = Date.now();
  private remainingTables: number;

  constructor(metrics: TaskMetrics, tableCount: number) {
    this.metrics = metrics;
    this.remainingTables = tableCount;
    metrics.gauge('total_table_count', tableCount);
    metrics.gauge('remaining_table_count', tableCount);
    metrics.gauge('snapshot_running', 1);
    metrics.gauge('snapshot_completed', 0);
    metrics.gauge('snapshot_aborted', 0);
    this.time();
  }

  rowsRead(count: number): void {
    this.metrics.count('rows_scanned', count);
    this.time();
  }

  tableRead(): void {
    this.metrics.gauge('remaining_table_count', --this.remainingTables);
  }

  end(how: 'completed' | 'aborted'): void {
    this.metrics.gauge('snapshot_running', 0);
    this.metrics.gauge(`snapshot_${how}`, 1);
    this.time();
  }

  private time(): void {
    this.metrics.gauge('snapshot_duration_in_seconds', Math.round((Date.now() - this.startedMs) / 1000));
  }
}
