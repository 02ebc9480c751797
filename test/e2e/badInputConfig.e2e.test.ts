/** What a worker says of configurations, files and addresses that it cannot use. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { waitUntil } from '../services/waitUntil.ts';
import { CLI, WorkerProcess } from '../services/workerProcess.ts';

let dir: string;
let worker: WorkerProcess;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-bad-config-'));
  worker = await WorkerProcess.start(['--data-dir', join(dir, 'data')]);
});
after(async () => {
  await worker?.stop();
  await rm(dir, { recursive: true, force: true });
});

interface Refusal {
  readonly status: number;
  readonly body: { readonly error_code: number; readonly message: string };
}

async function post(name: string, config: Readonly<Record<string, unknown>>): Promise<Refusal> {
  const answer = await fetch(`${worker.url}/connectors`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, config }),
  });
  return { status: answer.status, body: (await answer.json()) as Refusal['body'] };
}

function millrace(...args: string[]): Promise<{ code: number; stderr: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, [CLI, ...args], { timeout: 60_000 }, (error, _stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stderr });
    });
  });
}

test('keys that nothing reads are named in one warning, and the connector runs', async () => {
  const { status } = await post('spelling', {
    'connector.class': 'FileStreamSource',
    file: join(dir, 'in.txt'),
    topic: 'lines',
    'batch.sise': '10',
    'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
    'value.converter.schema.enable': 'false',
    'key.converter.schemas.enable': 'false',
    transforms: 'route',
    'transforms.route.type': 'org.apache.kafka.connect.transforms.RegexRouter',
    'transforms.route.regex': '(.*)',
    'transforms.route.replacement': '$1',
    'transforms.route.predicates': 'p',
    'producer.override.linger.ms': '0',
    'topic.creation.default.partitions': '1',
    'topic.creation.default.replication.factor': '1',
  });
  assert.equal(status, 201);
  await waitUntil(
    'the connector runs',
    30_000,
    async () => (await worker.status('spelling')).tasks[0]?.state === 'RUNNING',
  );
  const warnings = worker.output.split('\n').filter(line => line.includes('that nothing reads'));
  assert.equal(warnings.length, 1, worker.output);
  assert.match(
    warnings[0]!,
    /keys of connector spelling that nothing reads, check their spelling: batch\.sise, value\.converter\.schema\.enable, key\.converter\.schemas\.enable, transforms\.route\.predicates"/,
  );
});

test('invalid values are refused with all errors in one answer, and nothing is created', async () => {
  const refused = await post('values', {
    'connector.class': 'FileStreamSource',
    'tasks.max': 'x',
    'errors.tolerance': 'some',
  });
  assert.equal(refused.status, 400);
  assert.deepEqual(refused.body.message.split('\n'), [
    'Connector configuration is invalid and contains the following 4 error(s):',
    'Invalid value x for configuration tasks.max: Not a number of type INT',
    'Invalid value null for configuration tasks.max: Value must be non-null',
    'Invalid value some for configuration errors.tolerance: String must be one of: none, all',
    'Missing required configuration "topic" which has no default value.',
    'You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`',
  ]);
  assert.deepEqual(await worker.request('GET', '/connectors'), ['spelling']);
});

test('an address or a data directory that is in use ends a second worker with what to change', async () => {
  const port = await millrace('standalone', '--data-dir', join(dir, 'other'), '--listen', new URL(worker.url).host);
  assert.equal(port.code, 1);
  assert.match(
    port.stderr,
    /^millrace: \[CONFIG_INVALID\] cannot listen on .*EADDRINUSE.*; choose another address by --listen$/m,
  );
  const data = await millrace('standalone', '--data-dir', join(dir, 'data'), '--listen', '127.0.0.1:0');
  assert.equal(data.code, 1);
  assert.match(data.stderr, /millrace: \[BROKER_DATA_DIR_IN_USE\] .*--data-dir/);
  assert.ok(data.stderr.includes(String(worker.pid)), 'it names the process');
  assert.ok(worker.running);
});

test('files that cannot be understood end the worker at once, naming file and place', async () => {
  const broken = join(dir, 'broken.json');
  await writeFile(broken, '{"name": "c",\n "config": {"connector.class": "FileStreamSource" "topic": "t"}}');
  const list = join(dir, 'list.json');
  await writeFile(list, '[1]');
  const invalid = join(dir, 'invalid.json');
  await writeFile(invalid, JSON.stringify({ name: 'c', config: { 'connector.class': 'FileStreamSource' } }));
  const nameless = join(dir, 'nameless.properties');
  await writeFile(nameless, 'connector.class=FileStreamSource\ntopic=t\n');
  for (const file of [broken, list, invalid, nameless]) {
    const ended = await millrace('standalone', '--data-dir', join(dir, 'files'), '--listen', '127.0.0.1:0', file);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /millrace: \[CONFIG_INVALID\] /);
    assert.ok(ended.stderr.includes(file), 'it names the file');
  }
});
