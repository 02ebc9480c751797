/** Version of this program, from its package.json: beside the sources, or above `dist`. */
import { readFileSync } from 'node:fs';

function packageVersion(): string {
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const found = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (found.name === 'millrace') return found.version ?? 'unknown';
    } catch {
      // Not here: the next place.
    }
  }
  return 'unknown';
}

export const version = packageVersion();
/** Set by whoever builds an image. */
export const commit = process.env.MILLRACE_COMMIT ?? 'unknown';
