/** Keys that a topic has of its own: `topic.override.<topic>.<key>`. */
import type { Config } from '../../runtime/api/index.ts';
import { sinkKeys } from './configKeys.ts';

const OVERRIDE = 'topic.override.';
/** Of the whole task, not of a topic. */
const NOT_OVERRIDDEN =
  /^(connection\.|server\.api\.|connections$|max\.|retries\.|rate\.|batch\.|linger|bulk\.|mongo\.)/;
const OVERRIDABLE = Object.keys(sinkKeys)
  .filter(key => !NOT_OVERRIDDEN.test(key))
  .sort((a, b) => b.length - a.length);

export const isOverride = (key: string): boolean => key.startsWith(OVERRIDE);

/** Topics have dots in their names as keys have: the longest key that there is, is meant. */
export function splitOverride(name: string): { readonly topic: string; readonly key: string } | null {
  const rest = name.slice(OVERRIDE.length);
  const key = OVERRIDABLE.find(each => rest.endsWith(`.${each}`) && rest.length > each.length + 1);
  return key === undefined ? null : { topic: rest.slice(0, -key.length - 1), key };
}

export const overriddenTopics = (config: Config): readonly string[] => [
  ...new Set(
    Object.keys(config)
      .filter(isOverride)
      .flatMap(name => splitOverride(name)?.topic ?? []),
  ),
];

export function configOf(config: Config, topic: string): Config {
  const own = Object.entries(config).flatMap(([name, value]) => {
    const override = isOverride(name) ? splitOverride(name) : null;
    return override?.topic === topic ? [[override.key, value] as const] : [];
  });
  return { ...config, ...Object.fromEntries(own) };
}
