import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STRING, struct } from '../../../schemas/data/index.ts';
import { ConnectError } from '../../../schemas/errors.ts';
import { JsonConverter } from '../../../schemas/json/jsonConverter.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import type { Layout, WireRows } from '../../../schemas/transcode/layout.ts';
import { plainValue } from '../../../schemas/transcode/plainView.ts';
import { Random } from '../../random.ts';
import { randomCase } from '../transcode/randomRecords.ts';

const rounds = Number(process.env.TRANSCODE_ROUNDS ?? 120);

function outcome(run: () => string): string {
  try {
    return run();
  } catch (error) {
    assert.ok(error instanceof ConnectError, String((error as Error).stack));
    return `failed: ${error.code}`;
  }
}

test('rows become the JSON of the plain record, in all settings; damaged rows an error or the same record', () => {
  let failures = 0;
  for (let seed = 1; seed <= rounds; seed++) {
    const r = new Random(seed);
    const { schema, layout, rows } = randomCase(r, 6);
    const encoder = new JsonConverter({
      schemasEnable: r.chance(20),
      schemasCacheSize: 10,
      decimalFormat: r.pick(['BASE64', 'NUMERIC']),
      replaceNullWithDefault: r.chance(70),
    }).encoder('t', schema);
    const transcoder = encoder.transcoder(layout)!;
    const out = new OutputBuffer(r.pick([1, 64, 100_000]));
    const compare = (batch: WireRows, isDamaged: boolean): void => {
      transcoder.begin(batch);
      for (let i = 0; i < batch.count; i++) {
        const start = out.position;
        const written = outcome(() =>
          transcoder.encode(i, out) ? out.bytes.toString('utf8', start, out.position) : '',
        );
        if (written.startsWith('failed')) {
          failures++;
          assert.ok(isDamaged, `seed ${seed}, record ${i}: ${written}`);
          assert.equal(out.position, start);
        }
        const plain = new OutputBuffer();
        const expected = outcome(() => {
          const value = plainValue(schema, layout, batch, i);
          return encoder.encode(value, plain) ? plain.written().toString() : '';
        });
        // mended text may differ in where it was cut
        if (!expected.includes('\ufffd')) assert.equal(written, expected, `seed ${seed}, record ${i}`);
      }
    };
    compare(rows, false);
    for (let damage = 0; damage < 4; damage++) {
      const bytes = Buffer.from(rows.bytes);
      for (let n = 1 + r.below(3); n > 0 && bytes.length > 0; n--) bytes[r.below(bytes.length)] = r.below(256);
      compare({ ...rows, bytes }, true);
    }
  }
  assert.ok(failures > 0);
});

test('strings of bytes are escaped as JSON.stringify does, wherever in a text the character stands', () => {
  const schema = struct([['s', STRING]]);
  const layout: Layout = { kind: 'row', slot: 0, format: 'pg-copy', columns: [{ field: 0, column: { wire: 'utf8' } }] };
  const settings = { schemasCacheSize: 1, decimalFormat: 'BASE64', replaceNullWithDefault: true } as const;
  const encoder = new JsonConverter({ ...settings, schemasEnable: false }).encoder('t', schema);
  const transcoder = encoder.transcoder(layout)!;
  const special = [...Array.from({ length: 32 }, (_, c) => String.fromCharCode(c)), '"', '\\', '\x7f', 'é', '😀'];
  for (const length of [0, 1, 5, 90, 100, 3000]) {
    for (const character of special) {
      for (const at of [0, 1, 2, 3, length - 1, length]) {
        const text = 'x'.repeat(Math.max(at, 0)) + character + 'y'.repeat(Math.max(length - at, 0));
        const utf8 = Buffer.from(text);
        const bytes = Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 0]), utf8]);
        bytes.writeInt32BE(utf8.length, 2);
        const out = new OutputBuffer(8);
        transcoder.begin({ bytes, count: 1, positions: [Int32Array.of(0)], longs: [], choices: [], constants: [] });
        transcoder.encode(0, out);
        assert.equal(out.written().toString(), JSON.stringify({ s: text }));
      }
    }
  }
});
