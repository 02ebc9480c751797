/** The recorded events of Debezium, compared with what the task gives, without a broker. `GOLDENS=case,case` chooses. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ConnectRecord } from '../../../runtime/api/index.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import { JsonConverter } from '../../../schemas/json/jsonConverter.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { MysqlHarness } from './mysqlHarness.ts';

const kit = new URL('../../conformance/debezium/', import.meta.url);
const { compare, allowList } = (await import(new URL('compare.mjs', kit).href)) as {
  compare(golden: unknown[], actual: unknown[], options: object): { passed: number; failed: number; lines: string[] };
  allowList(file: string): unknown[];
};
const { load, parse } = (await import(new URL('lib.mjs', kit).href)) as {
  load(file: string): { records: { topic: string }[] };
  parse(text: string): unknown;
};
const allow = allowList(new URL('allow.json', kit).pathname);

/** Cases that need what the task does not do alone, or not yet. */
const LEFT_OUT = new Set(
  readFileSync(new URL('leftOutMysql.txt', kit), 'utf8')
    .split('\n')
    .map(line => line.split(' ')[0]!),
);

const casesDir = new URL('cases/mysql/', kit);
const wanted = process.env.GOLDENS?.split(',');
for (const name of readdirSync(casesDir).sort()) {
  if (wanted ? !wanted.includes(name) : LEFT_OUT.has(name)) continue;
  test(`golden ${name}`, { timeout: 60_000 }, async t => {
    const read = (file: string): string => {
      const url = new URL(`${name}/${file}`, casesDir);
      return existsSync(url) ? readFileSync(url, 'utf8') : '';
    };
    const about = JSON.parse(read('case.json')) as {
      config?: Record<string, string>;
      databases?: string[];
      stream?: boolean;
      ignore?: string;
    };
    const prefix = `my_${name.replaceAll('-', '_')}`;
    const golden = load(new URL(`${name}/golden.json`, casesDir).pathname).records;
    const harness = await MysqlHarness.open(t, { name: prefix, more: about.databases ?? [] });
    await harness.script(read('setup.sql'));
    await harness.newSession();
    const config = { 'include.schema.changes': 'true', ...about.config };
    await harness.start(config);
    if (about.stream !== false) await harness.pollUntilStreaming();
    await pollAlong(harness, harness.script(read('stream.sql')));
    const offline = read('offline.sql');
    if (offline !== '') {
      await pollQuiet(harness, 2);
      harness.commit();
      await harness.stop();
      await harness.newSession();
      await harness.script(offline);
      await harness.start(config);
    }
    await pollQuiet(harness, golden.length);
    const actual = harness.records
      .map(toJson)
      .filter(record => !about.ignore || !new RegExp(about.ignore).test(record.topic))
      .sort((a, b) => (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : 0));
    if (name === 'json-partial') takePartialUpdates(actual);
    const { failed, lines } = compare(golden, actual, { allow, name: `mysql/${name}` });
    assert.equal(failed, 0, lines.join('\n'));
  });
}

/** The two updates that Debezium loses. */
function takePartialUpdates(actual: object[]): void {
  const partial = actual.splice(-3, 2) as { value: { payload: { after: { j: string } } } }[];
  assert.deepEqual(
    partial.map(({ value }) => value.payload.after.j),
    [
      '{"a":2,"b":[1,2,3],"long":"some text that is long enough"}',
      '{"a":2,"b":[2,3],"long":"some text that is long enough"}',
    ],
  );
}

async function pollAlong(harness: MysqlHarness, work: Promise<void>): Promise<void> {
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  while (!isDone) await harness.poll();
  await ended;
}

async function pollQuiet(harness: MysqlHarness, count: number): Promise<void> {
  const deadline = Date.now() + 30_000;
  let quiet = 0;
  while (quiet < 3 && Date.now() < deadline) {
    const batches = await harness.poll();
    quiet = harness.records.length >= count && batches.length === 0 ? quiet + 1 : 0;
  }
}

function toJson(record: ConnectRecord): { topic: string; [part: string]: unknown } {
  const side = (schema: Schema | null, value: unknown): unknown => {
    if (value === null) return null;
    const converter = new JsonConverter({
      decimalFormat: 'BASE64',
      schemasEnable: true,
      schemasCacheSize: 1000,
      replaceNullWithDefault: true,
    });
    const out = new OutputBuffer();
    converter.encoder(record.topic, schema).encode(value, out);
    return parse(out.written().toString());
  };
  const headers: Record<string, unknown> = {};
  for (const { name, schema, value } of record.headers) {
    headers[name] =
      schema?.type === 'STRING' ? String(value) : JSON.stringify((side(schema, value) as { payload: unknown }).payload);
  }
  return {
    topic: record.topic,
    ...(record.headers.length > 0 && { headers }),
    key: side(record.keySchema, record.key),
    value: side(record.valueSchema, record.value),
  };
}
