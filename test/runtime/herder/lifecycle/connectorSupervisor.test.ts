/** A supervisor whose worker gains and loses its connector as a test says. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SecretMask } from '../../../../runtime/config/secretMask.ts';
import { herderParts, startWorker } from '../../../../runtime/herder/herderParts.ts';
import { ConnectorSupervisor } from '../../../../runtime/herder/lifecycle/connectorSupervisor.ts';
import type { StatusBoard } from '../../../../runtime/herder/lifecycle/statusBoard.ts';
import { Supervisors } from '../../../../runtime/herder/lifecycle/supervisors.ts';
import { connectorRecord, taskRecords } from '../../../../runtime/herder/stores/configState.ts';
import { ConfigStore } from '../../../../runtime/herder/stores/configStore.ts';
import { internalTopicOptions } from '../../../../runtime/herder/stores/internalTopicOptions.ts';
import { StatusStore } from '../../../../runtime/herder/stores/statusStore.ts';
import { WorkerMetrics } from '../../../../runtime/metrics/workerMetrics.ts';
import { waitUntil } from '../../../services/waitUntil.ts';
import { scriptedConfig } from '../scriptedConfig.ts';
import { scriptOf } from '../scriptedPlugin.ts';

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const waitMs = 10_000;
const modules = ['../../../../runtime/converters/index.ts', '../scriptedPlugin.ts'];

interface Tested {
  readonly supervisor: ConnectorSupervisor;
  readonly statuses: StatusBoard;
  /** Resolves once connector and tasks are in these states. */
  readonly reaches: (states: string) => Promise<void>;
  owned: boolean;
}

async function supervised(t: TestContext, name: string): Promise<Tested> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-supervisor-'));
  const config = scriptedConfig(dataDir);
  const [metrics, secrets] = [new WorkerMetrics(), new SecretMask()];
  const pluginModules = modules.map(path => new URL(path, import.meta.url).href);
  const options = { config, pluginModules, workerId: 'test:1', metrics, secrets, logger: silent };
  const supervisors = new Supervisors(true);
  const worker = await startWorker(options, supervisors);
  const { broker } = worker;
  const configs = await ConfigStore.open(internalTopicOptions('config', broker, config, silent));
  const statusStore = await StatusStore.open(internalTopicOptions('status', broker, config, silent));
  const parts = await herderParts(options, worker, configs, statusStore);
  await configs.writeAsLeader([connectorRecord(name, { name, 'connector.class': 'Scripted', 'tasks.max': '2' })]);
  const supervisor = supervisors.get(
    name,
    () =>
      new ConnectorSupervisor(name, {
        ...parts,
        metrics,
        secrets,
        logger: silent,
        owns: () => tested.owned,
        commitTasks: (connector, generated) => configs.writeAsLeader(taskRecords(connector, generated)),
        generation: () => undefined,
        restartSettings: () => ({ max: 0, initialDelayMs: 0, maxDelayMs: 0 }),
        unknownKeys: async () => [],
      }),
  );
  t.after(async () => {
    await supervisors.close();
    for (const part of [statusStore, configs, parts.resolver, worker]) await part.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const { statuses } = parts;
  const shown = (): string =>
    [statuses.connectorStatus(name), ...statuses.taskStatuses(name, 10)].map(status => status?.state).join(' ');
  const reaches = (states: string): Promise<void> =>
    waitUntil(`${name} is ${states}`, waitMs, () => shown() === states, 5).catch(error => {
      throw new Error(`${error.message}, but ${shown()}`);
    });
  const tested = { supervisor, statuses, reaches, owned: true };
  return tested;
}

test('what a worker loses and gains before it has stopped is RUNNING again, without a new start', async t => {
  const script = scriptOf('kept');
  script.taskCount = 2;
  const tested = await supervised(t, 'kept');
  const { supervisor, statuses, reaches } = tested;
  await supervisor.sync();
  await reaches('RUNNING RUNNING RUNNING');

  tested.owned = false;
  void supervisor.sync();
  // It is gained again before the supervisor takes up the loss: as the herder does with all it gains.
  tested.owned = true;
  statuses.unassign();
  await supervisor.sync();
  await reaches('RUNNING RUNNING RUNNING');
  assert.equal(script.connectorStops, 0);
  assert.equal(script.taskStarts.length, 2);
});

test('a failure that has been told stays told', async t => {
  const script = scriptOf('failed');
  script.taskErrors.push(new Error('no such table'));
  const { supervisor, statuses, reaches } = await supervised(t, 'failed');
  await supervisor.sync();
  await reaches('RUNNING FAILED');

  statuses.unassign();
  await supervisor.sync();
  await reaches('RUNNING FAILED');
  assert.match(statuses.taskStatus('failed', 0)!.trace!, /no such table/);
});
