/** What a PostgreSQL sink says of records and targets that it cannot use, and that it goes on with nothing lost once that is mended. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { waitUntil } from '../services/waitUntil.ts';
import { CLI } from '../services/workerProcess.ts';
import { Bench } from './badInput.ts';

let bench: Bench;
before(async () => {
  bench = await Bench.start();
});
after(() => bench?.close());

const json = {
  'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
  'value.converter.schemas.enable': 'false',
  'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
};

/** Lines of a file as records of a topic, byte for byte. */
async function startLines(topic: string, lines: readonly string[]): Promise<(line: string) => Promise<void>> {
  const file = join(bench.dataDir, `${topic}.txt`);
  const add = (line: string): Promise<void> => appendFile(file, `${line}\n`);
  for (const line of lines) await add(line);
  await bench.worker.createConnector(`${topic}-lines`, {
    'connector.class': 'FileStreamSource',
    file,
    topic,
    'topic.creation.default.partitions': '1',
    'topic.creation.default.replication.factor': '1',
    'value.converter': 'org.apache.kafka.connect.storage.StringConverter',
  });
  await bench.running(`${topic}-lines`);
  return add;
}

interface Shown {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly value: unknown;
}

async function records(topic: string): Promise<Shown[]> {
  const args = [
    CLI,
    'topics',
    'tail',
    topic,
    '--from-beginning',
    '--max-messages',
    '1000',
    '--data-dir',
    bench.dataDir,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Shown);
}

const rows = async (table: string): Promise<unknown[]> =>
  (await bench.target(`SELECT id, v FROM ${table} ORDER BY id`)).map(row => `${row.id} ${row.v}`);

const arrived = (table: string, expected: readonly string[]): Promise<void> =>
  waitUntil(`${table} has ${expected.join()}`, 60_000, async () => (await rows(table)).join() === expected.join());

const configure = (name: string, config: Readonly<Record<string, string>>): Promise<unknown> =>
  bench.worker.request('PUT', `/connectors/${name}/config`, config);

test('a poison record stops the sink with its place; with errors.tolerance=all it goes to the dead letter queue', async () => {
  const add = await startLines('poison', ['{"id":1,"v":"a"}', '{"id":2,', '{"id":3,"v":"c"}']);
  await bench.target('CREATE TABLE poison (id int PRIMARY KEY, v text)');
  const config = bench.sinkConfig('poison', {
    ...json,
    topics: 'poison',
    'table.name.format': 'poison',
    'pk.mode': 'record_value',
    'pk.fields': 'id',
    'delete.enabled': 'false',
  });
  await bench.worker.createConnector('poison-sink', config);
  const failure = await bench.failure('poison-sink');
  assert.match(failure, /^\[CONVERTER_FAILED\] .*topic poison, partition 0, offset 1/);
  await bench.restart('poison-sink');
  assert.match(await bench.failure('poison-sink'), /offset 1/, 'it is not passed over');

  await configure('poison-sink', {
    ...config,
    'errors.tolerance': 'all',
    'errors.deadletterqueue.topic.name': 'letters',
    'errors.deadletterqueue.topic.replication.factor': '1',
    'errors.deadletterqueue.context.headers.enable': 'true',
  });
  await arrived('poison', ['1 a', '3 c']);
  await add('{"id":"no number","v":"d"}');
  await add('{"id":5,"v":"e"}');
  await arrived('poison', ['1 a', '3 c', '5 e']);
  await waitUntil('both letters are written', 30_000, async () => (await records('letters')).length === 2);
  const [broken, unfit] = await records('letters');
  assert.equal(broken!.value, '{"id":2,');
  const context = (shown: Shown, name: string): string => String(shown.headers[`__connect.errors.${name}`]);
  assert.equal(context(broken!, 'topic'), 'poison');
  assert.equal(context(broken!, 'offset'), '1');
  assert.equal(context(broken!, 'stage'), 'VALUE_CONVERTER');
  assert.equal(context(unfit!, 'offset'), '3');
  assert.equal(context(unfit!, 'stage'), 'TASK_PUT');
  assert.match(context(unfit!, 'exception.message'), /"id" of type integer/);
});

test('Avro expected, something else found', async () => {
  await startLines('noavro', ['hello']);
  await bench.worker.createConnector(
    'noavro-sink',
    bench.sinkConfig('noavro', { topics: 'noavro', 'table.name.format': 'x' }),
  );
  const failure = await bench.failure('noavro-sink');
  assert.match(failure, /^\[CONVERTER_FAILED\] .*topic noavro, partition 0, offset 0/);
});

test('a target table that is missing stops the sink until it is there', async () => {
  await bench.startSource('missing');
  const sink = await bench.startSink('missing', { 'auto.create': 'false' });
  const failure = await bench.failure(sink);
  assert.match(
    failure,
    /^\[SINK_TABLE_MISSING\] table .*missing.* does not exist; create it, .*topic missing\.public\.missing/,
  );
  await bench.target('CREATE TABLE missing (id int PRIMARY KEY, v text)');
  await bench.restart(sink);
  await bench.copied('missing');
});

test('a target without the key stops the sink until there is one', async () => {
  await bench.startSource('unkeyed');
  await bench.target('CREATE TABLE unkeyed (id int, v text)');
  const sink = await bench.startSink('unkeyed');
  assert.match(await bench.failure(sink), /^\[SINK_KEY_INDEX_MISSING\] .*\(id\) of .*unkeyed/);
  await bench.target('ALTER TABLE unkeyed ADD PRIMARY KEY (id)');
  await bench.restart(sink);
  await bench.copied('unkeyed');
});

test('a value that does not fit stops the sink with table, column and offset', async () => {
  await bench.startSource('narrow');
  await bench.target('CREATE TABLE narrow (id smallint PRIMARY KEY, v varchar(4))');
  const sink = await bench.startSink('narrow');
  await bench.copied('narrow');
  await bench.source("INSERT INTO narrow VALUES (10, 'ten'), (11, 'eleven'), (12, 'xii')");
  assert.match(
    await bench.failure(sink),
    /^\[SINK_RECORD_REJECTED\] .*character varying\(4\).*topic narrow\.public\.narrow, partition 0, offset 4, table public\.narrow, column v,/,
  );
  await bench.target('ALTER TABLE narrow ALTER v TYPE text');
  await bench.restart(sink);
  await bench.copied('narrow');
  await bench.source("INSERT INTO narrow VALUES (70000, 'many')");
  assert.match(
    await bench.failure(sink),
    /^\[SINK_VALUE_UNFIT\] .*"id".*smallint.*topic narrow\.public\.narrow, partition 0, offset 6, table public\.narrow/,
  );
  await bench.target('ALTER TABLE narrow ALTER id TYPE int');
  await bench.restart(sink);
  await bench.copied('narrow');
});

test('a wrong password and missing rights stop the sink until they are right', async () => {
  await bench.startSource('guarded');
  await bench.target("CREATE ROLE writer LOGIN PASSWORD 'first'");
  const login = (password: string) => ({
    'connection.url': bench.postgres.url('target').replace('postgres:postgres@', `writer:${password}@`),
  });
  const refusal = await bench.refused('guarded-sink', bench.sinkConfig('guarded', login('second')));
  assert.match(refusal.message, /\[SINK_LOGIN_FAILED\] .*"writer"/);
  const sink = await bench.startSink('guarded', login('first'));
  assert.match(
    await bench.failure(sink),
    /^\[SINK_PRIVILEGE\] .*create table .*guarded.*permission denied for schema public/,
  );
  await bench.target("ALTER ROLE writer PASSWORD 'second'");
  await bench.restart(sink);
  assert.match(await bench.failure(sink), /^\[SINK_LOGIN_FAILED\] .*"writer"/);
  await bench.target("ALTER ROLE writer PASSWORD 'first'");
  await bench.target('CREATE TABLE guarded (id int PRIMARY KEY, v text); GRANT SELECT ON guarded TO writer');
  await bench.restart(sink);
  assert.match(await bench.failure(sink), /^\[SINK_PRIVILEGE\] .*GRANT INSERT, UPDATE, DELETE ON .*guarded/);
  await bench.target('GRANT INSERT, UPDATE, DELETE ON guarded TO writer');
  await bench.restart(sink);
  await bench.copied('guarded');
});
