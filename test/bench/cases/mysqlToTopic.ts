/**
 * Inserts and updates of MySQL into a topic. The backlog is made while the connectors are stopped; each then reads the same part of the log, timed from the
 * moment the server begins to send it to the last event acknowledged.
 */

import { logReaders, MysqlSource, newLogReader } from '../mysqlSource.ts';
import { change, createMysqlTable, WORKLOADS } from '../mysqlTables.ts';
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import { progress, type Report } from '../report.ts';
import type { Servers } from '../servers.ts';
import { topicLag } from '../topicLag.ts';
import { TopicReader } from '../topicReader.ts';
import { DATABASE, startMysqlWorkers } from './sourceSetup.ts';

const WARM_UP_ROWS = 20_000;

export async function mysqlToTopic(servers: Servers, options: Options, report: Report): Promise<void> {
  const workers = await startMysqlWorkers(servers, options, report);
  const client = await servers.mysql.connect();
  await client.query(`CREATE DATABASE ${DATABASE}; USE ${DATABASE}`);
  await createMysqlTable(client, options.columns, WARM_UP_ROWS * workers.length + options.records * options.runs);
  const reader = await TopicReader.open(servers.brokerSettings);

  /** Rows so far, changes made so far, and how many had been made when each connector began. */
  let rows = 0;
  let made = 0;
  const sources: { readonly source: MysqlSource; readonly madeBefore: number }[] = [];
  for (const worker of workers) {
    const source = new MysqlSource(servers, worker, DATABASE, 'stream');
    sources.push({ source, madeBefore: made });
    const known = await logReaders(client);
    await source.create('no_data');
    await newLogReader(client, known);
    progress(`${worker.system}: warming up, lag`);
    await change(client, 'insert', rows, rows + WARM_UP_ROWS);
    rows += WARM_UP_ROWS;
    await change(client, 'update', rows - WARM_UP_ROWS, rows);
    await reader.drain(source.topic, 0, 2 * WARM_UP_ROWS, source.check);
    const { p99LagMs, changes } = await topicLag(client, reader, source.topic, source.check);
    for (const workload of WORKLOADS) report.part(workload).lag(worker.system, p99LagMs);
    made += 2 * WARM_UP_ROWS + changes;
    await worker.rest.stop(source.name);
  }
  // what was changed while later ones were warmed up is not part of a measurement
  for (const { source, madeBefore } of sources) {
    const target = made - madeBefore;
    if ((await reader.endOffset(source.topic)) >= target) continue;
    await source.worker.rest.resume(source.name);
    await reader.drain(source.topic, 0, target, source.check);
    await source.worker.rest.stop(source.name);
  }

  for (let run = 1; run <= options.runs; run++) {
    for (const workload of WORKLOADS) {
      progress(`run ${run}: ${options.records} ${workload}s`);
      if (workload === 'insert') rows += options.records;
      await change(client, workload, rows - options.records, rows);
      for (const { source } of sources) {
        const { worker, topic } = source;
        progress(`run ${run}: ${worker.system}`);
        const base = await reader.endOffset(topic);
        const target = base + options.records;
        const known = await logReaders(client);
        const meter = new ProcessMeter(worker.pid);
        await worker.rest.resume(source.name);
        const [startedAt, { endedAt }] = await Promise.all([
          newLogReader(client, known),
          reader.drain(topic, base, target, source.check),
        ]);
        const { cpuMicros, rssMiB } = meter.stop();
        await worker.rest.stop(source.name);
        report.part(workload).run(worker.system, {
          records: options.records,
          bytes: await reader.byteLength(topic, base, target),
          seconds: (endedAt - startedAt) / 1000,
          cpuMicros,
          rssMiB,
        });
      }
    }
  }
  await client.end();
  await reader.close();
}
