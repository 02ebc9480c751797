/**
 * The process's logger: pino, as JSON lines, or one readable line each on a terminal. Levels are those of LogLevels, by the connector that a line
 * is about, so that /admin/loggers has its effect at once.
 */
import pino from 'pino';
import type { Logger } from '../api/index.ts';
import type { SecretMask } from '../config/secretMask.ts';
import type { LogLevel, LogLevels } from '../metrics/logLevels.ts';

const methods = { error: 'ERROR', warn: 'WARN', info: 'INFO', debug: 'DEBUG' } as const satisfies Record<
  keyof Logger,
  LogLevel
>;

export function createLogger(
  levels: LogLevels,
  secrets: SecretMask,
  output: NodeJS.WriteStream = process.stderr,
): Logger {
  const shown = output.isTTY ? prettyLine : (line: string): string => line;
  const destination = { write: (line: string) => void output.write(shown(secrets.mask(line))) };
  const log = pino(
    { level: 'debug', base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: plainError } },
    destination,
  );
  const method =
    (name: keyof Logger) =>
    (fields: object, message: string): void => {
      const { connector } = fields as { connector?: unknown };
      const source = typeof connector === 'string' ? `connector.${connector}` : 'millrace';
      if (levels.isEnabled(source, methods[name])) log[name](fields, message);
    };
  return { error: method('error'), warn: method('warn'), info: method('info'), debug: method('debug') };
}

/** Errors of task threads come as plain objects that say all; pino would call them "Object". */
function plainError(error: unknown): unknown {
  return error instanceof Error ? pino.stdSerializers.err(error) : error;
}

const levelNames: Readonly<Record<number, string>> = { 20: 'DEBUG', 30: 'INFO ', 40: 'WARN ', 50: 'ERROR' };
const colors: Readonly<Record<number, string>> = { 20: '\x1b[2m', 30: '\x1b[32m', 40: '\x1b[33m', 50: '\x1b[31m' };
const reset = '\x1b[0m';

/** `12:30:01.123 INFO  message  connector=c task=0`, then the stack of an error. */
export function prettyLine(json: string): string {
  const { level, time, msg, err, trace, ...fields } = JSON.parse(json) as {
    level: number;
    time: string;
    msg: string;
    err?: { message?: string; stack?: string };
    trace?: string;
  } & Record<string, unknown>;
  const shown = Object.entries(fields).map(([key, value]) => {
    return `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  const head = `${time.slice(11, 23)} ${colors[level] ?? ''}${levelNames[level] ?? level}${reset} ${msg}`;
  const tail = shown.length > 0 ? `  \x1b[2m${shown.join(' ')}${reset}` : '';
  const detail = err?.stack ?? err?.message ?? trace;
  return `${head}${tail}\n${detail === undefined ? '' : `${detail}\n`}`;
}
