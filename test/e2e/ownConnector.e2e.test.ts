/** docs/write-your-own-connector.md, followed to the letter: its shell blocks are run as they stand, with `npx millrace` from this tree. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../services/localPostgres.ts';
import { waitUntil } from '../services/waitUntil.ts';
import { CLI } from '../services/workerProcess.ts';

const run = promisify(execFile);
const waitMs = 60_000;
const page = join(import.meta.dirname, '../../docs/write-your-own-connector.md');
/** A test that is run by a test would say nothing of its own. */
const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
const prologue = `set -euo pipefail\nnpx() { shift; exec_node "$@"; }\nexec_node() { "${process.execPath}" "${CLI}" "$@"; }\n`;

test('the page for authors of connectors works as it is written', async t => {
  const blocks = [...(await readFile(page, 'utf8')).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
  const [create, look, start, use, ...more] = blocks;
  assert.equal(more.length, 0);
  const dir = await mkdtemp(join(tmpdir(), 'own-connector-'));
  const listen = `127.0.0.1:${await freePort()}`;
  // Where the page has the defaults.
  const env = { ...environment, CONNECT_LISTEN: listen, MILLRACE_URL: `http://${listen}` };
  const inFolder = { cwd: join(dir, 'hello'), env, timeout: waitMs };
  let worker: ChildProcess | null = null;
  let output = '';
  t.after(async () => {
    if (worker !== null && worker.exitCode === null) {
      const ended = once(worker, 'exit');
      process.kill(-worker.pid!, 'SIGTERM');
      await ended;
    }
    await rm(dir, { recursive: true, force: true });
  });

  const made = await run('bash', ['-c', prologue + create], { cwd: dir, env, timeout: waitMs });
  assert.match(made.stdout, /has a source connector/);
  assert.match(made.stdout, /^(#|ℹ) pass 2$/m);
  assert.match(made.stdout, /^(#|ℹ) fail 0$/m);
  const looked = await run('bash', ['-c', prologue + look], inFolder);
  assert.match(looked.stdout, /^hello\.HelloSource \(source, 0\.1\.0\)$/m);
  assert.match(looked.stdout, /^ {2}topic +Topic that is written to\. \(required\)$/m);

  worker = spawn('bash', ['-c', prologue + start], { ...inFolder, timeout: undefined, detached: true });
  for (const stream of [worker.stdout, worker.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  await waitUntil('the worker answers', waitMs, async () => {
    assert.equal(worker?.exitCode, null, output);
    return (await fetch(`${env.MILLRACE_URL}/health`).catch(() => null))?.ok === true;
  });
  const used = await run('bash', ['-c', prologue + use], inFolder).catch((error: Error & { stderr?: string }) => {
    throw new Error(`${error.message}\n${error.stderr}\n${output}`);
  });
  assert.match(used.stdout, /^numbers created$/m);
  for (const number of [0, 1, 2]) assert.match(used.stdout, new RegExp(`"number":${number},"text":"hello"`));
  assert.match(used.stdout, /^numbers deleted$/m);
});

test('the sink that new connector writes passes its own test, and the types of both are right', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'own-sink-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const env = environment;
  const tsc = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');
  for (const kind of ['sink', 'source']) {
    const folder = join(dir, kind);
    await run(process.execPath, [CLI, 'new', 'connector', 'acme-orders', '--kind', kind, '--dir', folder]);
    const { stdout } = await run(process.execPath, ['--test'], { cwd: folder, env, timeout: waitMs });
    assert.match(stdout, /^(#|ℹ) pass 2$/m);
    const types = ['--noEmit', '--allowJs', '--checkJs', '--strict', '--module', 'NodeNext', '--target', 'ES2023'];
    const root = join(import.meta.dirname, '../../node_modules/@types');
    await run(process.execPath, [tsc, ...types, '--typeRoots', root, '--types', 'node', 'index.js'], {
      cwd: folder,
    }).catch((error: Error & { stdout?: string }) => assert.fail(error.stdout));
  }
});
