/** CPU time and resident memory of one process, from /proc. */
import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100; // USER_HZ, fixed on Linux
const SAMPLE_MS = 100;

export class ProcessMeter {
  readonly #pid: number;
  readonly #startMicros: number;
  readonly #timer: NodeJS.Timeout;
  #rssMiB: number;

  constructor(pid: number) {
    this.#pid = pid;
    this.#startMicros = cpuMicros(pid);
    this.#rssMiB = rssMiB(pid);
    this.#timer = setInterval(() => {
      this.#rssMiB = Math.max(this.#rssMiB, rssMiBOrNone(pid) ?? 0);
    }, SAMPLE_MS);
  }

  /** Ends with the most memory that was resident while the process lived. */
  peak(): { rssMiB: number } {
    clearInterval(this.#timer);
    return { rssMiB: this.#rssMiB };
  }

  /** CPU time since the meter was made, and the most memory that was resident. */
  stop(): { cpuMicros: number; rssMiB: number } {
    clearInterval(this.#timer);
    return {
      cpuMicros: cpuMicros(this.#pid) - this.#startMicros,
      rssMiB: Math.max(this.#rssMiB, rssMiB(this.#pid)),
    };
  }
}

export function rssMiB(pid: number): number {
  const mib = rssMiBOrNone(pid);
  if (mib === null) throw new Error(`process ${pid} has no memory: it ended`);
  return mib;
}

/** null once it has ended. */
function rssMiBOrNone(pid: number): number | null {
  try {
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? null : Number(kib) / 1024;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** User and system time of all threads. */
function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // fields after the command in parentheses, which may hold spaces; utime and stime are the 14th and 15th of all
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}
