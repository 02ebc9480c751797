/** `millrace connectors` and `millrace cluster` as an operator uses them; the worker asks for TLS and a password. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { CLI } from '../services/workerProcess.ts';

const fixture = (name: string): string => join(import.meta.dirname, '../fixtures/tls', name);
const waitMs = 30_000;
const secret = 'b0sses-only';
let dir: string;
let worker: ChildProcess;
let url: string;
let output = '';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function millrace(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const options = {
    env: { ...process.env, MILLRACE_URL: url, MILLRACE_USER: `ops:${secret}`, ...env },
    timeout: waitMs,
  };
  return new Promise(resolve => {
    execFile(process.execPath, [CLI, ...args, '--ca', fixture('ca.pem')], options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });
}

async function ok(...args: string[]): Promise<string> {
  const ended = await millrace(args);
  assert.equal(ended.code, 0, `${args.join(' ')}: ${ended.stderr}${ended.stdout}`);
  return ended.stdout;
}

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'connectors-cli-'));
  await writeFile(join(dir, 'users.properties'), `ops=${secret}\n`);
  const port = await freePort();
  url = `https://localhost:${port}`;
  const settings = [
    `listeners=${url}`,
    `listeners.https.ssl.keystore.location=${fixture('server.pem')}`,
    `rest.basic.auth.file=${join(dir, 'users.properties')}`,
    'errors.restart.max=0',
    'task.threads=1',
  ];
  worker = spawn(
    process.execPath,
    [CLI, 'standalone', '--data-dir', join(dir, 'data'), ...settings.flatMap(setting => ['--set', setting])],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  for (const stream of [worker.stdout, worker.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  await waitUntil('the worker is ready', waitMs, () => {
    assert.equal(worker.exitCode, null, output);
    return output.includes('worker is ready');
  });
});

after(async () => {
  if (worker.exitCode === null) {
    const ended = once(worker, 'exit');
    worker.kill();
    await ended;
  }
  await rm(dir, { recursive: true, force: true });
});

test('connectors are made from files, changed, watched, paused, stopped, rewound and deleted', async () => {
  const file = join(dir, 'lines.properties');
  const input = join(dir, 'in.txt');
  await writeFile(input, 'one\ntwo\n');
  const write = (more: string) =>
    writeFile(file, `name=lines\nconnector.class=FileStreamSource\nfile=${input}\ntopic=lines\n${more}`);
  await write('tasks.max=x\n');
  const wrong = await millrace(['connectors', 'validate', file]);
  assert.equal(wrong.code, 1);
  assert.match(
    wrong.stdout,
    /^ {2}tasks\.max: Invalid value x for configuration tasks\.max: Not a number of type INT$/m,
  );
  await write('');
  assert.equal(await ok('connectors', 'validate', file), `${file} is valid\n`);
  assert.match(await ok('connectors', 'apply', file, '--wait', '20'), /^lines created$/m);
  assert.match(await ok('connectors', 'apply', file), /^lines unchanged$/m);
  await write('batch.size=10\n');
  assert.match(await ok('connectors', 'apply', file, '--wait', '20'), /^lines changed$/m);
  assert.equal(JSON.parse(await ok('connectors', 'config', 'lines'))['batch.size'], '10');
  const again = await millrace(['connectors', 'create', file]);
  assert.equal(again.code, 1);
  assert.match(
    again.stderr,
    /^millrace: \[CLI_REQUEST_FAILED\] POST https:.* answered 409: Connector lines already exists\n$/,
  );

  assert.match(await ok('connectors'), /^lines +source +RUNNING +1 RUNNING +FileStreamSource$/m);
  assert.match(await ok('connectors', 'status', 'lines'), /^ {2}task 0 +RUNNING +localhost:\d+$/m);
  assert.match(await ok('connectors', 'pause', 'lines', '--wait', '20'), /^lines pauses$/m);
  assert.match(await ok('connectors', 'list'), /PAUSED +1 PAUSED/);
  await ok('connectors', 'resume', 'lines', '--wait', '20');
  await ok('connectors', 'restart', 'lines', '--tasks', '--wait', '20');
  await ok('connectors', 'restart', 'lines', '--task', '0', '--wait', '20');
  await ok('connectors', 'stop', 'lines', '--wait', '20');
  const offsets = JSON.parse(await ok('connectors', 'offsets', 'lines')) as { offsets: { offset: object }[] };
  assert.deepEqual(offsets.offsets[0]!.offset, { position: 8 });
  const wanted = join(dir, 'offsets.json');
  await writeFile(wanted, JSON.stringify({ offsets: [{ partition: { filename: input }, offset: { position: 4 } }] }));
  assert.match(await ok('connectors', 'offsets', 'lines', '--set', wanted), /have been altered successfully/);
  assert.match(await ok('connectors', 'offsets', 'lines', '--reset'), /have been reset successfully/);
  assert.equal(await ok('connectors', 'topics', 'lines'), 'lines\n');
  assert.match(await ok('connectors', 'delete', 'lines'), /^lines deleted$/m);
  const gone = await millrace(['connectors', 'status', 'lines']);
  assert.equal(gone.code, 1);
});

test('what has failed gives exit code 3 and its error', async () => {
  const file = join(dir, 'broken.json');
  const config = { 'connector.class': 'FileStreamSink', topics: 'lines', file: '/no/such/folder/out.txt' };
  await writeFile(file, JSON.stringify({ name: 'broken', config }));
  const applied = await millrace(['connectors', 'apply', file, '--wait', '20']);
  assert.equal(applied.code, 3);
  assert.match(applied.stderr, /Couldn't find or create file '\/no\/such\/folder\/out\.txt'/);
  assert.equal((await millrace(['connectors', 'status', 'broken'])).code, 3);
  const shown = await millrace(['cluster']);
  assert.equal(shown.code, 3);
  assert.match(shown.stdout, /^localhost:\d+ +1 +1 +1 +0$/m);
  await ok('connectors', 'delete', 'broken');
  assert.equal((await millrace(['cluster', 'status'])).code, 0);
});

test('log levels, plugins, and the answers as they are', async () => {
  assert.match(await ok('cluster', 'log-level', 'root', 'debug'), /^root is at DEBUG on all workers$/m);
  assert.match(await ok('cluster', 'log-level'), /^root +DEBUG$/m);
  await ok('cluster', 'log-level', 'root', 'info');
  assert.match(await ok('cluster', 'plugins'), /^sink +org\.apache\.kafka\.connect\.file\.FileStreamSinkConnector/m);
  assert.deepEqual(JSON.parse(await ok('connectors', 'list', '--json')), {});
});

test('no password, no trust, no worker and no such command: one line and an exit code; the password is nowhere', async () => {
  const cases: readonly (readonly [string[], Record<string, string>, number, RegExp])[] = [
    [['connectors'], { MILLRACE_USER: 'ops:wrong' }, 1, /answered 401: User cannot access the resource\./],
    [['connectors'], { MILLRACE_URL: 'https://localhost:1' }, 1, /no worker answers at https:\/\/localhost:1: .*--url/],
    [['connectors', '--url', 'ftp://x'], {}, 2, /expected an address such as/],
    [['connectors', 'explode'], {}, 2, /unknown command connectors explode; see millrace connectors --help/],
    [['connectors', 'pause'], {}, 2, /a name or file is missing/],
    [['cluster', 'explode'], {}, 2, /cluster explode is no command/],
  ];
  for (const [args, env, code, stderr] of cases) {
    const ended = await millrace(args, env);
    assert.equal(ended.code, code, `${args.join(' ')}: ${ended.stderr}`);
    assert.match(ended.stderr, /^millrace: \[\w+\] .*\n$/);
    assert.match(ended.stderr, stderr);
  }
  assert.match((await millrace(['connectors', '--help'])).stdout, /^usage: millrace connectors/);
  assert.match((await millrace(['cluster', '--help'])).stdout, /^usage: millrace cluster/);
  assert.ok(!output.includes(secret), output);
});
