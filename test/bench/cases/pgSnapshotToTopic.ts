/** A table's existing rows into a topic. Timed from the first look that sees events to the last event acknowledged. */
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import { progress, type Report } from '../report.ts';
import type { Servers } from '../servers.ts';
import { SourceConnector } from '../sourceConnector.ts';
import { TopicReader } from '../topicReader.ts';
import { dropSlot } from './slots.ts';
import { createSourceDatabase, DATABASE, startWorkers } from './sourceSetup.ts';

export async function pgSnapshotToTopic(servers: Servers, options: Options, report: Report): Promise<void> {
  await createSourceDatabase(servers, options, options.records);
  const workers = await startWorkers(servers, options, report);
  const reader = await TopicReader.open(servers.brokerSettings);
  for (let run = 1; run <= options.runs; run++) {
    for (const worker of workers) {
      progress(`run ${run}: ${worker.system}`);
      const connector = new SourceConnector(servers, worker, DATABASE, `snapshot_${run}`);
      const meter = new ProcessMeter(worker.pid);
      await connector.create('initial');
      const drained = await reader.drain(connector.topic, 0, options.records, connector.check);
      const { cpuMicros, rssMiB } = meter.stop();
      const bytes = await reader.byteLength(connector.topic, 0, options.records);
      const share = drained.records / options.records;
      report.run(worker.system, {
        records: options.records,
        bytes,
        seconds: drained.seconds / share,
        cpuMicros,
        rssMiB,
      });
      await worker.rest.delete(connector.name);
      await dropSlot(servers, DATABASE, connector.slot);
    }
  }
  await reader.close();
}
