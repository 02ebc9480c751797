/**
 * One process writes a data directory. The owner is named in the store itself, under the store's write lock, so that two processes that start at once
 * cannot both believe it. A dead owner (kill -9) is recognised by its process id and start time; on another host (a container that was replaced) by its silence.
 */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { ConnectError } from '../../../schemas/errors.ts';
import type { Store } from './store.ts';

/** The owner renews its entry this often. */
export const renewIntervalMs = 5000;

interface OwnerDocument {
  readonly pid: number;
  readonly startedAt: string;
  readonly host: string;
  readonly renewals: number;
}

export async function takeOwnership(store: Store, dataDir: string): Promise<void> {
  let watched: OwnerDocument | null = null;
  const deadline = Date.now() + 3 * renewIntervalMs;
  for (;;) {
    const other = store.write(() => {
      const owner = store.meta.get(['owner']) as OwnerDocument | undefined;
      const silent = owner?.renewals === watched?.renewals && Date.now() > deadline;
      if (owner !== undefined && !silent && isAlive(owner)) return owner;
      store.meta.putSync(['owner'], ownEntry(0));
      return null;
    }, 'os');
    if (other === null) return;
    const onThisHost = other.host === hostname();
    if (onThisHost || (watched !== null && watched.renewals !== other.renewals))
      throw new ConnectError(
        'BROKER_DATA_DIR_IN_USE',
        `The data directory ${dataDir} is used by process ${other.pid}${onThisHost ? '' : ` on host ${other.host}`}. One worker writes a data directory: stop that process, or give this one another --data-dir.`,
      );
    watched = other;
    await wait(500);
  }
}

export function renewOwnership(store: Store): void {
  const owner = store.meta.get(['owner']) as OwnerDocument | undefined;
  store.meta.putSync(['owner'], ownEntry((owner?.renewals ?? 0) + 1));
}

export function releaseOwnership(store: Store): void {
  store.meta.removeSync(['owner']);
}

function ownEntry(renewals: number): OwnerDocument {
  return { pid: process.pid, startedAt: startTime(process.pid), host: hostname(), renewals };
}

function isAlive(owner: OwnerDocument): boolean {
  if (owner.host !== hostname()) return true;
  // A log thread of this process that ended without letting go.
  if (owner.pid === process.pid) return false;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return startTime(owner.pid) === owner.startedAt;
}

/**
 * Tells a process from a later one with the same id, where the system shows it (Linux: field 22 of /proc/<pid>/stat), and from what is left of a dead one
 * whose parent has not looked after it (field 3).
 */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : fields[19];
  } catch {
    return '';
  }
}
