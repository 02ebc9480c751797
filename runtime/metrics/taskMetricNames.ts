/**
 * What the worker counts of a task, under Kafka Connect's attribute names (`source-record-poll-total` …) in snake case, by Connect's MBean types.
 * A name here becomes `kafka_connect_<type>_<name>{connector,task}` on /metrics.
 */
export type TaskMetricType = 'connector_task' | 'source_task' | 'sink_task' | 'task_error';

interface MetricName {
  readonly type: TaskMetricType;
  readonly help: string;
}

/** Only ever added to. */
export const taskCounters = {
  source_record_poll_total: { type: 'source_task', help: 'Records polled from the source, before transforms.' },
  source_record_write_total: { type: 'source_task', help: 'Records acknowledged by the broker, after transforms.' },
  source_record_write_bytes_total: { type: 'source_task', help: 'Bytes of record batches acknowledged by the broker.' },
  sink_record_read_total: { type: 'sink_task', help: 'Records read from the broker, before transforms.' },
  sink_record_read_bytes_total: { type: 'sink_task', help: 'Bytes of record batches read from the broker.' },
  sink_record_send_total: { type: 'sink_task', help: 'Records given to the sink task, after transforms.' },
  offset_commit_completion_total: { type: 'sink_task', help: 'Offset commits that succeeded.' },
  offset_commit_skip_total: { type: 'sink_task', help: 'Offset commits skipped: late or with nothing to commit.' },
  offset_commit_success_total: { type: 'connector_task', help: 'Offset commits that succeeded.' },
  offset_commit_failure_total: { type: 'connector_task', help: 'Offset commits that failed.' },
  total_record_failures: { type: 'task_error', help: 'Failures of records, retries included.' },
  total_record_errors: { type: 'task_error', help: 'Records that failed for good.' },
  total_records_skipped: { type: 'task_error', help: 'Records skipped because of errors (errors.tolerance=all).' },
  total_retries: { type: 'task_error', help: 'Operations tried again.' },
  total_errors_logged: { type: 'task_error', help: 'Errors logged by errors.log.enable.' },
  deadletterqueue_produce_requests: { type: 'task_error', help: 'Records sent to the dead letter queue.' },
  deadletterqueue_produce_failures: { type: 'task_error', help: 'Records the dead letter queue did not take.' },
} as const satisfies Record<string, MetricName>;

/** The value of now. */
export const taskGauges = {
  source_record_active_count: { type: 'source_task', help: 'Records polled and not yet acknowledged.' },
  sink_record_active_count: { type: 'sink_task', help: 'Records read and not yet committed.' },
  partition_count: { type: 'sink_task', help: 'Partitions assigned.' },
  offset_commit_seq_no: { type: 'sink_task', help: 'Number of the latest offset commit.' },
  sink_record_lag_max: { type: 'sink_task', help: 'Largest distance of a partition from its end, in records.' },
  last_error_timestamp: { type: 'task_error', help: 'Time of the latest error, ms since the epoch.' },
} as const satisfies Record<string, MetricName>;

/** Average and maximum over about the last minute (`timingParts` says where more), as `<name>_avg` and `<name>_max`; those that end in `_time_ms` as `<…>_avg_time_ms`, `<…>_max_time_ms`. */
export const taskTimings = {
  poll_batch_time_ms: { type: 'source_task', help: 'Time of a poll that gave records, ms' },
  source_record_lag_ms: { type: 'source_task', help: 'Time from the change at the source to its acknowledgement, ms' },
  transaction_size: { type: 'source_task', help: 'Records of a transaction' },
  put_batch_time_ms: { type: 'sink_task', help: 'Time of a put, ms' },
  batch_size: { type: 'connector_task', help: 'Records of a batch' },
  offset_commit_time_ms: { type: 'connector_task', help: 'Time of an offset commit, ms' },
} as const satisfies Record<string, MetricName>;

export type TaskCounter = keyof typeof taskCounters;
export type TaskGauge = keyof typeof taskGauges;
export type TaskTiming = keyof typeof taskTimings;
export type TimingPart = 'min' | 'avg' | 'max';

/** `poll_batch_time_ms` gives `poll_batch_avg_time_ms`, as Connect spells it; `batch_size` gives `batch_size_avg`. */
export function timingName(name: TaskTiming, part: TimingPart): string {
  return name.endsWith('_time_ms') ? name.replace(/_time_ms$/, `_${part}_time_ms`) : `${name}_${part}`;
}

/** Kafka Connect has a minimum of one of them only. */
export function timingParts(name: TaskTiming): readonly TimingPart[] {
  return name === 'transaction_size' ? ['min', 'avg', 'max'] : ['avg', 'max'];
}
