import type { Logger } from '../api/index.ts';
import type { TaskId } from './types.ts';

/** Says of each line which task it is about. */
export function taskLogger(logger: Logger, id: TaskId): Logger {
  const log =
    (level: keyof Logger) =>
    (fields: object, message: string): void =>
      logger[level]({ ...id, ...fields }, message);
  return { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') };
}
