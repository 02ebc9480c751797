/**
 * Committed updates into a topic. The backlog is made while the connectors are stopped; each then drains its own slot of the same changes, timed from
 * the moment the slot is read from to the last event acknowledged. pg_recvlogical draining a slot shows what the server itself can send.
 */
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import { drainWithRecvlogical } from '../recvlogical.ts';
import { progress, type Report } from '../report.ts';
import { postgresTool, type Servers } from '../servers.ts';
import { SourceConnector } from '../sourceConnector.ts';
import { update } from '../tables.ts';
import { topicLag } from '../topicLag.ts';
import { TopicReader } from '../topicReader.ts';
import { slotActive } from './slots.ts';
import { createSourceDatabase, DATABASE, startWorkers } from './sourceSetup.ts';

const ROWS = 100_000;
const WARM_UP_UPDATES = 20_000;
const LAST_UPDATES = 100;
const RAW_SLOT = 'recvlogical';

export async function pgStreamToTopic(servers: Servers, options: Options, report: Report): Promise<void> {
  const rows = Math.min(ROWS, options.records);
  await createSourceDatabase(servers, options, rows);
  const workers = await startWorkers(servers, options, report);
  const recvlogical = options.peer ? await postgresTool('pg_recvlogical') : null;
  const reader = await TopicReader.open(servers.brokerSettings);
  const client = await servers.connect(DATABASE);

  const connectors: SourceConnector[] = [];
  /** Updates made so far, and how many had been made when each connector's slot began. */
  let made = 0;
  const madeBefore = new Map<SourceConnector, number>();
  for (const worker of workers) {
    const connector = new SourceConnector(servers, worker, DATABASE, 'stream');
    connectors.push(connector);
    madeBefore.set(connector, made);
    await connector.create('no_data');
    await slotActive(servers, DATABASE, connector.slot, true);
    progress(`${worker.system}: warming up, lag`);
    await update(client, WARM_UP_UPDATES, rows);
    await reader.drain(connector.topic, 0, WARM_UP_UPDATES, connector.check);
    const { p99LagMs, changes } = await topicLag(client, reader, connector.topic, connector.check);
    report.lag(worker.system, p99LagMs);
    made += WARM_UP_UPDATES + changes;
    await stop(servers, connector);
  }
  // what was changed while later ones were warmed up is not part of a measurement
  for (const connector of connectors) {
    const target = made - madeBefore.get(connector)!;
    if ((await reader.endOffset(connector.topic)) >= target) continue;
    await connector.rest.resume(connector.name);
    await reader.drain(connector.topic, 0, target, connector.check);
    await stop(servers, connector);
  }
  if (recvlogical !== null) await client.query(`SELECT pg_create_logical_replication_slot('${RAW_SLOT}', 'pgoutput')`);

  for (let run = 1; run <= options.runs; run++) {
    progress(`run ${run}: ${options.records} updates`);
    await update(client, options.records - LAST_UPDATES, rows);
    // A slot is read again from the last note of running transactions that its reader passed: here, so that no run repeats the one before.
    await client.query('CHECKPOINT');
    await update(client, LAST_UPDATES, rows);
    for (const connector of connectors) {
      const { worker, topic } = connector;
      progress(`run ${run}: ${worker.system}`);
      const base = await reader.endOffset(topic);
      const meter = new ProcessMeter(worker.pid);
      await worker.rest.resume(connector.name);
      const target = base + options.records;
      const [startedAt, { endedAt }] = await Promise.all([
        slotActive(servers, DATABASE, connector.slot, true),
        reader.drain(topic, base, target, connector.check),
      ]);
      const { cpuMicros, rssMiB } = meter.stop();
      await stop(servers, connector);
      report.run(worker.system, {
        records: options.records,
        bytes: await reader.byteLength(topic, base, target),
        seconds: (endedAt - startedAt) / 1000,
        cpuMicros,
        rssMiB,
      });
    }
    if (recvlogical !== null) {
      progress(`run ${run}: pg_recvlogical`);
      const { rows: lsn } = await client.query<{ lsn: string }>('SELECT pg_current_wal_lsn() AS lsn');
      const [startedAt, { bytes, endedAt }] = await Promise.all([
        slotActive(servers, DATABASE, RAW_SLOT, true),
        drainWithRecvlogical(recvlogical, servers.postgres.url(DATABASE), RAW_SLOT, lsn[0]!.lsn),
      ]);
      const seconds = (endedAt - startedAt) / 1000;
      report.run('pg_recvlogical', { records: options.records, bytes, seconds, cpuMicros: null, rssMiB: null });
    }
  }
  await client.end();
  await reader.close();
}

async function stop(servers: Servers, connector: SourceConnector): Promise<void> {
  await connector.rest.stop(connector.name);
  await slotActive(servers, DATABASE, connector.slot, false);
}
