/**
 * Keys of a connector config that nobody reads and that are nearly one that somebody does: refused, since a misspelt filter or mode would change
 * what is captured or written without a word. The worker warns of other unknown keys.
 */
import type { Config, ConfigError } from '../../runtime/api/index.ts';
import { nearestName } from '../../runtime/api/nearName.ts';

/** Keys that the worker reads, by beginnings: names behind them are free. */
const FREE =
  /^(name$|connector\.class$|connector\.plugin\.version$|task\.|tasks\.max|(key|value|header)\.converter|transforms|predicates|config\.action\.reload$|topics(\.regex)?$|topic\.creation\.|exactly\.once\.support$|transaction\.boundary|offsets\.storage\.topic$|(producer|consumer|admin)\.override\.)/;

/** Keys that the worker reads and that decide about records. */
const WORKER_KEYS = [
  'topics',
  'topics.regex',
  'tasks.max',
  'errors.retry.timeout',
  'errors.retry.delay.max.ms',
  'errors.restart.max',
  'errors.tolerance',
  'errors.log.enable',
  'errors.log.include.messages',
  'errors.deadletterqueue.topic.name',
  'errors.deadletterqueue.topic.replication.factor',
  'errors.deadletterqueue.context.headers.enable',
];

/** `known` are the connector's own keys in all spellings; `reads` tells further ones. The value is not shown: it may be a password. */
export function misspeltKeys(
  config: Config,
  known: readonly string[],
  reads: (key: string) => boolean = () => false,
): readonly ConfigError[] {
  const names = [...known, ...WORKER_KEYS];
  return Object.keys(config)
    .filter(key => !names.includes(key) && !FREE.test(key) && !reads(key))
    .flatMap(key => {
      const meant = nearestName(names, key);
      if (meant === undefined) return [];
      return [{ key, message: `Unknown configuration ${key}: ${meant} is probably meant` }];
    });
}
