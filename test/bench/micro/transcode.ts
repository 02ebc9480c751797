/**
 * How fast one core turns pgoutput rows into Debezium envelopes in Avro: `node --import tsx test/bench/micro/transcode.ts [3|26]`.
 * One JSON line per shape and round. What a source does per batch (arrays of positions and integers) is made once, before.
 */
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { compileTranscoder } from '../../../schemas/transcode/compileTranscoder.ts';
import { eventsOf, rowsOf, shapes } from './events.ts';

const COUNT = 2000;
for (const [name, columns] of Object.entries(shapes)) {
  if (process.argv[2] !== undefined && process.argv[2] !== name) continue;
  const rows = rowsOf(columns, COUNT);
  const { schema, layout } = eventsOf(columns);
  const transcoder = compileTranscoder(schema, layout, Buffer.from([0, 0, 0, 0, 1]));
  const out = new OutputBuffer(4 << 20);
  for (let round = 0; round < 6; round++) {
    const start = process.hrtime.bigint();
    let records = 0;
    let bytes = 0;
    let seconds = 0;
    while (seconds < 0.7) {
      transcoder.begin(rows);
      out.reset();
      for (let i = 0; i < COUNT; i++) transcoder.encode(i, out);
      records += COUNT;
      bytes += out.position;
      seconds = Number(process.hrtime.bigint() - start) / 1e9;
    }
    const rounded = (value: number): number => Number(value.toPrecision(4));
    console.log(
      JSON.stringify({
        columns: name,
        recordsPerSecond: Math.round(records / seconds),
        nanosPerRecord: rounded((seconds * 1e9) / records),
        bytesPerRecord: rounded(bytes / records),
        mbPerSecond: rounded(bytes / seconds / 1e6),
      }),
    );
  }
}
