/** Which name is probably meant by a misspelt one: what checks keys and classes can then say so. */

/** Letters left out, put in, or others. */
const MOST_EDITS = 2;

/** The name that differs least, by two letters at most or by an ending that was left off; undefined = none is near. */
export function nearestName(names: readonly string[], written: string): string | undefined {
  let nearest: string | undefined;
  let least = MOST_EDITS + 1;
  for (const name of names) {
    const edits = lacksEnding(name, written) ? 1 : editDistance(name, written);
    if (edits >= least) continue;
    nearest = name;
    least = edits;
  }
  return nearest;
}

/** As `database.host` of `database.hostname`, or `interval` of `interval.ms`. */
const lacksEnding = (name: string, written: string): boolean =>
  written.length > 0 && name.startsWith(written) && /^(\w+|\.ms)$/.test(name.slice(written.length));

/** Stops at lengths that are too far apart. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MOST_EDITS) return MOST_EDITS + 1;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
