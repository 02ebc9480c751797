/** Measurements as JSON lines on stdout; what is going on meanwhile goes to stderr. */

export interface Measurement {
  readonly case: string;
  readonly system: string;
  readonly records: number;
  /** Keys and values in the topic; for a system without a topic, what it moved. */
  readonly bytes: number | null;
  readonly seconds: number;
  readonly recordsPerSecond: number;
  readonly mbPerSecond: number | null;
  /** Of the worker's process; null where the work is done inside the database server. */
  readonly cpuMicrosPerRecord: number | null;
  readonly rssMiB: number | null;
  readonly p99LagMs: number | null;
}

export interface Raw {
  readonly records: number;
  readonly bytes: number | null;
  readonly seconds: number;
  readonly cpuMicros: number | null;
  readonly rssMiB: number | null;
}

const rounded = (value: number, digits = 4): number => Number(value.toPrecision(digits));

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

/** `share` in [0, 1]; null of nothing. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}

export const progress = (text: string): void => {
  process.stderr.write(`bench: ${text}\n`);
};

export class Report {
  readonly #caseName: string;
  readonly #lags = new Map<string, number>();
  readonly #runs = new Map<string, Raw[]>();
  readonly #ratios: string[] = [];
  readonly #parts = new Map<string, Report>();

  constructor(caseName: string) {
    this.#caseName = caseName;
  }

  /** A report of its own for a part of the case, ended with this one. */
  part(name: string): Report {
    const part = this.#parts.get(name) ?? new Report(`${this.#caseName} ${name}`);
    this.#parts.set(name, part);
    return part;
  }

  lag(system: string, p99LagMs: number | null): void {
    if (p99LagMs !== null) this.#lags.set(system, p99LagMs);
  }

  run(system: string, raw: Raw): void {
    this.#runs.set(system, [...(this.#runs.get(system) ?? []), raw]);
    this.#line(this.#measurement(system, raw));
  }

  /** Start and resident memory, measured once for each system. */
  start(system: string, start: { startToFirstEventMs: number; rssMiB: number }): void {
    this.#line({ case: this.#caseName, system, measurement: 'start', ...start });
  }

  /** Figures of a case of their own kind. */
  figures(measurement: string, figures: Readonly<Record<string, string | number | boolean | null>>): void {
    this.#line({ case: this.#caseName, measurement, ...figures });
  }

  /** A further ratio, beside those of the rates. */
  ratio(what: string, of: string, to: string, ratio: number): void {
    this.#ratios.push(JSON.stringify({ case: this.#caseName, measurement: what, ratio: rounded(ratio), of, to }));
  }

  /** Medians, then a line for each ratio of the first system's rate to another's. */
  end(): void {
    for (const part of this.#parts.values()) part.end();
    const systems = [...this.#runs.keys()];
    const medians = new Map<string, Measurement>();
    for (const [system, runs] of this.#runs) {
      const of = (pick: (raw: Raw) => number | null): number | null => {
        const values = runs.map(pick).filter(value => value !== null);
        return values.length === 0 ? null : median(values);
      };
      const perRecord = of(raw => (raw.cpuMicros === null ? null : raw.cpuMicros / raw.records));
      const middle = runs.find(raw => raw.seconds === of(r => r.seconds)) ?? runs[0]!;
      const line = this.#measurement(system, {
        ...middle,
        seconds: of(raw => raw.seconds)!,
        cpuMicros: perRecord === null ? null : perRecord * middle.records,
        rssMiB: of(raw => raw.rssMiB),
      });
      medians.set(system, line);
      this.#line({ ...line, median: true });
    }
    const [first, ...others] = systems;
    const ours = medians.get(first!);
    for (const other of others) {
      const theirs = medians.get(other)!;
      if (ours?.rssMiB != null && theirs.rssMiB !== null)
        this.ratio('rssMiB', first!, other, ours.rssMiB / theirs.rssMiB);
      // What other processes on the machine take has less to do with it than with the rate.
      if (ours?.cpuMicrosPerRecord != null && theirs.cpuMicrosPerRecord !== null)
        this.ratio('cpuMicrosPerRecord', first!, other, ours.cpuMicrosPerRecord / theirs.cpuMicrosPerRecord);
    }
    for (const ratio of this.#ratios) process.stdout.write(`${ratio}\n`);
    for (const other of others) {
      this.#line({
        case: this.#caseName,
        ratio: rounded(ours!.recordsPerSecond / medians.get(other)!.recordsPerSecond),
        of: first,
        to: other,
      });
    }
  }

  #measurement(system: string, raw: Raw): Measurement {
    return {
      case: this.#caseName,
      system,
      records: raw.records,
      bytes: raw.bytes,
      seconds: rounded(raw.seconds),
      recordsPerSecond: Math.round(raw.records / raw.seconds),
      mbPerSecond: raw.bytes === null ? null : rounded(raw.bytes / raw.seconds / 1e6),
      cpuMicrosPerRecord: raw.cpuMicros === null ? null : rounded(raw.cpuMicros / raw.records, 3),
      rssMiB: raw.rssMiB === null ? null : Math.round(raw.rssMiB),
      p99LagMs: this.#lags.get(system) ?? null,
    };
  }

  #line(line: object): void {
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
}
