/**
 * A backlog of archived Firebird segments into a topic: half inserts, half updates. Each run is a new connector that reads them all, timed from its creation
 * to the last event acknowledged; megabytes are those of the journal. `decode-to-avro` is the same without worker and broker, in seconds of one core:
 * segments to events in Avro.
 */
import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { disconnect } from '../../../connectors/firebird/connection.ts';
import { FirebirdServer, TestFirebird } from '../../services/localFirebird.ts';
import { waitUntil } from '../../services/waitUntil.ts';
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import { progress, type Report } from '../report.ts';
import type { Servers, Worker } from '../servers.ts';
import { TopicReader } from '../topicReader.ts';

const TABLE = 'ITEM';
const ROWS_PER_TRANSACTION = 5000;
const ARCHIVE_TIMEOUT_MS = 120_000;

/** Those of the PostgreSQL cases, in Firebird's types. */
const COLUMNS = {
  3: 'ID integer not null primary key, NAME varchar(50), QTY integer',
  26: `ID integer not null primary key, ${Array.from({ length: 5 }, (_, i) => `T${i} varchar(50), N${i} integer, B${i} bigint, D${i} numeric(12,2), S${i} timestamp`).join(', ')}`,
} as const;
const VALUES = {
  3: ":I, 'name of item ' || :I, :I",
  26: `:I, ${Array.from({ length: 5 }, (_, i) => `'text ${i} of item ' || :I, :I + ${i}, 123456789012 * :I + ${i}, :I / 4.00, timestamp '2024-02-29 01:02:03.4567'`).join(', ')}`,
} as const;

export async function firebirdJournalToTopic(servers: Servers, options: Options, report: Report): Promise<void> {
  const cleanups: (() => Promise<void>)[] = [];
  try {
    progress('starting Firebird');
    const server = await FirebirdServer.start({ after: f => cleanups.push(f) }, 5);
    const database = await TestFirebird.create({ after: f => cleanups.push(f) }, server, {
      JOURNAL_SEGMENT_SIZE: String(16 << 20),
      JOURNAL_BUFFER_SIZE: String(1 << 20),
    });
    await fillJournal(database, options);
    const journalBytes = await archivedBytes(database);
    progress(`${(journalBytes / 1e6).toFixed(0)} MB of journal`);
    const worker = await servers.startWorker();
    const reader = await TopicReader.open(servers.brokerSettings);
    await readJournal(worker, reader, database, options, 'warm_up');
    for (let run = 1; run <= options.runs; run++) {
      progress(`run ${run}: ${worker.system}`);
      const meter = new ProcessMeter(worker.pid);
      const seconds = await readJournal(worker, reader, database, options, `run${run}`);
      report.run(worker.system, { records: options.records, bytes: journalBytes, seconds, ...meter.stop() });
    }
    await reader.close();
    progress('decoding without worker and broker');
    for (const line of await decode(database.archive)) {
      const { records, cpuSeconds } = line;
      report.run('decode-to-avro', {
        records,
        bytes: journalBytes,
        seconds: cpuSeconds,
        cpuMicros: cpuSeconds * 1e6,
        rssMiB: null,
      });
    }
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

async function fillJournal(database: TestFirebird, options: Options): Promise<void> {
  await database.run(`create table ${TABLE} (${COLUMNS[options.columns]})`);
  const connection = await database.connect();
  const rows = Math.ceil(options.records / 2);
  const loop = (from: number, to: number, statement: string): string =>
    `execute block as declare I integer = ${from}; begin while (I < ${to}) do begin ${statement}; I = I + 1; end end`;
  for (let from = 0; from < rows; from += ROWS_PER_TRANSACTION) {
    const to = Math.min(rows, from + ROWS_PER_TRANSACTION);
    await connection.queryAsync(loop(from, to, `insert into ${TABLE} values (${VALUES[options.columns]})`));
  }
  const text = options.columns === 3 ? 'NAME' : 'T0';
  for (let from = 0; from < options.records - rows; from += ROWS_PER_TRANSACTION) {
    const to = Math.min(options.records - rows, from + ROWS_PER_TRANSACTION);
    await connection.queryAsync(loop(from, to, `update ${TABLE} set ${text} = 'changed ' || :I where ID = :I`));
  }
  // Closing the database archives its last segment.
  await disconnect(connection);
  let known = -1;
  await waitUntil(
    'all segments are archived',
    ARCHIVE_TIMEOUT_MS,
    async () => {
      const bytes = await archivedBytes(database);
      const isQuiet = bytes === known && bytes > 0;
      known = bytes;
      return isQuiet;
    },
    2000,
  );
}

async function archivedBytes({ archive }: TestFirebird): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(archive)) {
    if (/\.journal-\d+$/.test(name)) bytes += (await stat(join(archive, name))).size;
  }
  return bytes;
}

async function readJournal(
  worker: Worker,
  reader: TopicReader,
  database: TestFirebird,
  options: Options,
  purpose: string,
): Promise<number> {
  const { address, archive } = database;
  const name = `firebird_${purpose}`;
  const topic = `${name}.${TABLE}`;
  const check = (): Promise<void> => worker.rest.check(name);
  const start = performance.now();
  await worker.rest.create(name, {
    'connector.class': 'millrace.FirebirdSource',
    'tasks.max': '1',
    'database.hostname': address.host,
    'database.port': String(address.port),
    'database.user': address.user,
    'database.password': address.password,
    'database.dbname': address.database,
    'topic.prefix': name,
    'journal.source.dir': archive,
    'journal.delete.segments': 'false',
    'snapshot.mode': 'no_data',
    'topic.creation.default.partitions': '1',
    'topic.creation.default.replication.factor': '1',
    ...worker.settings,
  });
  const { endedAt } = await reader.drain(topic, 0, options.records, check);
  await worker.rest.delete(name);
  return (endedAt - start) / 1000;
}

async function decode(archive: string): Promise<readonly { records: number; cpuSeconds: number }[]> {
  const history = (await readdir(archive)).find(name => name.startsWith('.millrace-') && name.endsWith('.json'))!;
  const script = 'test/bench/micro/firebirdJournal.ts';
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--import',
    'tsx',
    script,
    archive,
    join(archive, history),
  ]);
  // The first rounds warm up.
  return stdout
    .trim()
    .split('\n')
    .slice(2)
    .map(line => JSON.parse(line));
}
