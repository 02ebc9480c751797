import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ConfigState,
  connectorRecord,
  fencingRecord,
  loggerRecord,
  restartRecord,
  sessionKeyRecord,
  targetRecord,
  taskRecords,
} from '../../../../runtime/herder/stores/configState.ts';
import type { InternalRecord } from '../../../../runtime/herder/stores/internalTopic.ts';
import {
  connectorStatusRecord,
  taskStatusRecord,
  topicRecord,
  topicTombstone,
} from '../../../../runtime/herder/stores/statusState.ts';

/** Key and value as a Kafka Connect worker writes them. */
const java = (key: string, json: string | null) => ({ key, value: json === null ? null : JSON.parse(json) });

test('what a Java worker writes is taken up, and each record tells what it changes', () => {
  const state = new ConfigState();
  const c = '{"properties":{"name":"c","connector.class":"X","tasks.max":"2"}}';
  assert.equal(state.apply(java('target-state-c', '{"state":"PAUSED","state.v2":"STOPPED"}'))?.kind, 'target');
  assert.deepEqual(state.apply(java('connector-c', c)), { kind: 'connector', name: 'c', isNew: true });
  assert.deepEqual(state.apply(java('connector-c', c)), { kind: 'connector', name: 'c', isNew: false });
  assert.equal(state.connector('c')?.target, 'STOPPED');
  assert.equal(state.apply(java('target-state-c', '{"state":"STARTED"}'))?.kind, 'target');
  assert.equal(state.connector('c')?.target, 'STARTED');

  assert.equal(state.apply(java('task-c-0', '{"properties":{"n":"0"}}')), null);
  assert.equal(state.apply(java('task-c-1', '{"properties":{"n":"1"}}')), null);
  assert.deepEqual(state.connector('c')?.taskConfigs, [], 'task configs count with their commit only');
  assert.deepEqual(state.apply(java('commit-c', '{"tasks":2}')), { kind: 'tasks', name: 'c', countChanged: true });
  assert.deepEqual(state.connector('c')?.taskConfigs, [{ n: '0' }, { n: '1' }]);

  for (const record of taskRecords('c', [{ n: 'a' }, { n: 'b' }]).slice(0, -1)) state.apply(record);
  assert.deepEqual(state.apply(java('commit-c', '{"tasks":2}')), { kind: 'tasks', name: 'c', countChanged: false });

  assert.deepEqual(state.apply(java('restart-connector-c', '{"include-tasks":true,"only-failed":false}')), {
    kind: 'restart',
    name: 'c',
    includeTasks: true,
    onlyFailed: false,
  });
  assert.deepEqual(state.apply(java('logger-cluster-a.b', '{"level":"DEBUG"}')), {
    kind: 'logger',
    namespace: 'a.b',
    level: 'DEBUG',
  });
  assert.deepEqual(state.apply(java('tasks-fencing-c', '{"task-count":2}')), { kind: 'fenced', name: 'c' });
  assert.deepEqual(state.apply(java('connector-c', null)), { kind: 'removed', name: 'c' });
  assert.equal(state.connector('c'), null);
  assert.equal(state.apply(java('connector-c', null)), null);
});

test('records are written byte for byte as a Java worker writes them', () => {
  const written = (records: readonly InternalRecord[]): string[][] =>
    records.map(({ key, value }) => [key, JSON.stringify(value)]);
  const status = { state: 'FAILED', trace: 'why', workerId: 'a:1', version: '1.0', generation: 7 } as const;
  const records = [
    connectorRecord('c', { 'connector.class': 'X', name: 'c' }),
    connectorRecord('c', null),
    targetRecord('c', 'STARTED'),
    targetRecord('c', 'PAUSED'),
    targetRecord('c', 'STOPPED'),
    ...taskRecords('c', [{ 'task.class': 'Y' }]),
    restartRecord('c', true, false),
    loggerRecord('a.b', 'DEBUG'),
    connectorStatusRecord('c', { ...status, state: 'RUNNING', trace: null, version: null }),
    taskStatusRecord('c', 0, status),
    topicTombstone('t', 'c'),
  ];
  assert.deepEqual(written(records), [
    ['connector-c', '{"properties":{"connector.class":"X","name":"c"}}'],
    ['connector-c', 'null'],
    ['target-state-c', '{"state":"STARTED","state.v2":"STARTED"}'],
    ['target-state-c', '{"state":"PAUSED","state.v2":"PAUSED"}'],
    ['target-state-c', '{"state":"PAUSED","state.v2":"STOPPED"}'],
    ['task-c-0', '{"properties":{"task.class":"Y"}}'],
    ['commit-c', '{"tasks":1}'],
    ['restart-connector-c', '{"include-tasks":true,"only-failed":false}'],
    ['logger-cluster-a.b', '{"level":"DEBUG"}'],
    ['status-connector-c', '{"state":"RUNNING","trace":null,"worker_id":"a:1","generation":7,"version":null}'],
    ['status-task-c-0', '{"state":"FAILED","trace":"why","worker_id":"a:1","generation":7,"version":"1.0"}'],
    ['status-topic-t:connector-c', 'null'],
  ]);
  const { key, value } = topicRecord('t', 'c', 3);
  assert.equal(key, 'status-topic-t:connector-c');
  assert.match(
    JSON.stringify(value),
    /^\{"topic":\{"name":"t","connector":"c","task":3,"discoverTimestamp":\d{13}\}\}$/,
  );
});

test('an incomplete set of task configs runs no task, and the next complete one does', () => {
  const state = new ConfigState();
  state.apply(java('connector-c', '{"properties":{"name":"c"}}'));
  state.apply(java('task-c-1', '{"properties":{"n":"1"}}'));
  state.apply(java('commit-c', '{"tasks":2}'));
  assert.deepEqual(state.connector('c')?.taskConfigs, []);
  for (const record of taskRecords('c', [{ n: '0' }])) state.apply(record);
  assert.deepEqual(state.connector('c')?.taskConfigs, [{ n: '0' }]);
});

test('the session key is kept, as Java workers write it', () => {
  const state = new ConfigState();
  const key = Buffer.alloc(32, 3).toString('base64');
  const written = `{"key":"${key}","algorithm":"HmacSHA256","creation-timestamp":1700000000000}`;
  assert.deepEqual(state.apply(java('session-key', written)), { kind: 'sessionKey' });
  assert.deepEqual(JSON.parse(JSON.stringify(sessionKeyRecord(state.sessionKey!).value)), JSON.parse(written));
});

test('new task configs are to be fenced until the count of their tasks is written, also over the deletion of the connector', () => {
  const state = new ConfigState();
  const commit = (tasks: number): void => {
    for (const record of taskRecords('c', Array(tasks).fill({ n: '0' }))) state.apply(record);
  };
  assert.equal(state.isFencingPending('c'), false);
  assert.equal(state.taskCountRecord('c'), null);
  state.apply(java('connector-c', '{"properties":{"name":"c"}}'));
  commit(3);
  const generation = state.taskGeneration('c');
  assert.equal(state.isFencingPending('c'), true);
  state.apply(java('tasks-fencing-c', '{"task-count":3}'));
  assert.equal(state.isFencingPending('c'), false);
  assert.equal(state.taskCountRecord('c'), 3);

  state.apply(java('connector-c', null));
  state.apply(java('connector-c', '{"properties":{"name":"c"}}'));
  commit(1);
  assert.equal(state.isFencingPending('c'), true);
  assert.equal(state.taskCountRecord('c'), 3);
  assert.ok(state.taskGeneration('c') > generation);
  assert.equal(state.apply(java('tasks-fencing-c', '{}')), null);
  assert.equal(state.apply(java('tasks-fencing-c', null)), null);
  assert.equal(state.taskCountRecord('c'), 3);

  assert.deepEqual(fencingRecord('c', 1), java('tasks-fencing-c', '{"task-count":1}'));
  assert.equal(JSON.stringify(fencingRecord('c', 1).value), '{"task-count":1}', 'byte for byte as Java writes it');
});
