/**
 * How fast one process reads rows from the log: ours to the Avro bytes of whole change events and their keys, beside @vlasky/zongji and the Java client of the
 * log, each twice: to the same bytes by Avro's own library of its language, and to its row objects alone, which nothing is done with. All read the same log
 * from the same server, each in a process of its own: a new one, and one that has read it before, whose compiler is through.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import type { DecoderResult, DecoderRun, EventSchemas } from '../decoders/decoderRun.ts';
import { change, createMysqlTable, WORKLOADS } from '../mysqlTables.ts';
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import { progress, type Report } from '../report.ts';
import type { Servers } from '../servers.ts';
import { DATABASE } from './sourceSetup.ts';

const DECODERS = join(import.meta.dirname, '../decoders');
/** How often a process reads the log before it is timed, and while it is. */
const READINGS = [
  { label: 'once', warmUps: 0, passes: 1 },
  { label: 'warm', warmUps: 2, passes: 3 },
];
/** Of the bytes that libraries make of a row beside ours: their numbers of servers and threads are shorter, and avsc has no nanoseconds. */
const BYTES_APART = 0.05;

interface Decoder {
  readonly system: string;
  /** Whether it makes events of its rows by a library. */
  readonly takesSchemas: boolean;
  command(run: DecoderRun): readonly string[];
}

const ofNode = (system: string, file: string, takesSchemas = false): Decoder => ({
  system,
  takesSchemas,
  command: run => [process.execPath, '--import', 'tsx', join(DECODERS, file), JSON.stringify(run)],
});

export async function mysqlDecode(servers: Servers, options: Options, report: Report): Promise<void> {
  const decoders = [ofNode('millrace', 'ours.ts')];
  if (options.peer) {
    await fetchJavaLibraries();
    decoders.push(ofNode('zongji-avsc', 'zongji.ts', true), javaClient('java-client-avro', true));
    decoders.push(ofNode('zongji', 'zongji.ts'), javaClient('java-client', false));
  }
  const client = await servers.mysql.connect();
  await client.query(`CREATE DATABASE ${DATABASE}; USE ${DATABASE}`);
  await createMysqlTable(client, options.columns, options.records);
  const starts = [];
  for (const workload of WORKLOADS) {
    starts.push({ workload, ...(await endOfLog(client)) });
    progress(`${options.records} ${workload}s`);
    await change(client, workload, 0, options.records);
  }
  const { port } = servers.mysql;
  let serverId = 6_000_000;
  let schemas: EventSchemas | null = null;
  for (let run = 1; run <= options.runs; run++) {
    for (const { workload, file, position } of starts) {
      for (const { label, warmUps, passes } of READINGS) {
        let ourBytes = 0;
        for (const { system, takesSchemas, command } of decoders) {
          progress(`run ${run}: ${workload}, ${label}, ${system}`);
          serverId += 10;
          const at = { port, database: DATABASE, file, position, rows: options.records, warmUps, passes, serverId };
          const result = await runDecoder(command({ ...at, schemas: takesSchemas ? schemas : null }));
          const { rows: records, bytes, seconds, cpuMicros, rssMiB } = result;
          if (result.schemas) {
            schemas = result.schemas;
            ourBytes = bytes! / records;
          } else if (bytes !== null && Math.abs(bytes / records / ourBytes - 1) > BYTES_APART)
            throw new Error(`${system} makes ${bytes / records} bytes of a row, and not ${ourBytes}`);
          report.part(`${workload} ${label}`).run(system, { records, bytes, seconds, cpuMicros, rssMiB });
        }
      }
    }
  }
  await client.end();
}

async function endOfLog(client: Connection): Promise<{ file: string; position: number }> {
  const [rows] = await client.query<RowDataPacket[]>('SHOW BINARY LOG STATUS');
  return { file: rows[0]!.File, position: Number(rows[0]!.Position) };
}

async function runDecoder([program, ...args]: readonly string[]): Promise<DecoderResult & { rssMiB: number }> {
  const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const meter = new ProcessMeter(child.pid!);
  const output = await text(child.stdout);
  const { rssMiB } = meter.peak();
  if ((await ended) !== 0) throw new Error(`${args.join(' ')} failed`);
  const line = output.trim().split('\n').at(-1)!;
  return { ...(JSON.parse(line) as DecoderResult), rssMiB };
}

const librariesDirectory = (): string => resolve(process.env.SERVICES_DIR ?? '.services', 'binlog-client');

/** As they come, from Maven. */
async function fetchJavaLibraries(): Promise<void> {
  const directory = librariesDirectory();
  if (existsSync(directory)) return;
  progress('fetching the Java client and Avro');
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
  const args = ['-q', '-B', '-ntp', '-f', join(DECODERS, 'pom.xml'), goal];
  const maven = spawn('mvn', [...args, '-DincludeScope=runtime', `-DoutputDirectory=${directory}`], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const code = await new Promise(resolve => maven.once('exit', resolve));
  if (code !== 0) throw new Error('Maven did not fetch the Java client and Avro');
}

const javaClient = (system: string, takesSchemas: boolean): Decoder => ({
  system,
  takesSchemas,
  command: ({ port, file, position, rows, warmUps, passes, serverId, schemas }) => [
    ...['java', '-Xmx1g', '-cp', `${librariesDirectory()}/*`, join(DECODERS, 'BinlogClient.java')],
    ...[port, file, position, rows, warmUps, passes, serverId].map(String),
    ...(schemas === null ? [] : [schemas.key, schemas.value]),
  ],
});
