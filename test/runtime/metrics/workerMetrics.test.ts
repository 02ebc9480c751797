import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TaskMeter } from '../../../runtime/metrics/taskMeter.ts';
import { WorkerMetrics } from '../../../runtime/metrics/workerMetrics.ts';
import { usedPlugins } from './usedPlugins.ts';

const id = { connector: 'c', task: 0 };

test('counts of a task and states appear under Connect’s names', async () => {
  const metrics = new WorkerMetrics();
  metrics.setStates(() => [
    {
      name: 'c',
      type: 'source',
      plugins: usedPlugins,
      state: 'RUNNING',
      runsHere: true,
      tasks: [
        { task: 0, state: 'RUNNING' },
        { task: 1, state: 'FAILED' },
      ],
    },
  ]);
  const meter = new TaskMeter();
  meter.add('source_record_poll_total', 5);
  meter.observe('poll_batch_time_ms', 10);
  meter.observe('poll_batch_time_ms', 20);
  for (const records of [7, 3, 5]) meter.observe('transaction_size', records);
  meter.gauge('milliseconds_behind_source', 42);
  meter.count('table_create_events_seen', 2, 'p.d.t');
  metrics.updateTask(id, structuredClone(meter.snapshot()));
  metrics.countStartup('task', true);
  metrics.countStartup('task', false);
  const text = await metrics.render();
  for (const line of [
    'kafka_connect_source_task_source_record_poll_total{connector="c",task="0"} 5',
    'kafka_connect_source_task_poll_batch_avg_time_ms{connector="c",task="0"} 15',
    'kafka_connect_source_task_poll_batch_max_time_ms{connector="c",task="0"} 20',
    'kafka_connect_source_task_transaction_size_min{connector="c",task="0"} 3',
    'kafka_connect_source_task_transaction_size_max{connector="c",task="0"} 7',
    'debezium_metrics_milliseconds_behind_source{connector="c",task="0"} 42',
    'debezium_metrics_table_create_events_seen{connector="c",task="0",topic="p.d.t"} 2',
    'kafka_connect_worker_connector_failed_task_count{connector="c"} 1',
    'kafka_connect_worker_task_startup_failure_percentage 0.5',
    'kafka_connect_connector_task_status{connector="c",task="1",status="failed"} 1',
    'kafka_connect_connector_task_info{connector="c",task="1",connector_type="source",connector_class="x.Y",connector_version="1",task_class="x.YTask",task_version="1",key_converter_class="x.K",key_converter_version="2",value_converter_class="x.V",value_converter_version="",header_converter_class="x.H",header_converter_version="3"} 1',
    'kafka_connect_connector_transform_info{connector="c",task="0",transform="a",transform_class="x.T",transform_version="4"} 1',
    'kafka_connect_connector_predicate_info{connector="c",task="0",predicate="b",predicate_class="x.P",predicate_version="5"} 1',
    '# TYPE kafka_connect_source_task_source_record_poll_total counter',
  ]) {
    assert.ok(text.split('\n').includes(line), `${line}\nnot in\n${text}`);
  }
  // The first answer comes before anything of the event loop was measured.
  assert.doesNotMatch(text, / nan$/im);
});

test('counters go on when a task is restarted with a new meter; a removed task is gone', async () => {
  const metrics = new WorkerMetrics();
  for (const count of [7, 3, 4]) {
    const meter = new TaskMeter();
    meter.add('sink_record_read_total', count);
    metrics.updateTask(id, meter.snapshot());
  }
  assert.match(await metrics.render(), /sink_record_read_total\{connector="c",task="0"\} 11\n/);
  metrics.removeTask(id);
  assert.doesNotMatch(await metrics.render(), /sink_record_read_total\{/);
});
