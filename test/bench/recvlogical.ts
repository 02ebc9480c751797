import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PUBLICATION } from './sourceConnector.ts';

/** Drains a slot up to an LSN with PostgreSQL's own client, output thrown away: how fast the server can send. `endedAt` is the `performance.now()` of the last byte. */
export async function drainWithRecvlogical(
  program: string,
  url: string,
  slot: string,
  endLsn: string,
): Promise<{ bytes: number; endedAt: number }> {
  const child = spawn(
    program,
    [
      ...['-d', url, '--slot', slot, '--start', '--no-loop', '--endpos', endLsn, '-f', '-'],
      ...['-o', 'proto_version=1', '-o', `publication_names=${PUBLICATION}`],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let bytes = 0;
  let endedAt = 0;
  let complaints = '';
  child.stdout.on('data', (chunk: Buffer) => {
    endedAt = performance.now();
    bytes += chunk.length;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`pg_recvlogical ended with ${code}: ${complaints}`);
  return { bytes, endedAt };
}
