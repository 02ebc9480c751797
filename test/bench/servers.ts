/** What a bench runs against: servers of its own on free ports, alike for all parties, gone at the end. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { BrokerSettings } from '../../runtime/broker/port.ts';
import { JavaWorker } from '../services/javaWorker.ts';
import { LocalKafka, runScript } from '../services/localKafka.ts';
import { LocalMysql } from '../services/localMysql.ts';
import { freePort, LocalPostgres } from '../services/localPostgres.ts';
import { WorkerProcess } from '../services/workerProcess.ts';
import type { ClusterWorker } from './cases/clusterScale.ts';
import { ConnectRest } from './connectRest.ts';
import { NEEDS, type Options } from './options.ts';
import { progress } from './report.ts';

const BROKER_JVM_OPTIONS = '-Xms512m -Xmx1g';
const PEER_JVM_OPTIONS = '-Xms512m -Xmx1g';
/** Small at first, so that resident memory tells what is needed. */
const CLUSTER_JVM_OPTIONS = '-Xms64m -Xmx1g';
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

/** No waiting for the disk, for any party: the programs are measured, not this machine's disk. */
const POSTGRES_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_wal_size: '8GB',
  shared_buffers: '512MB',
  checkpoint_timeout: '30min',
  autovacuum: 'off',
};
const MYSQL_ARGS = [
  '--innodb-buffer-pool-size=512M',
  '--innodb-redo-log-capacity=1G',
  '--innodb-flush-log-at-trx-commit=0',
  '--max-binlog-size=1G',
];

export class Servers {
  #postgres: LocalPostgres | null = null;
  #mysql: LocalMysql | null = null;
  #kafka: LocalKafka | null = null;
  #brokerSettings: BrokerSettings | null = null;
  readonly #cleanups: (() => Promise<void>)[] = [];
  #stopping: Promise<void> | null = null;

  /** Those that the case needs. */
  static async start(options: Options): Promise<Servers> {
    const servers = new Servers();
    try {
      const needs = NEEDS[options.caseName];
      if (needs.includes('postgres')) {
        progress('starting PostgreSQL');
        const postgres = await LocalPostgres.start(POSTGRES_SETTINGS);
        servers.#postgres = postgres;
        servers.#cleanups.push(() => postgres.stop());
      }
      if (needs.includes('mysql')) {
        progress('starting MySQL');
        const mysql = await LocalMysql.start(MYSQL_ARGS);
        servers.#mysql = mysql;
        servers.#cleanups.push(() => mysql.stop());
      }
      if (needs.includes('broker')) await servers.#startBroker(options.broker);
      return servers;
    } catch (error) {
      await servers.stop();
      throw error;
    }
  }

  async #startBroker(kind: Options['broker']): Promise<void> {
    if (kind === 'embedded') {
      const dataDir = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
      this.#cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
      this.#brokerSettings = { kind: 'embedded', dataDir };
      return;
    }
    progress('starting Kafka and the schema registry');
    process.env.KAFKA_JVM_OPTS = BROKER_JVM_OPTIONS;
    const kafka = await LocalKafka.start();
    this.#kafka = kafka;
    this.#cleanups.push(() => kafka.stop());
    this.#brokerSettings = { kind: 'kafka', settings: { 'bootstrap.servers': kafka.bootstrapServers } };
  }

  get postgres(): LocalPostgres {
    return started(this.#postgres);
  }

  get mysql(): LocalMysql {
    return started(this.#mysql);
  }

  get brokerSettings(): BrokerSettings {
    return started(this.#brokerSettings);
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

  /** One of a cluster of Kafka Connect's own, with the FileStream connectors. */
  async startPeerClusterWorker(groupId: string): Promise<ClusterWorker> {
    if (this.#kafka === null) throw new Error('Java Kafka Connect needs --broker kafka');
    const { bootstrapServers: bootstrap } = this.#kafka;
    const worker = new JavaWorker({ bootstrap, groupId, port: await freePort(), jvmOptions: CLUSTER_JVM_OPTIONS });
    this.#cleanups.push(() => worker.clean());
    await worker.start();
    return { url: worker.url, pid: () => worker.pid(), stop: () => worker.stop(), restart: () => worker.start() };
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

function started<T>(server: T | null): T {
  if (server === null) throw new Error('the case does not say that it needs this server');
  return server;
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
