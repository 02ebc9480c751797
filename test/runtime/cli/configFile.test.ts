import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readConnectorFile, readWorkerFile } from '../../../runtime/cli/configFile.ts';
import { parseFlags } from '../../../runtime/cli/flags.ts';
import { prettyLine } from '../../../runtime/cli/logger.ts';

async function file(t: TestContext, name: string, text: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const path = join(dir, name);
  await writeFile(path, text);
  return path;
}

test('worker files: properties, nested YAML, JSON', async t => {
  const expected = { 'group.id': 'g', 'task.threads': '2', 'bootstrap.servers': 'a:1,b:2' };
  const properties = 'group.id=g\ntask.threads = 2\nbootstrap.servers=a:1,\\\n  b:2\n';
  assert.deepEqual(await readWorkerFile(await file(t, 'w.properties', properties)), expected);
  const yaml = 'group: {id: g}\ntask.threads: 2\nbootstrap.servers: ["a:1", "b:2"]\n';
  assert.deepEqual(await readWorkerFile(await file(t, 'w.yaml', yaml)), expected);
  assert.deepEqual(await readWorkerFile(await file(t, 'w.json', JSON.stringify(expected))), expected);
  await assert.rejects(readWorkerFile(await file(t, 'bad.json', '{')), /bad\.json cannot be parsed/);
  await assert.rejects(readWorkerFile('/no/such.properties'), /cannot read \/no\/such\.properties/);
});

test('connector files: flat keys, or the form of a POST', async t => {
  const path = await file(t, 'c.properties', 'name=c\nconnector.class=X\ntasks.max=1\n');
  const flat = await readConnectorFile(path);
  assert.deepEqual(flat, {
    path,
    name: 'c',
    config: { name: 'c', 'connector.class': 'X', 'tasks.max': '1' },
    initialState: null,
  });
  const request = { name: 'c', config: { 'connector.class': 'X', 'tasks.max': 1 }, initial_state: 'paused' };
  const posted = await file(t, 'c.json', JSON.stringify(request));
  assert.deepEqual(await readConnectorFile(posted), { ...flat, path: posted, initialState: 'PAUSED' });
  await assert.rejects(readConnectorFile(await file(t, 'n.json', '{"connector.class":"X"}')), /no key "name"/);
});

test('flags set worker keys; --listen stands above listeners of a file', () => {
  const { config, positionals } = parseFlags(['a.properties', '--listen', ':1', '--set', 'task.threads=0'], ['listen']);
  assert.deepEqual(config, { listen: ':1', listeners: '', 'task.threads': '0' });
  assert.deepEqual(positionals, ['a.properties']);
  assert.throws(() => parseFlags(['--nope'], ['listen']), { code: 'CLI_USAGE', message: /Unknown option '--nope'/ });
  assert.throws(() => parseFlags(['--set', 'x'], []), { code: 'CLI_USAGE' });
});

test('a log line for people', () => {
  const line = prettyLine(
    '{"level":40,"time":"2026-01-02T03:04:05.678Z","connector":"c","n":1,"err":{"message":"m","stack":"Error: m\\n  at x"},"msg":"hello"}',
  );
  const plain = line.replace(new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g'), '');
  assert.equal(plain, '03:04:05.678 WARN  hello  connector=c n=1\nError: m\n  at x\n');
});
