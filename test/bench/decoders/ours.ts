/** From the socket to the Avro bytes of keys and change events: the source's own stream and the converter's compiled code, without worker and broker. */
import { parseSettings } from '../../../connectors/mysql/config.ts';
import { ChangeStream } from '../../../connectors/mysql/source/changeStream.ts';
import { TableVersions } from '../../../connectors/mysql/source/tableVersions.ts';
import type { SourceBatch } from '../../../runtime/api/index.ts';
import { avroSchemaText } from '../../../schemas/avro/fromConnect.ts';
import type { RowTranscoder } from '../../../schemas/converter.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { compileTranscoder } from '../../../schemas/transcode/compileTranscoder.ts';
import type { Layout } from '../../../schemas/transcode/layout.ts';
import { decoderRun, type EventSchemas, measure, type Reading } from './decoderRun.ts';

const run = decoderRun();
const framing = Buffer.from([0, 0, 0, 0, 1]);
const transcoders = new Map<Layout, RowTranscoder>();
const out = new OutputBuffer(8 << 20);
let schemas: EventSchemas | null = null;

function transcoder(schema: Schema, layout: Layout): RowTranscoder {
  let known = transcoders.get(layout);
  if (known === undefined) {
    known = compileTranscoder(schema, layout, framing);
    transcoders.set(layout, known);
  }
  return known;
}

function encode({ wire, keySchema, valueSchema, count }: SourceBatch): number {
  const { rows, keyLayout, valueLayout } = wire!;
  out.reset();
  schemas ??= { key: schemaText(keySchema!), value: schemaText(valueSchema!) };
  const key = transcoder(keySchema!, keyLayout!);
  const value = transcoder(valueSchema!, valueLayout!);
  key.begin(rows);
  value.begin(rows);
  for (let i = 0; i < count; i++) {
    key.encode(i, out);
    value.encode(i, out);
  }
  return out.position;
}

const schemaText = (schema: Schema): string => avroSchemaText(schema, { scrubInvalidNames: true });

async function read(serverId: number, reading: Reading): Promise<void> {
  const { settings, errors } = parseSettings(
    {
      'database.hostname': '127.0.0.1',
      'database.port': String(run.port),
      'database.user': 'root',
      'database.ssl.mode': 'disabled',
      'database.server.id': String(serverId),
      'database.include.list': run.database,
      'topic.prefix': 'bench',
    },
    'mysql',
  );
  if (settings === null) throw new Error(errors.map(e => e.message).join('\n'));
  const stream = new ChangeStream(
    {
      settings,
      common: { sourcePartition: { server: 'bench' }, headers: [] },
      logger: { error: console.error, warn: console.error, info() {}, debug() {} },
      signal: new AbortController().signal,
      versions: new TableVersions(settings),
      schemaChanges: null,
    },
    { file: run.file, position: run.position, gtids: null, events: 0, rows: 0, gtid: null, serverId: 0, seconds: 0 },
  );
  for (let isDone = false; !isDone; ) {
    let rows = 0;
    let bytes = 0;
    for (const batch of await stream.next(1000)) {
      rows += batch.count;
      bytes += encode(batch);
    }
    if (rows > 0) isDone = reading.add(rows, bytes, run.rows);
  }
  await stream.close();
}

await measure(run, true, read, () => schemas!);
process.exit(0);
