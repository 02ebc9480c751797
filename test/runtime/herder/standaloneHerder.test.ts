import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ConnectError, type Logger } from '../../../runtime/api/index.ts';
import { SecretMask } from '../../../runtime/config/secretMask.ts';
import { StandaloneHerder } from '../../../runtime/herder/standalone/standaloneHerder.ts';
import { WorkerMetrics } from '../../../runtime/metrics/workerMetrics.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import { scriptedConfig } from './scriptedConfig.ts';
import { lease, retriable, scriptOf } from './scriptedPlugin.ts';

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const waitMs = 10_000;
const modules = [
  '../../../runtime/config/providers/index.ts',
  '../../../runtime/converters/index.ts',
  '../../../runtime/transforms/index.ts',
  './scriptedPlugin.ts',
];

async function folder(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-herder-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Closed at the end of the test, if the test has not done so. */
async function startHerder(
  t: TestContext,
  dataDir: string,
  settings: Record<string, string> = {},
  { metrics = new WorkerMetrics(), logger = silent }: { metrics?: WorkerMetrics; logger?: Logger } = {},
): Promise<StandaloneHerder> {
  const config = scriptedConfig(dataDir, { 'errors.restart.delay.initial.ms': '5', ...settings });
  const herder = await StandaloneHerder.start({
    config,
    pluginModules: modules.map(path => new URL(path, import.meta.url).href),
    workerId: 'test:1',
    metrics,
    secrets: new SecretMask(),
    logger,
    onGroupTaken: assert.ifError,
  });
  t.after(() => herder.close());
  return herder;
}

function configOf(name: string, more: Record<string, string> = {}): Record<string, string> {
  return { name, 'connector.class': 'Scripted', ...more };
}

function states(herder: StandaloneHerder, name: string): string {
  try {
    const { connector, tasks } = herder.connectorStatus(name);
    return [connector.state, ...tasks.map(task => task.state)].join(' ');
  } catch {
    return 'none';
  }
}

const reaches = (herder: StandaloneHerder, name: string, wanted: string): Promise<void> =>
  waitUntil(`${name} is ${wanted}`, waitMs, () => states(herder, name) === wanted, 5).catch(error => {
    throw new Error(`${error.message}, but ${states(herder, name)}`);
  });

test('connectors run again after a restart of the worker, in the state that was wanted', async t => {
  const dir = await folder(t);
  const first = await startHerder(t, dir);
  await first.createConnector({ name: 'runs', config: configOf('runs'), initialState: 'RUNNING' });
  await first.createConnector({ name: 'rests', config: configOf('rests'), initialState: 'RUNNING' });
  await reaches(first, 'runs', 'RUNNING RUNNING');
  await reaches(first, 'rests', 'RUNNING RUNNING');
  await first.pauseConnector('rests');
  await first.createConnector({ name: 'stopped', config: configOf('stopped'), initialState: 'STOPPED' });
  await reaches(first, 'rests', 'PAUSED PAUSED');
  await reaches(first, 'stopped', 'STOPPED');
  await first.createConnector({ name: 'gone', config: configOf('gone'), initialState: 'RUNNING' });
  await reaches(first, 'gone', 'RUNNING RUNNING');
  await first.deleteConnector('gone');
  await reaches(first, 'gone', 'none');
  await first.close();
  const second = await startHerder(t, dir);
  await reaches(second, 'runs', 'RUNNING RUNNING');
  await reaches(second, 'rests', 'PAUSED PAUSED');
  await reaches(second, 'stopped', 'STOPPED');
  assert.deepEqual([...second.connectors()].sort(), ['rests', 'runs', 'stopped']);
  await second.resumeConnector('stopped');
  await reaches(second, 'stopped', 'RUNNING RUNNING');
});

test('a failed task is restarted by itself, shows RESTARTING with its trace, and gives up after errors.restart.max', async t => {
  const herder = await startHerder(t, await folder(t), { 'errors.restart.max': '3' });
  scriptOf('heals').taskErrors = [retriable(), new Error('never heard of')];
  await herder.createConnector({ name: 'heals', config: configOf('heals'), initialState: 'RUNNING' });
  await reaches(herder, 'heals', 'RUNNING RUNNING');
  assert.equal(scriptOf('heals').taskStarts.length, 3);

  scriptOf('stays').taskErrors = Array.from({ length: 9 }, retriable);
  await herder.createConnector({ name: 'stays', config: configOf('stays'), initialState: 'RUNNING' });
  await reaches(herder, 'stays', 'RUNNING FAILED');
  assert.equal(scriptOf('stays').taskStarts.length, 4);
  assert.match(herder.taskStatus('stays', 0).trace!, /^\[BROKER_UNREACHABLE\] the database is away/);
});

test('while a failed task waits, status, metrics and log tell why and until when; a restart by hand does not wait', async t => {
  scriptOf('slow').taskErrors = [retriable()];
  const metrics = new WorkerMetrics();
  const warnings: { nextAttempt?: string }[] = [];
  const logger = { ...silent, warn: (fields: object) => void warnings.push(fields) };
  const delayMs = 60_000;
  const settings = { 'errors.restart.delay.initial.ms': String(delayMs) };
  const herder = await startHerder(t, await folder(t), settings, { metrics, logger });
  const beganMs = Date.now();
  await herder.createConnector({ name: 'slow', config: configOf('slow'), initialState: 'RUNNING' });
  await reaches(herder, 'slow', 'RUNNING RESTARTING');
  const isInTime = (atMs: number): boolean => atMs >= beganMs + delayMs && atMs <= Date.now() + delayMs;
  assert.match(herder.taskStatus('slow', 0).trace!, /the database is away/);
  const metric = /^millrace_worker_next_restart_timestamp_ms\{connector="slow",task="0"\} (\S+)$/m;
  assert.ok(isInTime(Number(metric.exec(await metrics.render())?.[1])));
  assert.ok(isInTime(Date.parse(warnings.find(({ nextAttempt }) => nextAttempt)!.nextAttempt!)));
  await herder.restartTask('slow', 0);
  await reaches(herder, 'slow', 'RUNNING RUNNING');
  assert.doesNotMatch(await metrics.render(), metric);
});

test('errors that need the user, and errors.restart.max=0, fail at once', async t => {
  const herder = await startHerder(t, await folder(t));
  scriptOf('wrong').taskErrors = [new ConnectError('CONFIG_INVALID', 'no such slot')];
  await herder.createConnector({ name: 'wrong', config: configOf('wrong'), initialState: 'RUNNING' });
  await reaches(herder, 'wrong', 'RUNNING FAILED');
  scriptOf('never').taskErrors = [retriable()];
  const config = configOf('never', { 'errors.restart.max': '0' });
  await herder.createConnector({ name: 'never', config, initialState: 'RUNNING' });
  await reaches(herder, 'never', 'RUNNING FAILED');
  assert.equal(scriptOf('never').taskStarts.length, 1);
});

test('a connector that cannot start is started again, and its tasks of before run meanwhile', async t => {
  const dir = await folder(t);
  const first = await startHerder(t, dir);
  await first.createConnector({ name: 'late', config: configOf('late'), initialState: 'RUNNING' });
  await reaches(first, 'late', 'RUNNING RUNNING');
  await first.close();
  scriptOf('late').connectorErrors = [retriable()];
  const second = await startHerder(t, dir, { 'errors.restart.delay.initial.ms': '300' });
  await reaches(second, 'late', 'RESTARTING RUNNING');
  await reaches(second, 'late', 'RUNNING RUNNING');
});

test('tasks are restarted only where their config or the connector’s changed, and surplus ones vanish', async t => {
  const herder = await startHerder(t, await folder(t));
  const script = scriptOf('many');
  script.taskCount = 3;
  const config = configOf('many', { 'tasks.max': '3' });
  await herder.putConfig('many', config);
  await reaches(herder, 'many', 'RUNNING RUNNING RUNNING RUNNING');
  await herder.putConfig('many', { ...config });
  await herder.restartConnector('many');
  assert.equal(script.taskStarts.length, 3);
  script.taskCount = 1;
  await herder.patchConfig('many', { 'tasks.max': '1' });
  await reaches(herder, 'many', 'RUNNING RUNNING');
  assert.equal(herder.connectorInfo('many').tasks.length, 1);
  script.taskCount = 2;
  await herder.restartConnector('many');
  assert.match(herder.connectorStatus('many').connector.trace!, /2 tasks, which is more than tasks\.max=1/);
});

test('placeholders are resolved where they are used, and nowhere shown or stored', async t => {
  const dir = await folder(t);
  const secrets = join(dir, 'secrets.properties');
  await writeFile(secrets, 'password=swordfish\nmode=z\n');
  const herder = await startHerder(t, dir, {
    'config.providers': 'file',
    'config.providers.file.class': 'org.apache.kafka.common.config.provider.FileConfigProvider',
  });
  const placeholder = `\${file:${secrets}:password}`;
  const config = configOf('secret', { secret: placeholder });
  await herder.createConnector({ name: 'secret', config, initialState: 'RUNNING' });
  await reaches(herder, 'secret', 'RUNNING RUNNING');
  assert.equal(scriptOf('secret').taskStarts[0]!.secret, 'swordfish');
  assert.equal(herder.taskConfigs('secret')[0]!.config.secret, placeholder);
  assert.equal(herder.connectorInfo('secret').config.secret, placeholder);
  const infos = await herder.validateConfig('Scripted', { ...config, mode: `\${file:${secrets}:mode}` });
  const mode = infos.configs.find(info => info.value.name === 'mode')!.value;
  assert.deepEqual(mode.errors, [
    "Invalid value for configuration 'mode': the value resolved from the config provider reference failed validation",
  ]);
  assert.doesNotMatch(JSON.stringify(infos), /swordfish/);
});

test('values of a provider that end are asked for again: new ones restart what uses them, the same ones nothing', async t => {
  const herder = await startHerder(t, await folder(t), {
    'config.providers': 'lease',
    'config.providers.lease.class': 'test.LeaseProvider',
  });
  const create = async (name: string, more: Record<string, string> = {}) => {
    const config = configOf(name, { secret: '${lease:db}', ...more });
    await herder.createConnector({ name, config, initialState: 'RUNNING' });
    await reaches(herder, name, 'RUNNING RUNNING');
  };
  await create('leased');
  await create('fixed', { 'config.action.reload': 'none' });
  const script = scriptOf('leased');
  assert.deepEqual(
    script.taskStarts.map(({ secret }) => secret),
    ['first'],
  );
  const { asked } = lease;
  await waitUntil('it is asked again', waitMs, () => lease.asked >= asked + 4, 5);
  assert.equal(script.taskStarts.length, 1);
  assert.equal(script.connectorStops, 0);

  lease.value = 'second-value';
  await waitUntil(
    'both have the new value',
    waitMs,
    () => script.taskStarts.length === 2 && script.connectorStops === 1,
    5,
  );
  assert.equal(script.taskStarts[1]!.secret, 'second-value');
  await reaches(herder, 'leased', 'RUNNING RUNNING');
  assert.equal(scriptOf('fixed').taskStarts.length, 1);

  // A provider that cannot be asked leaves what runs as it is.
  lease.error = new Error('the vault is away');
  const before = lease.asked;
  await waitUntil('it is asked in vain', waitMs, () => lease.asked > before, 5);
  assert.equal(states(herder, 'leased'), 'RUNNING RUNNING');
  lease.error = null;

  // Secrets do not show in the trace of a failure.
  script.taskErrors = [new Error('login with second-value refused')];
  await herder.restartTask('leased', 0);
  await waitUntil('it has failed', waitMs, () => herder.connectorStatus('leased').tasks[0]!.trace !== undefined, 5);
  assert.match(herder.connectorStatus('leased').tasks[0]!.trace!, /login with \[hidden\] refused/);
});

test('what a plugin says of its config counts as an error of the key', async t => {
  const herder = await startHerder(t, await folder(t));
  await assert.rejects(
    herder.putConfig('v', configOf('v', { mode: 'b' })),
    /1 error\(s\):\nsecret is needed with mode b\n/,
  );
  await assert.rejects(herder.putConfig('v', configOf('v', { mode: 'c' })), /String must be one of: a, b/);
  await assert.rejects(
    herder.putConfig('v', configOf('v', { 'errors.restart.max': 'x' })),
    /Invalid value x for configuration errors\.restart\.max: Not a number of type INT/,
  );
});

test('where topics are not tracked, or not to be forgotten, who asks is told', async t => {
  const forbidden = (message: string) => ({ code: 'REQUEST_FORBIDDEN', message });
  const untracked = await startHerder(t, await folder(t), { 'topic.tracking.enable': 'false' });
  assert.throws(() => untracked.activeTopics('c'), forbidden('Topic tracking is disabled.'));
  await assert.rejects(untracked.resetActiveTopics('c'), forbidden('Topic tracking is disabled.'));
  const kept = await startHerder(t, await folder(t), { 'topic.tracking.allow.reset': 'false' });
  assert.deepEqual(kept.activeTopics('c'), []);
  await assert.rejects(kept.resetActiveTopics('c'), forbidden('Topic tracking reset is disabled.'));
});

test('metrics name the plugins that tasks work with, the worker’s converters too', async t => {
  const metrics = new WorkerMetrics();
  const herder = await startHerder(t, await folder(t), {}, { metrics });
  const config = configOf('plugged', {
    'value.converter': 'StringConverter',
    transforms: 'route',
    'transforms.route.type': 'RegexRouter',
    'transforms.route.regex': 'a',
    'transforms.route.replacement': 'b',
  });
  await herder.createConnector({ name: 'plugged', config, initialState: 'RUNNING' });
  await reaches(herder, 'plugged', 'RUNNING RUNNING');
  const text = await metrics.render();
  const info = /^kafka_connect_connector_task_info\{connector="plugged",task="0",(.*)\} 1$/m.exec(text)?.[1] ?? '';
  for (const label of [
    'connector_class="test.ScriptedConnector"',
    'task_class="test.ScriptedTask"',
    'task_version="1.2.3"',
    'key_converter_class="org.apache.kafka.connect.json.JsonConverter"',
    'value_converter_class="org.apache.kafka.connect.storage.StringConverter"',
    'header_converter_class="org.apache.kafka.connect.storage.SimpleHeaderConverter"',
  ]) {
    assert.ok(info.split(',').includes(label), `${label} not in ${info}`);
  }
  const transform = 'transform="route",transform_class="org.apache.kafka.connect.transforms.RegexRouter"';
  assert.match(
    text,
    new RegExp(`^kafka_connect_connector_transform_info\\{connector="plugged",task="0",${transform}`, 'm'),
  );
});
