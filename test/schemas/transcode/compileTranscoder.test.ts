import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAvroSchema } from '../../../schemas/avro/avroSchema.ts';
import { compileEncoder } from '../../../schemas/avro/compileEncoder.ts';
import { avroSchemaText } from '../../../schemas/avro/fromConnect.ts';
import { INT32, OPTIONAL_STRING, optional, primitive, STRING, struct } from '../../../schemas/data/index.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { compileTranscoder } from '../../../schemas/transcode/compileTranscoder.ts';
import type { Layout, WireRows } from '../../../schemas/transcode/layout.ts';
import { plainValue } from '../../../schemas/transcode/plainView.ts';
import { fieldOfColumn } from '../../../schemas/transcode/rowColumns.ts';
import { Random } from '../../random.ts';
import { type RandomCase, randomCase } from './randomRecords.ts';

const framing = Buffer.from([0, 0, 0, 0, 7]);
const rounds = Number(process.env.TRANSCODE_ROUNDS ?? 120);

function encoded({ schema, layout, rows }: RandomCase, index: number, replaceNullWithDefault: boolean): Buffer | null {
  const value = plainValue(schema, layout, rows, index);
  if (value === null) return null;
  const out = new OutputBuffer();
  out.writeBytes(framing);
  const type = parseAvroSchema(avroSchemaText(schema, { scrubInvalidNames: false }));
  compileEncoder(schema, type, { replaceNullWithDefault, avroName: name => name })(value, out);
  return out.written();
}

/** The bytes or the error of both ways. */
function outcome(run: () => Buffer | null): string {
  try {
    return run()?.toString('hex') ?? 'null';
  } catch (error) {
    assert.ok(error instanceof ConnectError, String((error as Error).stack));
    return `${error.code}: ${error.message}`;
  }
}

test('transcoding gives the bytes of the plain record, encoded', () => {
  for (let seed = 1; seed <= rounds; seed++) {
    const r = new Random(seed);
    const random = randomCase(r, 12);
    const replaceNullWithDefault = r.chance(70);
    const transcoder = compileTranscoder(random.schema, random.layout, framing, { replaceNullWithDefault });
    const out = new OutputBuffer(r.pick([1, 64, 100_000]));
    transcoder.begin(random.rows);
    for (let i = 0; i < random.rows.count; i++) {
      const start = out.position;
      const written = transcoder.encode(i, out) ? out.bytes.subarray(start, out.position).toString('hex') : 'null';
      const expected = encoded(random, i, replaceNullWithDefault)?.toString('hex') ?? 'null';
      assert.equal(written, expected, `seed ${seed}, record ${i}`);
    }
  }
});

test('damaged rows give the same record or the same error both ways, and leave the output as it was', () => {
  let failures = 0;
  for (let seed = 1; seed <= rounds; seed++) {
    const r = new Random(seed);
    const random = randomCase(r, 3);
    const transcoder = compileTranscoder(random.schema, random.layout, framing);
    for (let damage = 0; damage < 8; damage++) {
      const bytes = Buffer.from(random.rows.bytes);
      const cut = r.chance(50) ? r.below(bytes.length + 1) : bytes.length;
      for (let i = r.below(3); i > 0 && cut > 0; i--) bytes[r.below(cut)] = r.below(256);
      // the cut part stays in memory behind the end, so that an over-read would be seen as a difference, not as undefined
      const rows: WireRows = { ...random.rows, bytes: bytes.subarray(0, cut) };
      const out = new OutputBuffer(64);
      transcoder.begin(rows);
      for (let i = 0; i < rows.count; i++) {
        const before = out.position;
        const written = outcome(() => (transcoder.encode(i, out) ? out.bytes.subarray(before, out.position) : null));
        const expected = outcome(() => encoded({ ...random, rows }, i, true));
        if (written.startsWith('TRANSCODE')) {
          failures++;
          assert.equal(out.position, before);
          assert.match(written, new RegExp(`record ${i} of the batch`));
          assert.ok(expected.startsWith('TRANSCODE'), `seed ${seed}: ${written} against ${expected}`);
        } else if (!expected.includes('efbfbd')) {
          // U+FFFD: the plain view mends text that is no UTF-8; the database's own text never is that
          assert.equal(written, expected, `seed ${seed}, record ${i}`);
        }
      }
    }
  }
  assert.ok(failures > rounds, `${failures} failures seen`);
});

const item = struct([
  ['id', INT32],
  ['name', OPTIONAL_STRING],
]);
const itemLayout: Extract<Layout, { kind: 'row' }> = {
  kind: 'row',
  slot: 0,
  format: 'pg-copy',
  columns: [
    { field: 0, column: { wire: 'int32be' } },
    { field: 1, column: { wire: 'utf8' } },
  ],
};
const rowsOf = (bytes: Buffer): WireRows => ({
  bytes,
  count: 1,
  positions: [Int32Array.of(0)],
  longs: [],
  choices: [],
  constants: [],
});
const firstError = (layout: Layout, bytes: Buffer): string =>
  outcome(() => {
    const transcoder = compileTranscoder(item, layout, framing);
    transcoder.begin(rowsOf(bytes));
    transcoder.encode(0, new OutputBuffer());
    return null;
  });

test('a malformed row is named by column and record', () => {
  const good = Buffer.from([0, 2, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0, 1, 65]);
  assert.equal(firstError(itemLayout, good), 'null');
  assert.match(
    firstError(itemLayout, good.subarray(0, 14)),
    /TRANSCODE_ROW_INVALID: column 1 of record 0 .*ends before/,
  );
  assert.match(firstError(itemLayout, Buffer.from([0, 3])), /record 0 .*another number of columns/);
  assert.match(firstError(itemLayout, Buffer.from([0, 2, 255, 255, 255, 255])), /column 0 of record 0 .*null/);
  assert.match(firstError(itemLayout, Buffer.from([0, 2, 128, 0, 0, 0, 1])), /column 0 of record 0 .*ends before/);
  assert.match(firstError(itemLayout, Buffer.from([0, 2, 0, 0, 0, 2, 0, 9])), /column 0 of record 0 .*another length/);
});

test('a layout that does not fit its schema is refused when it is compiled', () => {
  const bad: Layout[] = [
    { kind: 'null' },
    { kind: 'struct', fields: [] },
    { ...itemLayout, columns: itemLayout.columns.slice(1) },
    { ...itemLayout, columns: [...itemLayout.columns, itemLayout.columns[0]] },
    { ...itemLayout, columns: [{ field: 0, column: { wire: 'utf8' } }, itemLayout.columns[1]] },
  ];
  for (const layout of bad) {
    const schema = layout.kind === 'null' ? struct([['f', STRING]]) : item;
    const whole: Layout = layout.kind === 'null' ? { kind: 'struct', fields: [layout] } : layout;
    assert.throws(() => compileTranscoder(schema, whole, framing), { code: 'TRANSCODE_LAYOUT_INVALID' });
  }
});

test('names and texts of schemas never reach generated source', () => {
  const evil = '`;${globalThis.pwned=1};//\'"\\';
  const schema = struct([[evil, primitive('STRING', { optional: true, defaultValue: evil, name: evil })]], {
    name: 'T',
  });
  const layout: Layout = { kind: 'struct', fields: [{ kind: 'constant', value: evil }] };
  const out = new OutputBuffer();
  const transcoder = compileTranscoder(schema, layout, framing);
  transcoder.begin(rowsOf(Buffer.alloc(0)));
  assert.equal(transcoder.encode(0, out), true);
  assert.ok(out.written().includes(evil));
  assert.equal('pwned' in globalThis, false);
});

test('the field of a column is told by its name, wherever in the record the row is', () => {
  const envelope = struct([
    ['before', optional(item)],
    ['after', optional(item)],
    ['op', STRING],
  ]);
  const other: Layout = { kind: 'constant', value: 'c' };
  const columns = [{ field: -1, column: { wire: 'skip' } }, ...itemLayout.columns] as typeof itemLayout.columns;
  const layout: Layout = { kind: 'struct', fields: [{ kind: 'null' }, { ...itemLayout, columns }, other] };
  const either: Layout = { kind: 'choice', slot: 0, of: [{ kind: 'null' }, layout] };
  assert.deepEqual(
    [0, 1, 2, 3, -1].map(column => fieldOfColumn(envelope, either, column)),
    [null, 'id', 'name', null, null],
  );
});
