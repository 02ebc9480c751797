/**
 * Kafka Connect's MBeans, attribute by attribute, and what of /metrics says the same: for users who bring boards and alerts. The page docs/metrics.md is made
 * from it, and a test compares it with what /metrics serves.
 */
import { taskCounters, taskGauges, taskTimings, timingName, timingParts } from './taskMetricNames.ts';

export interface MBean {
  /** What stands after `kafka.connect:type=`. */
  readonly type: string;
  /** Attribute → metric, or the expression in PromQL that gives it. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** An attribute under its own name after the exporters' rule. */
const same = (prefix: string, attributes: readonly string[]): Record<string, string> =>
  Object.fromEntries(attributes.map(name => [name, `kafka_connect_${prefix}_${name.replaceAll('-', '_')}`]));

/** Texts, which are labels here of a metric that is always 1. */
const labelled = (metric: string, attributes: readonly string[]): Record<string, string> =>
  Object.fromEntries(attributes.map(name => [name, `${metric}{${name.replaceAll('-', '_')}="…"}`]));

const rate = (metric: string): string => `rate(${metric}[1m])`;
const share = (status: string): string =>
  `sum_over_time(kafka_connect_connector_task_status{status="${status}"}[5m]) / on(instance, job) group_left count_over_time(up[5m])`;

const startups = (what: string): string[] =>
  ['attempts-total', 'success-total', 'success-percentage', 'failure-total', 'failure-percentage'].map(
    name => `${what}-startup-${name}`,
  );

/** What the worker counts of tasks, with `type` of its names; the attribute is the name with dashes. */
function ofTasks(type: string): Record<string, string> {
  const names = [
    ...Object.entries(taskCounters)
      .filter(([, metric]) => metric.type === type)
      .map(([name]) => name),
    ...Object.entries(taskGauges)
      .filter(([, metric]) => metric.type === type)
      .map(([name]) => name),
    ...(Object.keys(taskTimings) as (keyof typeof taskTimings)[])
      .filter(name => taskTimings[name].type === type)
      .flatMap(name => timingParts(name).map(part => timingName(name, part))),
  ].filter(name => !ownAdditions.includes(name));
  return Object.fromEntries(names.map(name => [name.replaceAll('_', '-'), `kafka_connect_${type}_${name}`]));
}

/** In their place beside Kafka Connect's, which has no such attributes. */
const ownAdditions: readonly string[] = [
  'source_record_write_bytes_total',
  'sink_record_read_bytes_total',
  'source_record_lag_ms_avg',
  'source_record_lag_ms_max',
  'offset_commit_success_total',
  'offset_commit_failure_total',
];

const sourceTask = 'kafka_connect_source_task';
const sinkTask = 'kafka_connect_sink_task';
const task = 'kafka_connect_connector_task';
const rebalances = 'kafka_connect_worker_rebalance_completed_rebalances_total';
const percentage = (what: 'success' | 'failure'): string =>
  `rate(${task}_offset_commit_${what}_total[5m]) / (rate(${task}_offset_commit_success_total[5m]) + rate(${task}_offset_commit_failure_total[5m]))`;

export const mbeans: readonly MBean[] = [
  {
    type: 'connect-worker-metrics',
    attributes: same('worker', ['connector-count', 'task-count', ...startups('connector'), ...startups('task')]),
  },
  {
    type: 'connect-worker-metrics,connector=*',
    attributes: same(
      'worker',
      ['total', 'running', 'paused', 'failed', 'unassigned', 'destroyed', 'restarting'].map(
        state => `connector-${state}-task-count`,
      ),
    ),
  },
  {
    type: 'connect-worker-rebalance-metrics',
    attributes: {
      'leader-name': 'kafka_connect_worker_rebalance_info{leader_name="…"}',
      'connect-protocol': 'kafka_connect_worker_rebalance_info{connect_protocol="…"}',
      ...same('worker_rebalance', [
        'epoch',
        'completed-rebalances-total',
        'rebalancing',
        'rebalance-avg-time-ms',
        'rebalance-max-time-ms',
        'time-since-last-rebalance-ms',
      ]),
    },
  },
  {
    type: 'connect-coordinator-metrics',
    attributes: {
      ...same('coordinator', ['assigned-connectors', 'assigned-tasks']),
      'join-total': rebalances,
      'join-rate': rate(rebalances),
      'rebalance-total': rebalances,
      'rebalance-rate-per-hour': `3600 * rate(${rebalances}[1h])`,
      'rebalance-latency-avg': 'kafka_connect_worker_rebalance_rebalance_avg_time_ms',
      'rebalance-latency-max': 'kafka_connect_worker_rebalance_rebalance_max_time_ms',
      'last-rebalance-seconds-ago': 'kafka_connect_worker_rebalance_time_since_last_rebalance_ms / 1000',
    },
  },
  {
    type: 'connector-metrics,connector=*',
    attributes: labelled('kafka_connect_connector_info', [
      'connector-class',
      'connector-type',
      'connector-version',
      'status',
    ]),
  },
  {
    type: 'connector-task-metrics,connector=*,task=*',
    attributes: {
      status: `${task}_status{status="…"}`,
      'running-ratio': share('running'),
      'pause-ratio': share('paused'),
      ...ofTasks('connector_task'),
      ...labelled(`${task}_info`, [
        'connector-class',
        'connector-type',
        'connector-version',
        'task-class',
        'task-version',
        ...['key', 'value', 'header'].flatMap(role => [`${role}-converter-class`, `${role}-converter-version`]),
      ]),
      'offset-commit-success-percentage': percentage('success'),
      'offset-commit-failure-percentage': percentage('failure'),
    },
  },
  {
    type: 'connector-transform-metrics,connector=*,task=*,transform=*',
    attributes: labelled('kafka_connect_connector_transform_info', ['transform-class', 'transform-version']),
  },
  {
    type: 'connector-predicate-metrics,connector=*,task=*,predicate=*',
    attributes: labelled('kafka_connect_connector_predicate_info', ['predicate-class', 'predicate-version']),
  },
  {
    type: 'source-task-metrics,connector=*,task=*',
    attributes: {
      ...ofTasks('source_task'),
      'source-record-poll-rate': rate(`${sourceTask}_source_record_poll_total`),
      'source-record-write-rate': rate(`${sourceTask}_source_record_write_total`),
      'source-record-active-count-avg': `avg_over_time(${sourceTask}_source_record_active_count[1m])`,
      'source-record-active-count-max': `max_over_time(${sourceTask}_source_record_active_count[1m])`,
    },
  },
  {
    type: 'sink-task-metrics,connector=*,task=*',
    attributes: {
      ...ofTasks('sink_task'),
      'sink-record-read-rate': rate(`${sinkTask}_sink_record_read_total`),
      'sink-record-send-rate': rate(`${sinkTask}_sink_record_send_total`),
      'sink-record-active-count-avg': `avg_over_time(${sinkTask}_sink_record_active_count[1m])`,
      'sink-record-active-count-max': `max_over_time(${sinkTask}_sink_record_active_count[1m])`,
      'offset-commit-completion-rate': rate(`${sinkTask}_offset_commit_completion_total`),
      'offset-commit-skip-rate': rate(`${sinkTask}_offset_commit_skip_total`),
    },
  },
  { type: 'task-error-metrics,connector=*,task=*', attributes: ofTasks('task_error') },
];

/** Served besides, under names of Millrace, or beside Kafka Connect's. */
export const furtherMetrics: Readonly<Record<string, string>> = {
  millrace_worker_task_restarts_total: 'Restarts of failed tasks by the worker itself.',
  millrace_worker_next_restart_timestamp_ms:
    'When what failed and waits is restarted, ms since the epoch; task is empty for a connector.',
  [`${sourceTask}_source_record_write_bytes_total`]: taskCounters.source_record_write_bytes_total.help,
  [`${sinkTask}_sink_record_read_bytes_total`]: taskCounters.sink_record_read_bytes_total.help,
  [`${sourceTask}_source_record_lag_ms_avg`]: `${taskTimings.source_record_lag_ms.help}, average.`,
  [`${sourceTask}_source_record_lag_ms_max`]: `${taskTimings.source_record_lag_ms.help}, maximum.`,
  [`${task}_offset_commit_success_total`]: taskCounters.offset_commit_success_total.help,
  [`${task}_offset_commit_failure_total`]: taskCounters.offset_commit_failure_total.help,
};

/** The names of metrics in an expression. */
export const metricNames = (expression: string): string[] =>
  expression.match(/\b(?:kafka_connect|millrace|debezium_metrics)_\w+/g) ?? [];
