/**
 * What a record costs where the fast path does not apply: `node --import tsx test/bench/micro/plainPath.ts [3|26] [step]`.
 * Nanoseconds of CPU per Debezium envelope, the best of several rounds; the steps are those a record takes.
 */
import type { Config, ConnectRecord, Transformation } from '../../../runtime/api/index.ts';
import { plugins } from '../../../runtime/transforms/index.ts';
import { parseAvroSchema } from '../../../schemas/avro/avroSchema.ts';
import { compileEncoder } from '../../../schemas/avro/compileEncoder.ts';
import { avroSchemaText } from '../../../schemas/avro/fromConnect.ts';
import { JsonConverter } from '../../../schemas/json/jsonConverter.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { plainValue } from '../../../schemas/transcode/plainView.ts';
import { eventsOf, rowsOf, shapes } from './events.ts';

const unwrap = transform('io.debezium.transforms.ExtractNewRecordState', { 'add.fields': 'op,source.ts_ms' });
const insert = transform('org.apache.kafka.connect.transforms.InsertField$Value', { 'topic.field': 't' });

function transform(className: string, config: Config): Transformation {
  const plugin = plugins.find(p => p.className === className);
  if (plugin?.kind !== 'transformation') throw new Error(`no transform ${className}`);
  const made = plugin.create();
  made.configure(config);
  return made;
}

const COUNT = 1000;
const ROUNDS = 7;

function nanosPerRecord(run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.cpuUsage();
    let records = 0;
    let micros = 0;
    while (micros < 200_000) {
      run();
      records += COUNT;
      const { user, system } = process.cpuUsage(start);
      micros = user + system;
    }
    best = Math.min(best, (micros * 1000) / records);
  }
  return Math.round(best);
}

for (const [name, columns] of Object.entries(shapes)) {
  if (process.argv[2] !== undefined && process.argv[2] !== name) continue;
  const { schema, layout } = eventsOf(columns);
  const rows = rowsOf(columns, COUNT);
  const values = Array.from({ length: COUNT }, (_, i) => plainValue(schema, layout, rows, i));
  const record: ConnectRecord = {
    topic: 't',
    partition: null,
    keySchema: null,
    key: null,
    valueSchema: schema,
    value: null,
    timestamp: null,
    headers: [],
  };
  const out = new OutputBuffer(8 << 20);
  const settings = { schemasCacheSize: 100, decimalFormat: 'BASE64', replaceNullWithDefault: true } as const;
  const plain = new JsonConverter({ ...settings, schemasEnable: false });
  const withSchema = new JsonConverter({ ...settings, schemasEnable: true });
  const texts = (converter: JsonConverter): { bytes: Buffer; starts: number[] } => {
    const starts: number[] = [];
    out.reset();
    for (const value of values) {
      starts.push(out.position);
      converter.encoder('t', schema).encode(value, out);
    }
    starts.push(out.position);
    return { bytes: Buffer.from(out.written()), starts };
  };
  const encode = (converter: JsonConverter) => (): void => {
    const encoder = converter.encoder('t', schema);
    out.reset();
    for (const value of values) encoder.encode(value, out);
  };
  const decode = (converter: JsonConverter): (() => void) => {
    const { bytes, starts } = texts(converter);
    const decoder = converter.decoder('t', bytes, 0, starts[1]);
    return () => {
      for (let i = 0; i < COUNT; i++) decoder.decode(bytes, starts[i], starts[i + 1]);
    };
  };
  const avro = compileEncoder(schema, parseAvroSchema(avroSchemaText(schema, { scrubInvalidNames: true })), {
    replaceNullWithDefault: true,
    avroName: field => field,
  });
  const transcode = (converter: JsonConverter): (() => void) => {
    const transcoder = converter.encoder('t', schema).transcoder(layout)!;
    return () => {
      out.reset();
      transcoder.begin(rows);
      for (let i = 0; i < COUNT; i++) transcoder.encode(i, out);
    };
  };
  const { bytes, starts } = texts(plain);
  const steps: Record<string, () => void> = {
    'plain value': () => {
      for (let i = 0; i < COUNT; i++) plainValue(schema, layout, rows, i);
    },
    'unwrap and insert': () => {
      for (const value of values) {
        insert.apply(unwrap.apply({ ...record, value })!);
      }
    },
    'to JSON': encode(plain),
    'to JSON with schema': encode(withSchema),
    'row to JSON': transcode(plain),
    'row to JSON with schema': transcode(withSchema),
    'to Avro': () => {
      out.reset();
      for (const value of values) avro(value, out);
    },
    'from JSON': decode(plain),
    'from JSON with schema': decode(withSchema),
    'JSON.parse, to compare': () => {
      for (let i = 0; i < COUNT; i++) JSON.parse(bytes.toString('utf8', starts[i], starts[i + 1]));
    },
  };
  for (const [step, run] of Object.entries(steps)) {
    if (process.argv[3] !== undefined && process.argv[3] !== step) continue;
    console.log(JSON.stringify({ columns: name, step, nanosPerRecord: nanosPerRecord(run) }));
  }
}
