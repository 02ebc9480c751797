/** Waits until a condition holds; asks again after a short while. Rejects at the deadline, naming the condition, or as soon as the condition throws. */
export async function waitUntil(
  what: string,
  timeoutMs: number,
  condition: () => boolean | Promise<boolean>,
  intervalMs = 50,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise(resolve => setTimeout(resolve, intervalMs));
  }
}
