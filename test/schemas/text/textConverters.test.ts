import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plugin } from '../../../runtime/api/index.ts';
import { plugins } from '../../../runtime/converters/index.ts';
import type { Converter, HeaderConverter } from '../../../schemas/converter.ts';
import {
  array,
  Decimal,
  dateSchema,
  INT32,
  INT64,
  map,
  type Schema,
  STRING,
  Struct,
  struct,
} from '../../../schemas/data/index.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';

const noRegistry = (): never => assert.fail('no registry is needed');

function plugin<K extends Plugin['kind']>(simpleName: string, kind: K): Extract<Plugin, { kind: K }> {
  const found = plugins.find(p => p.className.endsWith(`.${simpleName}`) && p.kind === kind);
  assert.ok(found, simpleName);
  return found as Extract<Plugin, { kind: K }>;
}

const converter = (name: string, config = {}): Converter => plugin(name, 'converter').create(config, false, noRegistry);
const headers = (name: string): HeaderConverter => plugin(name, 'header_converter').create({});

async function bytesOf(by: Converter, value: unknown): Promise<Buffer> {
  const out = new OutputBuffer(1);
  assert.ok((await by.encoder('t', null)).encode(value, out));
  assert.equal((await by.encoder('t', null)).encode(null, out), false);
  return Buffer.from(out.written());
}

test('numbers, booleans, text and bytes as Kafka serializes them', async () => {
  const cases: [string, unknown, string][] = [
    ['ShortConverter', -2, 'fffe'],
    ['IntegerConverter', 258, '00000102'],
    ['LongConverter', -(2n ** 63n), '8000000000000000'],
    ['FloatConverter', 1.5, '3fc00000'],
    ['DoubleConverter', 1.5, '3ff8000000000000'],
    ['BooleanConverter', true, '01'],
    ['StringConverter', 'ä', 'c3a4'],
    ['ByteArrayConverter', Buffer.from([0, 255]), '00ff'],
  ];
  for (const [name, value, hex] of cases) {
    const by = converter(name);
    const bytes = await bytesOf(by, value);
    assert.equal(bytes.toString('hex'), hex, name);
    const decoder = await by.decoder('t', bytes, 0, bytes.length);
    assert.deepEqual(decoder.decode(bytes, 0, bytes.length), value);
    assert.deepEqual(headers(name).toConnect('t', 'h', headers(name).fromConnect('t', 'h', null, value)).value, value);
  }
  assert.equal(
    (await bytesOf(converter('StringConverter', { 'converter.encoding': 'ISO-8859-1' }), 'ä')).toString('hex'),
    'e4',
  );
});

test('wrong types, sizes and schemas are refused', async () => {
  const int = converter('IntegerConverter');
  await assert.rejects(bytesOf(int, 2 ** 31), { code: 'DATA_INVALID' });
  await assert.rejects(bytesOf(converter('LongConverter'), 2 ** 53), { code: 'DATA_INVALID' });
  assert.throws(() => int.encoder('t', STRING), { code: 'CONVERTER_FAILED' });
  const short = Buffer.from([1, 2]);
  const decoder = await int.decoder('t', short, 0, 2);
  assert.throws(() => decoder.decode(short, 0, 2), {
    code: 'CONVERTER_FAILED',
    message: /expected 4 bytes of INT32, found 2 bytes: 0102/,
  });
});

test('simple header values are written as text', () => {
  const simple = headers('SimpleHeaderConverter');
  const cases: [Schema | null, unknown, string][] = [
    [STRING, 'plain "text"', 'plain "text"'],
    [INT64, 2n ** 63n - 1n, '9223372036854775807'],
    [array(STRING), ['a"b', 'c'], '["a\\"b","c"]'],
    [map(STRING, INT32), new Map([['k', 1]]), '{"k":1}'],
    [
      null,
      new Struct(
        struct([
          ['id', INT32],
          ['s', STRING],
        ]),
        [1, 'a"b'],
      ),
      '{"id":1,"s":"a\\"b"}',
    ],
    [dateSchema(), 1, '1970-01-02'],
    [null, new Decimal(150n, 2), '1.50'],
  ];
  for (const [schema, value, text] of cases)
    assert.equal(Buffer.from(simple.fromConnect('t', 'h', schema, value)!).toString(), text);
  assert.equal(simple.fromConnect('t', 'h', null, null), null);
});

test('simple header text is read as what it looks like', () => {
  const simple = headers('SimpleHeaderConverter');
  const read = (text: string): [unknown, unknown] => {
    const { schema, value } = simple.toConnect('t', 'h', Buffer.from(text));
    return [schema?.type ?? null, value];
  };
  assert.deepEqual(read('1'), ['INT8', 1]);
  assert.deepEqual(read('-200'), ['INT16', -200]);
  assert.deepEqual(read('70000'), ['INT32', 70000]);
  assert.deepEqual(read('9223372036854775807'), ['INT64', 2n ** 63n - 1n]);
  assert.deepEqual(read('3.5'), ['FLOAT32', 3.5]);
  assert.deepEqual(read('2.123456789012'), ['FLOAT64', 2.123456789012]);
  assert.deepEqual(read('true'), ['BOOLEAN', true]);
  assert.deepEqual(read('null'), [null, null]);
  assert.deepEqual(read('1970-01-02'), ['INT32', 1]);
  assert.deepEqual(read('2026-01-02T03:04:05.006Z'), ['INT64', BigInt(Date.UTC(2026, 0, 2, 3, 4, 5, 6))]);
  assert.deepEqual(read('"1"'), ['STRING', '1']);
  assert.deepEqual(read('[1, 2]'), ['ARRAY', [1, 2]]);
  assert.deepEqual(read('{"a":"b"}'), ['MAP', new Map([['a', 'b']])]);
  for (const text of ['', 'hello world', '1 apple', '[1,', '{"a"}', '1970-99-99', '"open', 'a:b', ' 1', '[1]x', '0x10'])
    assert.deepEqual(read(text), ['STRING', text]);
});
