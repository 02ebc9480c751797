/**
 * What happens to a record that fails: Connect's `errors.*` keys (KIP-298). Retriable errors are tried again for `errors.retry.timeout`; what
 * remains ends the task, or is counted, logged and left out where `errors.tolerance=all` allows it for that stage.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Config, ConnectError, configDef, type Logger } from '../../api/index.ts';
import type { TaskMeter } from '../../metrics/taskMeter.ts';
import { parsed } from '../parsed.ts';

export type Stage =
  | 'TASK_POLL'
  | 'TASK_PUT'
  | 'TRANSFORMATION'
  | 'KEY_CONVERTER'
  | 'VALUE_CONVERTER'
  | 'HEADER_CONVERTER'
  | 'KAFKA_PRODUCE'
  | 'KAFKA_CONSUME';

/** A failed attempt: where, by which class, at which record. */
export interface Failure {
  readonly stage: Stage;
  readonly className: string;
  readonly error: unknown;
  /** What the log says of the record: topic, partition, offset and the like; contents only through `contents`. */
  readonly place: Readonly<Record<string, unknown>>;
  readonly contents?: () => unknown;
  /** The task itself says that it is the record's fault. */
  readonly reportedByTask?: boolean;
  /** It is a record that the source reads again: never to be left out. */
  readonly isOwn?: boolean;
}

export type Recovered<T> = { readonly value: T } | { readonly skippedFor: unknown };

const keys = configDef({
  'errors.tolerance': {
    type: 'STRING',
    default: 'none',
    oneOf: ['none', 'all'],
    ignoreCase: true,
    importance: 'MEDIUM',
    documentation: 'none: a failing record ends the task. all: it is skipped.',
  },
  'errors.retry.timeout': {
    type: 'LONG',
    default: 0,
    importance: 'MEDIUM',
    documentation: 'How long a failing operation is tried again, ms; -1 without end.',
  },
  'errors.retry.delay.max.ms': {
    type: 'LONG',
    default: 60000,
    importance: 'MEDIUM',
    documentation: 'Longest wait between two attempts.',
  },
  'errors.log.enable': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether each failure is logged.',
  },
  'errors.log.include.messages': {
    type: 'BOOLEAN',
    default: false,
    importance: 'MEDIUM',
    documentation: 'Whether the log of a failure shows the record.',
  },
});

/** Failing in these stages is a matter of the one record, whatever the error. */
const recordStages: ReadonlySet<Stage> = new Set([
  'TRANSFORMATION',
  'KEY_CONVERTER',
  'VALUE_CONVERTER',
  'HEADER_CONVERTER',
  'KAFKA_PRODUCE',
]);

export class ErrorPolicy {
  readonly toleratesAll: boolean;
  readonly #retryTimeoutMs: number;
  readonly #retryDelayMaxMs: number;
  readonly #log: boolean;
  readonly #logMessages: boolean;
  readonly #logger: Logger;
  readonly #meter: TaskMeter;
  readonly #signal: AbortSignal;

  constructor(config: Config, logger: Logger, meter: TaskMeter, signal: AbortSignal) {
    const values = parsed(keys, config);
    this.toleratesAll = values['errors.tolerance'] === 'all';
    this.#retryTimeoutMs = values['errors.retry.timeout'];
    this.#retryDelayMaxMs = values['errors.retry.delay.max.ms'];
    this.#log = values['errors.log.enable'];
    this.#logMessages = values['errors.log.include.messages'];
    this.#logger = logger;
    this.#meter = meter;
    this.#signal = signal;
  }

  /**
   * Goes on after a first failure: tries again while the error is retriable and time is left. Returns the result, or with which error the record is
   * to be skipped. Throws what ends the task. `minRetryMs` is for trouble that is no matter of the record, such as a registry that is away.
   */
  async recover<T>(failure: Failure, attempt: () => T | Promise<T>, minRetryMs = 0): Promise<Recovered<T>> {
    const started = Date.now();
    const retryMs = this.#retryTimeoutMs < 0 ? Number.POSITIVE_INFINITY : Math.max(this.#retryTimeoutMs, minRetryMs);
    let error = failure.error;
    for (let n = 0; isRetriable(error) && Date.now() - started < retryMs; n++) {
      this.#meter.add('total_record_failures');
      const left = started + retryMs - Date.now();
      await delay(Math.min(backOffMs(n, this.#retryDelayMaxMs), left), undefined, { signal: this.#signal });
      this.#meter.add('total_retries');
      try {
        return { value: await attempt() };
      } catch (again) {
        error = again;
      }
    }
    this.failed({ ...failure, error });
    return { skippedFor: error };
  }

  /** Decides on a record that failed for good: returns if it is to be skipped, else throws its error. */
  failed(failure: Failure): void {
    this.#meter.add('total_record_failures');
    this.#meter.add('total_record_errors');
    this.#meter.set('last_error_timestamp', Date.now());
    const ofRecord = recordStages.has(failure.stage) || failure.reportedByTask === true;
    // A poll that fails names no record that could be left out: going on would hide a source that is gone.
    const isOptional = failure.stage !== 'TASK_POLL' && failure.isOwn !== true;
    const tolerated = this.toleratesAll && isOptional && (ofRecord || isRetriable(failure.error));
    this.#report(failure, tolerated);
    if (!tolerated) throw failure.error;
    this.#meter.add('total_records_skipped');
  }

  #report(failure: Failure, tolerated: boolean): void {
    if (!this.#log) return;
    this.#meter.add('total_errors_logged');
    const contents = this.#logMessages && failure.contents ? { record: failure.contents() } : {};
    this.#logger.error(
      { err: failure.error, stage: failure.stage, class: failure.className, ...failure.place, ...contents },
      `record ${tolerated ? 'skipped' : 'failed'} in ${failure.stage}`,
    );
  }
}

export const isRetriable = (error: unknown): boolean => error instanceof ConnectError && error.retriable;

/** 300 ms × 2^n; above the limit a random wait below it, so that tasks do not all come back at once. */
export function backOffMs(n: number, maxMs: number, random: () => number = Math.random): number {
  const wait = 300 * 2 ** n;
  return wait > maxMs ? random() * maxMs : wait;
}
