import type { ErrorCode } from './errorCodes.ts';

/** Where an error happened. All optional: each layer adds what it knows with `at`. */
export interface ErrorPlace {
  connector?: string;
  task?: number;
  /** Kafka topic, partition, offset of the record concerned. */
  topic?: string;
  partition?: number;
  offset?: number;
  /** Source or target table, as the database spells it. */
  table?: string;
  column?: string;
  /** Position in the source's log, as its users write it (LSN, file:pos, GTID). */
  position?: string;
}

export interface ErrorOptions {
  cause?: unknown;
  /** The same call may succeed later without any change by the user. */
  retriable?: boolean;
  place?: ErrorPlace;
}

const brand = Symbol.for('millrace.ConnectError');

/** Every error that a user can see: a stable code, what happened, where, and what to change. */
export class ConnectError extends Error {
  override readonly name: string = 'ConnectError';
  readonly code: ErrorCode;
  readonly retriable: boolean;
  readonly place: ErrorPlace;
  readonly [brand] = true;

  /** Plugins may bring another copy of this class: errors of those count too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value;
  }

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retriable = options.retriable ?? false;
    this.place = { ...options.place };
  }

  /** Adds to the place what is not known yet; returns the same error. */
  at(place: ErrorPlace): this {
    for (const [key, value] of Object.entries(place)) {
      const known = this.place as Record<string, unknown>;
      if (known[key] === undefined) known[key] = value;
    }
    return this;
  }

  /** One line: `[CODE] message (connector c, task 0, table public.t, position 0/16B3748)`. */
  describe(): string {
    const place = Object.entries(this.place)
      .filter(([, v]) => v !== undefined)
      .map(([k, v]) => `${k} ${v}`);
    return `[${this.code}] ${this.message}${place.length > 0 ? ` (${place.join(', ')})` : ''}`;
  }
}

/** Any thrown value as a ConnectError; what is not one already becomes `code` with the cause kept. */
export function asConnectError(error: unknown, code: ErrorCode, options: ErrorOptions = {}): ConnectError {
  if (error instanceof ConnectError) return options.place ? error.at(options.place) : error;
  const message = error instanceof Error ? error.message : String(error);
  return new ConnectError(code, message, { cause: error, ...options });
}
