/** From the socket to the row objects of @vlasky/zongji; with schemas, on to the Avro bytes of keys and change events by avsc. */
import { createRequire } from 'node:module';
import { AvscEvents, type LoggedRow } from './avscEvents.ts';
import { decoderRun, measure } from './decoderRun.ts';

interface RowsEvent {
  readonly timestamp: number;
  readonly nextPosition: number;
  readonly rows: readonly LoggedRow[];
}

interface Zongji {
  on(event: 'binlog', listener: (event: RowsEvent | { rows?: undefined; gtid?: string }) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  start(options: object): Promise<void> | void;
  stop(): Promise<void> | void;
}

const run = decoderRun();
const path = createRequire(import.meta.url).resolve('@vlasky/zongji');
const { default: ZongJi } = (await import(path)) as { default: new (options: object) => Zongji };
const events = run.schemas && new AvscEvents(run.schemas, run.file);

await measure(run, events !== null, async (serverId, reading) => {
  const zongji = new ZongJi({ host: '127.0.0.1', port: run.port, user: 'root', timezone: 'Z' });
  await new Promise<void>((resolve, reject) => {
    zongji.on('error', reject);
    zongji.on('binlog', event => {
      if (event.rows === undefined) {
        if (events !== null && event.gtid !== undefined) events.gtid = event.gtid;
        return;
      }
      const bytes = events?.encode(event.rows, event.timestamp, event.nextPosition) ?? 0;
      if (reading.add(event.rows.length, bytes, run.rows)) resolve();
    });
    void zongji.start({
      serverId,
      filename: run.file,
      position: run.position,
      includeEvents: [
        'tablemap',
        'rotate',
        'writerows',
        'updaterows',
        'deleterows',
        ...(events === null ? [] : ['gtid']),
      ],
      includeSchema: { [run.database]: true },
    });
  });
  await zongji.stop();
});
process.exit(0);
