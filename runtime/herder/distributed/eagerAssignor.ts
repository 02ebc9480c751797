/** Who runs what by the eager protocol (version 0): everybody has stopped everything, and all is dealt out anew, connectors first, over the members by their ids. */
import { byKind } from './incrementalAssignor.ts';

export function eagerAssign(
  memberIds: readonly string[],
  configured: ReadonlySet<string>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const sorted = [...memberIds].sort();
  const shares = new Map(sorted.map(id => [id, new Set<string>()]));
  for (const [i, key] of [...configured].sort(byKind).entries()) shares.get(sorted[i % sorted.length]!)!.add(key);
  return shares;
}
