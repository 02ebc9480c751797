/**
 * Keeps secrets out of logs and status traces: what the configuration says is a password, or came from a config provider, is shown as [hidden] wherever it
 * stands as a word of its own. What is also a value that may be seen (user and password are the same) is not taken for a secret.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../api/index.ts';

/** Below this, chance would hide too much, and a password little. */
const minChars = 4;
/** Keys that are passed on to clients and converters, of which no definition says that they are secret. */
const secretName =
  /(password|passphrase|secret|token|jaas\.config|user\.info|keystore\.key|access\.key|credentials?)$/i;

export class SecretMask {
  readonly #secrets = new Map<string, readonly string[]>();
  #pattern: RegExp | null = null;

  /** Replaces what `owner` had; none forgets it. */
  set(owner: string, secrets: readonly string[]): void {
    if (isDeepStrictEqual(this.#secrets.get(owner), secrets)) return;
    if (secrets.length > 0) this.#secrets.set(owner, secrets);
    else if (!this.#secrets.delete(owner)) return;
    const all = new Set([...this.#secrets.values()].flat());
    // As they stand in text, and in JSON.
    const shown = new Set([...all].flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1)]));
    const longestFirst = [...shown].sort((a, b) => b.length - a.length).map(escaped);
    this.#pattern = longestFirst.length === 0 ? null : new RegExp(`(?<!\\w)(?:${longestFirst.join('|')})(?!\\w)`, 'g');
  }

  mask(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, '[hidden]');
  }
}

/** The secrets in a configuration. `raw` has the placeholders of `resolved`; `isSecret` knows keys beyond those whose name says it. */
export function secretsOf(raw: Config, resolved: Config, isSecret: (key: string) => boolean = () => false): string[] {
  const seen = new Set<string>();
  const secrets = new Set<string>();
  for (const [key, value] of Object.entries(resolved)) {
    const given = raw[key];
    const hidden = isSecret(key) || secretName.test(key);
    if (hidden) for (const part of [value, ...quoted(value)]) secrets.add(part);
    else if (given !== undefined && given !== value) secrets.add(provided(given, value));
    else {
      seen.add(value);
      // postgres://user:password@host
      const password = /^\w[\w+.:-]*:\/\/[^\s/@:]*:([^\s/@]+)@/.exec(value)?.[1];
      if (password !== undefined) secrets.add(password);
    }
  }
  return [...secrets].filter(secret => secret.length >= minChars && !seen.has(secret));
}

/** The passwords in a JAAS entry, or after the user of `user:password`. */
function quoted(value: string): string[] {
  const jaas = [...value.matchAll(/\bpassword\s*=\s*"([^"]+)"/gi)].map(([, password]) => password!);
  const pair = /^[^\s:]+:(\S+)$/.exec(value)?.[1];
  return pair === undefined ? jaas : [...jaas, pair];
}

/** What stands for the placeholder, where that is all that differs; else the whole. */
function provided(given: string, value: string): string {
  const [, before = '', after = ''] = /^([^$]*)\$\{[^}]*\}([^$]*)$/.exec(given) ?? [];
  const isSingle = before.length + after.length < value.length && value.startsWith(before) && value.endsWith(after);
  return isSingle ? value.slice(before.length, value.length - after.length) : value;
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
