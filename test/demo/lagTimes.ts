/**
 * How long committed changes took to be committed in the target. Probes sent before the first one arrived waited for the first copy, not for the stream: they
 * do not count.
 */
export class LagTimes {
  readonly #lagsMs: number[] = [];
  #firstArrivalMs: number | null = null;

  arrived(sentAtMs: number): void {
    const now = Date.now();
    this.#firstArrivalMs ??= now;
    if (sentAtMs >= this.#firstArrivalMs) this.#lagsMs.push(now - sentAtMs);
  }

  /** Percentiles over all probes so far, in whole ms. */
  percentiles(): { p50Ms: number; p99Ms: number } {
    const sorted = [...this.#lagsMs].sort((a, b) => a - b);
    const at = (share: number): number =>
      Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
    return { p50Ms: at(0.5), p99Ms: at(0.99) };
  }
}
