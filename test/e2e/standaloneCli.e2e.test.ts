import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../services/waitUntil.ts';
import { CLI, WorkerProcess } from '../services/workerProcess.ts';

const waitMs = 30_000;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function millrace(...args: string[]): Promise<Ended> {
  return new Promise(resolve => {
    execFile(process.execPath, [CLI, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

test('a stock worker file and connector files run as they are, and the topic can be looked at meanwhile', async t => {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  const file = (name: string): string => join(dir, name);
  await writeFile(file('in.txt'), 'foo\nbar\n');
  const converter = 'org.apache.kafka.connect.json.JsonConverter';
  await writeFile(
    file('worker.properties'),
    `# as it comes with Kafka, but for the broker\nkey.converter=${converter}\nvalue.converter=${converter}\nkey.converter.schemas.enable=true\nvalue.converter.schemas.enable=true\noffset.storage.file.filename=/tmp/connect.offsets\noffset.flush.interval.ms=10000\n`,
  );
  await writeFile(
    file('source.properties'),
    `name=source\nconnector.class=FileStreamSource\ntasks.max=1\nfile=${file('in.txt')}\ntopic=lines\n`,
  );
  const sink = { 'connector.class': 'FileStreamSink', 'tasks.max': 1, file: file('out.txt'), topics: 'lines' };
  await writeFile(file('sink.json'), JSON.stringify({ name: 'sink', config: sink }));
  const files = ['worker.properties', 'source.properties', 'sink.json'].map(file);
  const worker = await WorkerProcess.start([...files, '--data-dir', file('data')]);
  t.after(async () => {
    await worker.stop();
    await rm(dir, { recursive: true, force: true });
  });
  const read = (): Promise<string> => readFile(file('out.txt'), 'utf8').catch(() => '');
  await waitUntil('the lines arrive', waitMs, async () => (await read()) === 'foo\nbar\n');
  assert.match(worker.output, /mean nothing here: offset\.storage\.file\.filename/);

  const list = await millrace('topics', 'list', '--data-dir', file('data'));
  assert.match(list.stdout, /^lines {2}partitions=\d+ records=2$/m);
  const tail = await millrace('topics', 'tail', 'lines', '--max-messages', '1', '--data-dir', file('data'));
  assert.match(tail.stdout, /^\{"partition":0,"offset":1,.*"value":"bar"\}\n$/);

  const second = await millrace('standalone', '--data-dir', file('data2'), '--listen', new URL(worker.url).host);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /^millrace: \[CONFIG_INVALID\] cannot listen on .*\n$/);
  await worker.stop();
  assert.match(worker.output, /worker has stopped/);
  await worker.restart();
  await waitUntil('the connectors run again', waitMs, async () => {
    return (await worker.status('sink').catch(() => null))?.tasks[0]?.state === 'RUNNING';
  });
});

test('wrong command lines and configurations end with one line and an exit code', async () => {
  const cases: [string[], number, RegExp][] = [
    [['nope'], 2, /^millrace: \[CLI_USAGE\] unknown command nope; see millrace --help\n$/],
    [['standalone', '--nope'], 2, /^millrace: \[CLI_USAGE\] Unknown option '--nope'\n$/],
    [
      ['standalone', '--set', 'task.threads=x'],
      1,
      /^millrace: \[CONFIG_INVALID\] .*task\.threads: Not a number of type INT\n$/,
    ],
    [
      ['standalone', '/no/such/file.properties'],
      1,
      /^millrace: \[CONFIG_INVALID\] cannot read \/no\/such\/file\.properties: .*\n$/,
    ],
    [['worker', '--bootstrap-servers', 'nowhere:1'], 1, /^millrace: \[CONFIG_INVALID\] .*"group\.id".*\n$/],
    [['worker'], 1, /^millrace: \[CONFIG_INVALID\] .*set bootstrap\.servers.*\n$/],
    [['topics', 'tail'], 2, /^millrace: \[CLI_USAGE\] topics tail takes one topic\n$/],
    [['plugins', 'no.such.Class'], 1, /^millrace: \[PLUGIN_NOT_FOUND\] .*\n$/],
  ];
  for (const [args, code, stderr] of cases) {
    const ended = await millrace(...args);
    assert.equal(ended.code, code, `${args.join(' ')}: ${ended.stderr}`);
    assert.match(ended.stderr, stderr);
  }
});

test('plugins and help', async () => {
  const list = await millrace('plugins');
  assert.match(list.stdout, /^source +org\.apache\.kafka\.connect\.file\.FileStreamSourceConnector/m);
  const keys = await millrace('plugins', 'FileStreamSource');
  const modes = await millrace('plugins', 'PostgresSink');
  assert.match(modes.stdout, /One of insert, multi, upsert,\s+update\./);
  assert.match(keys.stdout, /^ {2}topic +.*\(required\)$/m);
  for (const command of ['standalone', 'worker', 'topics', 'plugins']) {
    const help = await millrace(command, '--help');
    assert.equal(help.code, 0);
    assert.match(help.stdout, new RegExp(`^usage: millrace ${command}`));
  }
});
