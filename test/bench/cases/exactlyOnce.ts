/** What transactions cost a source: generated rows as fast as they go, in large and in small polls, at least once and exactly once, in turn. */
import { waitUntil } from '../../services/waitUntil.ts';
import type { Options } from '../options.ts';
import { ProcessMeter } from '../processMeter.ts';
import type { Report } from '../report.ts';
import type { Servers } from '../servers.ts';

const POLLS = [2_000, 20] as const;
const PATIENCE_MS = 300_000;

const SETTINGS = [
  'key.converter=org.apache.kafka.connect.json.JsonConverter',
  'value.converter=org.apache.kafka.connect.json.JsonConverter',
  'key.converter.schemas.enable=false',
  'value.converter.schemas.enable=false',
];

export async function exactlyOnce(servers: Servers, options: Options, report: Report): Promise<void> {
  for (let run = 0; run < options.runs; run++) {
    for (const support of ['enabled', 'disabled']) {
      const groupId = `bench-${support}-${process.pid}-${run}`;
      const settings = [...SETTINGS, `exactly.once.source.support=${support}`];
      const worker = await servers.startClusterWorker(groupId, settings);
      for (const rows of POLLS) {
        const records = rows < 1_000 ? Math.ceil(options.records / 10) : options.records;
        const name = `rows-${rows}`;
        const written = (): Promise<number> =>
          worker.metric('kafka_connect_source_task_source_record_write_total', `connector="${name}"`);
        const meter = new ProcessMeter(worker.pid);
        await worker.createConnector(name, {
          'connector.class': 'millrace.DatagenSource',
          topic: `${groupId}-${name}`,
          fields: 'id:long,name:string,amount:double',
          iterations: String(records),
          'batch.rows': String(rows),
        });
        await waitUntil('the first records are written', PATIENCE_MS, async () => (await written()) > 0, 5);
        const [start, first] = [performance.now(), await written()];
        await waitUntil('all records are written', PATIENCE_MS, async () => (await written()) >= records, 20);
        report.run(`polls of ${rows}, ${support}`, {
          records: records - first,
          bytes: null,
          seconds: (performance.now() - start) / 1000,
          ...meter.stop(),
        });
      }
      await worker.stop();
    }
  }
}
