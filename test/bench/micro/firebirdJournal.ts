/**
 * How fast one core turns archived Firebird segments into Debezium envelopes in Avro: `node --import tsx test/bench/micro/firebirdJournal.ts DIRECTORY HISTORY`.
 * DIRECTORY has segments from their first on, HISTORY is the schema history of a source (schema.history.file). One JSON line per round; the CPU time of
 * all threads counts, so that a rate is that of one core.
 */
import { stat } from 'node:fs/promises';
import { parseSettings } from '../../../connectors/firebird/config.ts';
import { JournalStream } from '../../../connectors/firebird/source/journalStream.ts';
import { SchemaHistory } from '../../../connectors/firebird/source/schemaHistory.ts';
import { SegmentDirectory } from '../../../connectors/firebird/source/segmentDirectory.ts';
import type { SourceBatch } from '../../../runtime/api/index.ts';
import type { Schema } from '../../../schemas/data/index.ts';
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import { compileTranscoder } from '../../../schemas/transcode/compileTranscoder.ts';
import type { Layout } from '../../../schemas/transcode/layout.ts';

const [directory, historyFile] = process.argv.slice(2);
if (directory === undefined || historyFile === undefined)
  throw new Error('usage: firebirdJournal.ts DIRECTORY HISTORY');
const framing = Buffer.from([0, 0, 0, 0, 1]);
const transcoders = new Map<Layout, ReturnType<typeof compileTranscoder>>();
const transcoder = (schema: Schema, layout: Layout): ReturnType<typeof compileTranscoder> => {
  let known = transcoders.get(layout);
  if (known === undefined) {
    known = compileTranscoder(schema, layout, framing);
    transcoders.set(layout, known);
  }
  return known;
};
const out = new OutputBuffer(8 << 20);

function encode(batch: SourceBatch): void {
  const { rows, keyLayout, valueLayout } = batch.wire!;
  out.reset();
  for (const [schema, layout] of [
    [batch.keySchema, keyLayout],
    [batch.valueSchema, valueLayout],
  ] as const) {
    if (schema === null || layout === null) continue;
    const of = transcoder(schema, layout);
    of.begin(rows);
    for (let i = 0; i < batch.count; i++) of.encode(i, out);
  }
}

const { settings } = parseSettings({
  'database.hostname': 'none',
  'database.user': 'none',
  'database.dbname': 'none',
  'topic.prefix': 'bench',
  'journal.source.dir': directory,
});
for (let round = 0; round < 5; round++) {
  const history = (await SchemaHistory.load(historyFile))!;
  const segments = new SegmentDirectory(directory, history.guid);
  const found = await segments.list();
  const sequence = Math.min(...found.keys());
  let bytes = 0;
  for (const { path } of found.values()) bytes += (await stat(path)).size;
  const options = {
    settings: settings!,
    common: { sourcePartition: { server: 'bench' }, headers: [] },
    logger: { error() {}, warn() {}, info() {}, debug() {} },
    directory: segments,
    history,
    pollBytes: 4 << 20,
    learnFormats: async () => {},
    learn: async () => {},
    commitState: null,
    onRolledBack: () => {},
  };
  const start = { guid: history.guid, sequence, offset: 48, open: new Map(), pending: [], snapshot: null };
  const stream = new JournalStream(options, start);
  const signal = new AbortController().signal;
  const begun = performance.now();
  const cpu = process.cpuUsage();
  let records = 0;
  let offset: SourceBatch['sourceOffset'] = null;
  for (let batches = await stream.poll(signal); batches.length > 0; batches = await stream.poll(signal)) {
    for (const batch of batches) {
      records += batch.count;
      if (batch.count > 0) encode(batch);
      offset = batch.sourceOffset ?? offset;
    }
  }
  const seconds = (performance.now() - begun) / 1000;
  const used = process.cpuUsage(cpu);
  const cpuSeconds = (used.user + used.system) / 1e6;
  await stream.close();
  console.log(
    JSON.stringify({
      records,
      seconds: Number(seconds.toPrecision(3)),
      cpuSeconds: Number(cpuSeconds.toPrecision(3)),
      recordsPerCpuSecond: Math.round(records / cpuSeconds),
      bytes,
      mbPerCpuSecond: Number((bytes / cpuSeconds / 1e6).toPrecision(3)),
      lastSegment: offset?.segment,
    }),
  );
}
