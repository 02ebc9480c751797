/** Waits for what nobody announces. */
import { setTimeout as wait } from 'node:timers/promises';

const lookMs = 20;

/** False = it did not come about within the time. */
export async function waitFor(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() >= deadline) return false;
    await wait(lookMs);
  }
  return true;
}
