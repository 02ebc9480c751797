/** From the socket to the row objects of @vlasky/zongji. */
import { createRequire } from 'node:module';
import { decoderRun, measure } from './decoderRun.ts';

interface Zongji {
  on(event: 'binlog', listener: (event: { rows: readonly unknown[] }) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  start(options: object): Promise<void> | void;
  stop(): Promise<void> | void;
}

const run = decoderRun();
const path = createRequire(import.meta.url).resolve('@vlasky/zongji');
const { default: ZongJi } = (await import(path)) as { default: new (options: object) => Zongji };

await measure(run, false, async (serverId, reading) => {
  const zongji = new ZongJi({ host: '127.0.0.1', port: run.port, user: 'root' });
  await new Promise<void>((resolve, reject) => {
    zongji.on('error', reject);
    zongji.on('binlog', event => {
      if (event.rows === undefined) return;
      if (reading.add(event.rows.length, 0, run.rows)) resolve();
    });
    void zongji.start({
      serverId,
      filename: run.file,
      position: run.position,
      includeEvents: ['tablemap', 'rotate', 'writerows', 'updaterows', 'deleterows'],
      includeSchema: { [run.database]: true },
    });
  });
  await zongji.stop();
});
process.exit(0);
