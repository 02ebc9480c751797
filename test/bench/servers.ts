/** What a bench runs against: servers of its own on free ports, alike for all parties, gone at the end. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { BrokerSettings } from '../../runtime/broker/port.ts';
import { LocalKafka, runScript } from '../services/localKafka.ts';
import { freePort, LocalPostgres } from '../services/localPostgres.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import { ConnectRest } from './connectRest.ts';
import type { Options } from './options.ts';
import { progress } from './report.ts';

const BROKER_JVM_OPTIONS = '-Xms512m -Xmx1g';
const PEER_JVM_OPTIONS = '-Xms512m -Xmx1g';
const CONVERTER_PLUGIN = 'io.apicurio:apicurio-registry-utils-converter:2.6.13.Final';

/** A worker with Connect's REST API, ours or the peer. */
export interface Worker {
  readonly system: string;
  readonly rest: ConnectRest;
  readonly pid: number;
  /** Time from starting the process until its REST API answered. */
  readonly startMs: number;
  /** Connector settings that only this worker needs. */
  readonly settings: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export class Servers {
  readonly postgres: LocalPostgres;
  readonly brokerSettings: BrokerSettings;
  readonly #kafka: LocalKafka | null;
  readonly #cleanups: (() => Promise<void>)[];
  #stopping: Promise<void> | null = null;

  private constructor(
    postgres: LocalPostgres,
    kafka: LocalKafka | null,
    brokerSettings: BrokerSettings,
    cleanups: (() => Promise<void>)[],
  ) {
    this.postgres = postgres;
    this.#kafka = kafka;
    this.brokerSettings = brokerSettings;
    this.#cleanups = cleanups;
  }

  static async start(options: Options): Promise<Servers> {
    const cleanups: (() => Promise<void>)[] = [];
    try {
      progress('starting PostgreSQL');
      // no waiting for the disk, for any party: the programs are measured, not this machine's disk
      const postgres = await LocalPostgres.start({
        fsync: 'off',
        full_page_writes: 'off',
        max_wal_size: '8GB',
        shared_buffers: '512MB',
        checkpoint_timeout: '30min',
        autovacuum: 'off',
      });
      cleanups.push(() => postgres.stop());
      if (options.broker === 'embedded') {
        const dataDir = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
        cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
        return new Servers(postgres, null, { kind: 'embedded', dataDir }, cleanups);
      }
      progress('starting Kafka and the schema registry');
      process.env.KAFKA_JVM_OPTS = BROKER_JVM_OPTIONS;
      const kafka = await LocalKafka.start();
      cleanups.push(() => kafka.stop());
      const settings = { 'bootstrap.servers': kafka.bootstrapServers };
      return new Servers(postgres, kafka, { kind: 'kafka', settings }, cleanups);
    } catch (error) {
      for (const cleanup of cleanups.reverse()) await cleanup();
      throw error;
    }
  }

  async database(name: string): Promise<void> {
    const client = await this.connect('postgres');
    await client.query(`CREATE DATABASE ${name}`);
    await client.end();
  }

  async connect(database: string): Promise<pg.Client> {
    const client = new pg.Client(this.postgres.url(database));
    client.on('error', () => {}); // the server ends before its clients where a run is broken off; queries reject by themselves
    await client.connect();
    return client;
  }

  async startWorker(): Promise<Worker> {
    progress('starting the worker');
    const start = performance.now();
    const where =
      this.brokerSettings.kind === 'embedded'
        ? ['--data-dir', this.brokerSettings.dataDir]
        : ['--bootstrap-servers', this.#kafka!.bootstrapServers, '--schema-registry', this.#kafka!.registryUrl];
    const worker = await WorkerProcess.start(where);
    this.#cleanups.push(() => worker.stop());
    return {
      system: 'millrace',
      rest: new ConnectRest(worker.url),
      pid: worker.pid,
      startMs: performance.now() - start,
      settings: { 'errors.restart.max': '0' },
      stop: () => worker.stop(),
    };
  }

  /** One of a cluster. */
  async startClusterWorker(groupId: string, settings: readonly string[]): Promise<WorkerProcess> {
    if (this.#kafka === null) throw new Error('a cluster needs --broker kafka');
    const args = ['--bootstrap-servers', this.#kafka.bootstrapServers, '--group-id', groupId];
    const worker = await WorkerProcess.start([...args, ...settings.flatMap(s => ['--set', s])], {}, 'worker');
    this.#cleanups.push(() => worker.stop());
    return worker;
  }

  /** Java Kafka Connect with Debezium and Apicurio's Avro converter in Confluent's wire format. */
  async startPeer(): Promise<Worker> {
    const kafka = this.#kafka;
    if (kafka === null) throw new Error('Java Kafka Connect needs --broker kafka');
    const port = await freePort();
    const env = {
      CONNECT_PORT: String(port),
      CONNECT_GROUP: `bench-${port}`,
      KAFKA_BOOTSTRAP: kafka.bootstrapServers,
      CONNECT_JVM_OPTS: PEER_JVM_OPTIONS,
      CONNECT_PLUGINS: CONVERTER_PLUGIN,
    };
    progress('starting Java Kafka Connect');
    await runScript('connect-debezium.sh', 'install', env);
    const start = performance.now();
    const stop = (): Promise<void> => runScript('connect-debezium.sh', 'clean', env);
    this.#cleanups.push(stop);
    await runScript('connect-debezium.sh', 'start', env);
    const startMs = performance.now() - start;
    const pidFile = join(process.env.SERVICES_DIR ?? '.services', `connect-${port}`, 'pid');
    const settings: Record<string, string> = {};
    for (const side of ['key', 'value']) {
      settings[`${side}.converter`] = 'io.apicurio.registry.utils.converter.AvroConverter';
      settings[`${side}.converter.apicurio.registry.url`] = kafka.registryUrl.replace(
        '/apis/ccompat/v7',
        '/apis/registry/v2',
      );
      settings[`${side}.converter.apicurio.registry.auto-register`] = 'true';
      settings[`${side}.converter.apicurio.registry.as-confluent`] = 'true';
      settings[`${side}.converter.apicurio.registry.headers.enabled`] = 'false';
    }
    return {
      system: 'debezium',
      rest: new ConnectRest(`http://127.0.0.1:${port}`),
      pid: Number(readFileSync(pidFile, 'utf8')),
      startMs,
      settings,
      stop,
    };
  }

  /** Stops all that was started, the last first; what fails to stop does not keep the rest running. */
  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      for (const cleanup of this.#cleanups.reverse()) {
        await cleanup().catch((error: Error) => progress(`stopping: ${error.message}`));
      }
    })();
    return this.#stopping;
  }
}

/** A program of Debian's package, which speaks to newer servers too; installed if there is none. */
export async function postgresTool(name: 'pg_recvlogical' | 'pgbench'): Promise<string> {
  const path = `/usr/lib/postgresql/15/bin/${name}`;
  try {
    await access(path);
  } catch {
    await promisify(execFile)('bash', ['test/services/postgres.sh', 'install'], {
      env: { ...process.env, PG_VERSION: '15' },
    });
  }
  return path;
}
