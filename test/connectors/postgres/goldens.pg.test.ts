/** The recorded events of Debezium, compared with what the task gives, without a broker. `GOLDENS=case,case` chooses. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ConnectRecord } from '../../../runtime/api/index.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import { JsonConverter } from '../../../schemas/json/jsonConverter.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { SourceHarness } from './sourceHarness.ts';

const kit = new URL('../../conformance/debezium/', import.meta.url);
const { compare, allowList } = (await import(new URL('compare.mjs', kit).href)) as {
  compare(golden: unknown[], actual: unknown[], options: object): { passed: number; failed: number; lines: string[] };
  allowList(file: string): { path: RegExp; case?: RegExp; topic?: RegExp }[];
};
const { load, parse } = (await import(new URL('lib.mjs', kit).href)) as {
  load(file: string): { records: { topic: string }[] };
  parse(text: string): unknown;
};
const allow = allowList(new URL('allow.json', kit).pathname);
const mayMiss = (name: string, topic: string): boolean =>
  allow.some(of => of.path.test('missing') && of.case?.test(name) !== false && of.topic?.test(topic) !== false);

/** Cases that need what the task does not do alone, or not yet. */
const LEFT_OUT = new Set(
  readFileSync(new URL('leftOut.txt', kit), 'utf8')
    .split('\n')
    .map(line => line.split(' ')[0]!),
);

const casesDir = new URL('cases/postgres/', kit);
const wanted = process.env.GOLDENS?.split(',');
for (const name of readdirSync(casesDir).sort()) {
  if (wanted ? !wanted.includes(name) : LEFT_OUT.has(name)) continue;
  test(`golden ${name}`, { timeout: 120_000 }, async t => {
    const read = (file: string): string => {
      const url = new URL(`${name}/${file}`, casesDir);
      return existsSync(url) ? readFileSync(url, 'utf8') : '';
    };
    const about = JSON.parse(read('case.json')) as {
      config?: Record<string, string>;
      stream?: boolean;
      ignore?: string;
    };
    const golden = load(new URL(`${name}/golden.json`, casesDir).pathname).records;
    // The recorded name may be in use by another run on the same server: ours is put back in the events.
    const recorded = `pg_${name.replaceAll('-', '_')}`;
    const harness = await SourceHarness.open(t);
    await harness.script(read('setup.sql'));
    await harness.start(about.config);
    if (about.stream !== false) await harness.pollUntilStreaming();
    await pollAlong(harness, harness.script(read('stream.sql')));
    const offline = read('offline.sql');
    if (offline !== '') {
      await harness.commit();
      await harness.stop();
      await harness.script(offline);
      await harness.start(about.config);
    }
    await pollQuiet(harness, golden.filter(({ topic }) => !mayMiss(`postgres/${name}`, topic)).length);
    const options = about.config?.['value.converter.replace.null.with.default'] !== 'false';
    const actual = harness.records
      .map(record => toJson(record, options, text => text.replaceAll(harness.name, recorded)))
      .filter(record => !about.ignore || !new RegExp(about.ignore).test(record.topic))
      .sort((a, b) => (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : 0));
    const { failed, lines } = compare(golden, actual, { allow, name: `postgres/${name}` });
    assert.equal(failed, 0, lines.join('\n'));
  });
}

async function pollAlong(harness: SourceHarness, work: Promise<void>): Promise<void> {
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  while (!isDone) await harness.poll();
  await ended;
}

/** Polls until the records are there and no more comes. */
async function pollQuiet(harness: SourceHarness, count: number): Promise<void> {
  // What does not come is told by the comparer.
  await harness.pollWhile(async () => harness.records.length < count).catch(() => {});
  for (let quiet = 0; quiet < 3; ) quiet = (await harness.poll()).length === 0 ? quiet + 1 : 0;
}

function toJson(
  record: ConnectRecord,
  replaceNullWithDefault: boolean,
  rename: (text: string) => string,
): { topic: string; [part: string]: unknown } {
  const side = (schema: Schema | null, value: unknown, isKey: boolean): unknown => {
    if (value === null) return null;
    const converter = new JsonConverter({
      decimalFormat: 'BASE64',
      schemasEnable: true,
      schemasCacheSize: 1000,
      replaceNullWithDefault: isKey || replaceNullWithDefault,
    });
    const out = new OutputBuffer();
    converter.encoder(record.topic, schema).encode(value, out);
    return parse(rename(out.written().toString()));
  };
  const headers: Record<string, unknown> = {};
  for (const { name, schema, value } of record.headers) {
    headers[name] =
      schema?.type === 'STRING'
        ? rename(String(value))
        : JSON.stringify((side(schema, value, true) as { payload: unknown }).payload);
  }
  return {
    topic: rename(record.topic),
    ...(record.headers.length > 0 && { headers }),
    key: side(record.keySchema, record.key, true),
    value: side(record.valueSchema, record.value, false),
  };
}
