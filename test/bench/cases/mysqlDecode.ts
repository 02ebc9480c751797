/**
 * How fast one process reads rows from the log: ours to the Avro bytes of whole change events and their keys, beside the row objects that @vlasky/zongji and
 * the Java client of the log make, which nothing is done with. All read the same log from the same server, each in a process of its own: a new one, and one
 * that has read it before, whose compiler is through.
 */
import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import type { DecoderResult, DecoderRun } from '../decoders/decoderRun.ts';
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
const JAVA_CLIENT = 'mysql-binlog-connector-java';
const JAVA_CLIENT_VERSION = '0.30.1';

interface Decoder {
  readonly system: string;
  command(run: DecoderRun): readonly string[];
}

const ofNode = (system: string, file: string): Decoder => ({
  system,
  command: run => [process.execPath, '--import', 'tsx', join(DECODERS, file), JSON.stringify(run)],
});

export async function mysqlDecode(servers: Servers, options: Options, report: Report): Promise<void> {
  const decoders = [ofNode('millrace', 'ours.ts')];
  if (options.peer) decoders.push(ofNode('zongji', 'zongji.ts'), await javaClient());
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
  for (let run = 1; run <= options.runs; run++) {
    for (const { workload, file, position } of starts) {
      for (const { label, warmUps, passes } of READINGS) {
        for (const { system, command } of decoders) {
          progress(`run ${run}: ${workload}, ${label}, ${system}`);
          serverId += 10;
          const { records: rows } = options;
          const at = { port, database: DATABASE, file, position, rows, warmUps, passes, serverId };
          const { rows: records, ...result } = await runDecoder(command(at));
          report.part(`${workload} ${label}`).run(system, { records, ...result });
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
  const child = spawn(program!, args, { stdio: ['ignore', 'pipe', program === 'java' ? 'ignore' : 'inherit'] });
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

/** As it comes, from Maven. */
async function javaClient(): Promise<Decoder> {
  const directory = join(process.env.SERVICES_DIR ?? '.services', `${JAVA_CLIENT}-${JAVA_CLIENT_VERSION}`);
  await access(directory).catch(async () => {
    progress(`fetching ${JAVA_CLIENT}`);
    const pom = join(import.meta.dirname, '../../services/connect-plugin-pom.xml');
    const plugin = [`group=com.zendesk`, `artifact=${JAVA_CLIENT}`, `version=${JAVA_CLIENT_VERSION}`];
    const maven = spawn(
      'mvn',
      [
        ...['-q', '-B', '-ntp', '-f', pom, ...plugin.map(of => `-Dplugin.${of}`)],
        'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies',
        ...['-DincludeScope=runtime', `-DoutputDirectory=${join(process.cwd(), directory)}`],
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    const code = await new Promise(resolve => maven.once('exit', resolve));
    if (code !== 0) throw new Error(`Maven did not fetch ${JAVA_CLIENT}`);
  });
  const program = join(DECODERS, 'BinlogClient.java');
  return {
    system: 'java-client',
    command: ({ port, file, position, rows, warmUps, passes, serverId }) => [
      ...['java', '-Xmx1g', '-cp', `${directory}/*`, program],
      ...[port, file, position, rows, warmUps, passes, serverId].map(String),
    ],
  };
}
