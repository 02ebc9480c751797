/** What a task reports of itself beside what the worker counts. Names are Debezium's attribute names in snake case, such as `milliseconds_behind_source`. */
export interface TaskMetrics {
  /** Sets a gauge. */
  gauge(name: string, value: number): void;
  /** Adds to a counter; `topic` keeps one for each topic. */
  count(name: string, by?: number, topic?: string): void;
}
