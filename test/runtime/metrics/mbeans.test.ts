/** The table of Kafka Connect's MBeans and the dashboard, beside what /metrics really serves. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { furtherMetrics, mbeans, metricNames } from '../../../runtime/metrics/mbeans.ts';
import { TaskMeter } from '../../../runtime/metrics/taskMeter.ts';
import {
  type TaskCounter,
  type TaskGauge,
  type TaskTiming,
  taskCounters,
  taskGauges,
  taskTimings,
} from '../../../runtime/metrics/taskMetricNames.ts';
import { WorkerMetrics } from '../../../runtime/metrics/workerMetrics.ts';
import { usedPlugins } from './usedPlugins.ts';

/** Of a worker of a cluster with a source and a sink that have counted everything there is. */
async function served(): Promise<Set<string>> {
  const metrics = new WorkerMetrics();
  const connector = { plugins: usedPlugins, state: 'RUNNING', runsHere: true };
  metrics.setStates(() => [
    { ...connector, name: 'in', type: 'source', tasks: [{ task: 0, state: 'RUNNING' }] },
    { ...connector, name: 'out', type: 'sink', tasks: [{ task: 0, state: 'RUNNING' }] },
  ]);
  metrics.setRebalances(() => ({
    leaderUrl: 'http://a:1/',
    protocol: 'sessioned',
    generation: 1,
    isRebalancing: false,
    completed: 1,
    avgMs: 1,
    maxMs: 1,
    lastMs: 1,
    assignedConnectors: 1,
    assignedTasks: 2,
  }));
  for (const name of ['in', 'out']) {
    const meter = new TaskMeter();
    for (const counter of Object.keys(taskCounters)) meter.add(counter as TaskCounter);
    for (const gauge of Object.keys(taskGauges)) meter.set(gauge as TaskGauge, 1);
    for (const timing of Object.keys(taskTimings)) meter.observe(timing as TaskTiming, 1);
    meter.gauge(name === 'in' ? 'milliseconds_behind_source' : 'held_rows', 1);
    metrics.updateTask({ connector: name, task: 0 }, meter.snapshot());
  }
  metrics.setNextRestart('in', 0, 1);
  return new Set([...(await metrics.render()).matchAll(/^(\w+)(?:\{| )/gm)].map(([, name]) => name!));
}

test('every metric of the table is served, and every metric that is served is in the table', async () => {
  const all = await served();
  const told = new Set([
    ...mbeans.flatMap(({ attributes }) => Object.values(attributes).flatMap(metricNames)),
    ...Object.keys(furtherMetrics),
  ]);
  for (const name of told) assert.ok(all.has(name), `${name} is in the table and not served`);
  for (const name of all) {
    if (/^(kafka_connect|millrace)_/.test(name) && name !== 'millrace_sink_task_held_rows') {
      assert.ok(told.has(name), `${name} is served and not in the table`);
    }
  }
});

test('what a sink reports of itself is not said to be Debezium’s', async () => {
  const all = await served();
  assert.ok(all.has('millrace_sink_task_held_rows'));
  assert.ok(all.has('debezium_metrics_milliseconds_behind_source'));
  assert.ok(!all.has('debezium_metrics_held_rows'));
});

test('the dashboard asks for metrics that are served', async () => {
  const all = await served();
  const path = join(import.meta.dirname, '../../../docs/grafana/millrace.json');
  const dashboard = JSON.parse(readFileSync(path, 'utf8')) as {
    panels: { title: string; gridPos: object; targets: { expr: string }[] }[];
  };
  assert.ok(dashboard.panels.length > 10);
  for (const { title, targets } of dashboard.panels) {
    for (const { expr } of targets) {
      const names = expr.match(/\b(?:kafka_connect|millrace|debezium_metrics|process|nodejs)_\w+/g) ?? [];
      assert.ok(names.length > 0, `${title}: ${expr}`);
      for (const name of names) assert.ok(all.has(name), `${title} asks for ${name}, which is not served`);
    }
  }
  const places = dashboard.panels.map(({ gridPos }) => JSON.stringify(gridPos));
  assert.equal(new Set(places).size, places.length);
});
