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
      this.#rssMiB = Math.max(this.#rssMiB, rssMiB(pid));
    }, SAMPLE_MS);
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
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kib === undefined) throw new Error(`process ${pid} has no memory: it ended`);
  return Number(kib) / 1024;
}

/** User and system time of all threads. */
function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // fields after the command in parentheses, which may hold spaces; utime and stime are the 14th and 15th of all
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}
