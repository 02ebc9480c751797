import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadWorkerConfig } from '../../../runtime/config/loadWorkerConfig.ts';
import { TaskThread } from '../../../runtime/worker/threads/taskThread.ts';
import type { FailureReport } from '../../../runtime/worker/types.ts';
import { until } from './testWorker.ts';

test('a thread whose broker is away fails its tasks with the reason, and lives on for their next start', async () => {
  const { config } = loadWorkerConfig({ file: {}, environment: {}, flags: { 'bootstrap.servers': '127.0.0.1:1' } });
  const failures: FailureReport[] = [];
  let ended = false;
  const quiet = { error() {}, warn() {}, info() {}, debug() {} };
  const thread = new TaskThread({
    config,
    pluginModules: [],
    listener: { taskState: (_id, state, failure) => state === 'FAILED' && failures.push(failure!), topicUsed() {} },
    guard: { ask: async () => {} },
    onMetrics() {},
    onEnded: () => {
      ended = true;
    },
    logger: quiet,
  });
  const id = { connector: 'c', task: 0 };
  for (const attempt of [1, 2]) {
    thread.startTask({ id, connectorConfig: {}, taskConfig: {}, target: 'STARTED' });
    await until(
      () => failures.length === attempt,
      () => `no failure of attempt ${attempt}`,
    );
    assert.match(failures.at(-1)!.trace, /^\[BROKER_UNREACHABLE\] .*127\.0\.0\.1:1.* \(connector c, task 0\)/);
    assert.equal(failures.at(-1)!.retriable, true);
    assert.equal(thread.taskCount, 0);
    assert.equal(ended, false);
  }
  await thread.stopTask(id, 100);
  await thread.close(100);
  assert.equal(ended, true);
});
