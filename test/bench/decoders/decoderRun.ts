/** What each program that reads the log gets as its one argument, and prints as its last line. */

export interface DecoderRun {
  readonly port: number;
  readonly database: string;
  readonly file: string;
  readonly position: number;
  /** Rows after which it is done. */
  readonly rows: number;
  /** The log is read so often before it is timed. */
  readonly warmUps: number;
  readonly passes: number;
  readonly serverId: number;
  /** For a program that makes bytes by a library: what they are to be. */
  readonly schemas: EventSchemas | null;
}

/** Avro schemas, as JSON, of keys and change events. */
export interface EventSchemas {
  readonly key: string;
  readonly value: string;
}

export interface DecoderResult {
  readonly rows: number;
  /** Bytes made of the rows; null where objects are made. */
  readonly bytes: number | null;
  readonly seconds: number;
  readonly cpuMicros: number;
  /** Of the bytes, from ours. */
  readonly schemas?: EventSchemas;
}

export const decoderRun = (): DecoderRun => JSON.parse(process.argv[2]!) as DecoderRun;

/** What one reading of the log counts: from the first rows on, which are not counted themselves, so that connecting is not either. */
export class Reading {
  rows = 0;
  bytes = 0;
  seconds = 0;
  cpuMicros = 0;
  #total = 0;
  #start = 0;
  #cpu: NodeJS.CpuUsage | null = null;

  /** Rows that were read, and the bytes made of them. Whether those were the last of `wanted`. */
  add(rows: number, bytes: number, wanted: number): boolean {
    this.#total += rows;
    if (this.#cpu === null) {
      this.#start = performance.now();
      this.#cpu = process.cpuUsage();
    } else {
      this.rows += rows;
      this.bytes += bytes;
    }
    if (this.#total < wanted) return false;
    this.seconds = (performance.now() - this.#start) / 1000;
    const { user, system } = process.cpuUsage(this.#cpu);
    this.cpuMicros = user + system;
    return true;
  }
}

/** Reads the log `warmUps` times and then `passes` times; prints what these took. */
export async function measure(
  run: DecoderRun,
  makesBytes: boolean,
  read: (serverId: number, reading: Reading) => Promise<void>,
  schemas?: () => EventSchemas,
): Promise<void> {
  const readings: Reading[] = [];
  for (let i = 0; i < run.warmUps + run.passes; i++) {
    const reading = new Reading();
    await read(run.serverId + i, reading);
    if (i >= run.warmUps) readings.push(reading);
  }
  const sum = (of: (reading: Reading) => number): number => readings.reduce((total, reading) => total + of(reading), 0);
  const result: DecoderResult = {
    rows: sum(reading => reading.rows),
    bytes: makesBytes ? sum(reading => reading.bytes) : null,
    seconds: sum(reading => reading.seconds),
    cpuMicros: sum(reading => reading.cpuMicros),
    ...(schemas && { schemas: schemas() }),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
