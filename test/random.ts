/** Seeded random values: the same ones for the same seed (mulberry32). */
export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  /** Whole number in [0, n). */
  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * n);
  }
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
  /** A 64-bit integer: all lengths alike likely, the ends included. */
  long(bits = 64): bigint {
    if (this.chance(4)) return -(1n << BigInt(bits - 1));
    if (this.chance(4)) return (1n << BigInt(bits - 1)) - 1n;
    const any = (BigInt(this.below(2 ** 32)) << 32n) | BigInt(this.below(2 ** 32));
    return BigInt.asIntN(1 + this.below(bits), any);
  }
  text(): string {
    const length = this.pick([0, 1, 3, 7, 20, 63, 64, 97, 300, 9000 * (this.chance(10) ? 1 : 0)]);
    let out = '';
    while (out.length < length) out += this.pick(['a', 'Z', '7', ' ', 'é', '€', '😀', '"']);
    return out;
  }
  bytes(): Buffer {
    const out = Buffer.alloc(this.pick([0, 1, 2, 5, 64, 200]));
    for (let i = 0; i < out.length; i++) out[i] = this.below(256);
    return out;
  }
}
