/** The logger of a task thread: lines are written by the main thread, which knows the levels and where they go. */
import { inspect } from 'node:util';
import { ConnectError, type Logger } from '../../api/index.ts';
import type { FromThread } from './messages.ts';

export function threadLogger(post: (message: FromThread) => void): Logger {
  const log =
    (level: keyof Logger) =>
    (fields: object, message: string): void => {
      const plain = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, cloneable(value)]));
      post({ type: 'log', level, fields: plain, message });
    };
  return { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') };
}

/** Errors lose their fields on the way to another thread; what cannot be cloned at all goes as text. */
function cloneable(value: unknown): unknown {
  if (value instanceof ConnectError) {
    const { code, message, retriable, place, stack } = value;
    return { type: value.name, code, message, retriable, ...place, stack, cause: cloneable(value.cause) };
  }
  if (value instanceof Error) {
    return { type: value.name, message: value.message, stack: value.stack, cause: cloneable(value.cause) };
  }
  if (value === null || typeof value !== 'object') return typeof value === 'function' ? String(value) : value;
  try {
    return structuredClone(value);
  } catch {
    return inspect(value);
  }
}
