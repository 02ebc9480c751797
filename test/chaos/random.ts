import { Random as Seeded } from '../random.ts';

/** A whole number below `below`; for the same seed the same ones. */
export type Random = (below: number) => number;

export function randomOf(seed: number): Random {
  const random = new Seeded(seed);
  return below => random.below(below);
}
