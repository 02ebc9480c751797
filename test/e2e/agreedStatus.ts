/** What workers of both kinds in one cluster must show alike. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { waitUntil } from '../services/waitUntil.ts';

export const takeOverMs = 30_000;

interface Shown {
  readonly status: {
    readonly connector: { readonly state: string; readonly worker_id: string };
    readonly tasks: readonly { readonly state: string; readonly worker_id: string }[];
  };
}

async function shown(url: string): Promise<Record<string, Shown>> {
  const answer = await fetch(`${url}/connectors?expand=status&expand=info`);
  assert.equal(answer.status, 200);
  return (await answer.json()) as Record<string, Shown>;
}

/** As many connectors and tasks run, on all of these workers, and every one of them says so alike. */
export async function agreed(urls: readonly string[], count: number): Promise<void> {
  let seen: unknown;
  const hosts = urls.map(url => new URL(url).host).sort();
  await waitUntil(`all runs on ${hosts}`, takeOverMs, async () => {
    const all = await Promise.all(urls.map(shown));
    seen = all;
    const parts = Object.values(all[0]!).flatMap(({ status }) => [status.connector, ...status.tasks]);
    const used = [...new Set(parts.map(({ worker_id }) => worker_id))].sort();
    const isRunning = parts.length === count && parts.every(({ state }) => state === 'RUNNING');
    return isRunning && used.join() === hosts.join() && all.every(one => isDeepStrictEqual(one, all[0]));
  }).catch(error => {
    throw new Error(`${error.message}; seen: ${JSON.stringify(seen)}`);
  });
}
