/** stop.at: the end of a bounded run, as `file:position` or as a set of GTIDs. The transaction that reaches it is the last one that is published. */
import { type GtidSet, parseGtidSet } from '../protocol/gtid.ts';
import { isBehind } from './position.ts';

export interface StopPoint {
  /** Of the end of a transaction. */
  isReached(at: { readonly file: string; readonly position: number; readonly gtids: GtidSet | null }): boolean;
}

/** Throws RangeError where the text is neither. */
export function parseStopPoint(text: string, isMariaDb: boolean): StopPoint {
  const place = /^([^\s:,]+\.\d+):(\d+)$/.exec(text.trim());
  if (place !== null) {
    const stop = { file: place[1]!, position: Number(place[2]) };
    return { isReached: at => !isBehind(at, stop) };
  }
  const gtids = parseGtidSet(text, isMariaDb);
  return { isReached: at => at.gtids?.includes(gtids) ?? false };
}
