import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Raw } from './report.ts';
import { PUBLICATION } from './sourceConnector.ts';

/** Drains a slot up to an LSN with PostgreSQL's own client, output thrown away: how fast the server can send. Timed from the first byte on. */
export async function drainWithRecvlogical(
  program: string,
  url: string,
  slot: string,
  endLsn: string,
  records: number,
): Promise<Raw> {
  const child = spawn(
    program,
    [
      ...['-d', url, '--slot', slot, '--start', '--no-loop', '--endpos', endLsn, '-f', '-'],
      ...['-o', 'proto_version=1', '-o', `publication_names=${PUBLICATION}`],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let bytes = 0;
  let firstAt = 0;
  let lastAt = 0;
  let complaints = '';
  child.stdout.on('data', (chunk: Buffer) => {
    lastAt = performance.now();
    if (firstAt === 0) firstAt = lastAt;
    bytes += chunk.length;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`pg_recvlogical ended with ${code}: ${complaints}`);
  return { records, bytes, seconds: (lastAt - firstAt) / 1000, cpuMicros: null, rssMiB: null };
}
