/**
 * Which lane has which values, for tables whose rows can meet in further unique indexes beside their key: a row goes to the lane that has its key and its unique values, as
 * long as that is one. It keeps rows that take over each other's values in order, mostly; what it cannot see (values that rows had before) is held back
 * where the target refuses it, so that this needs to be good, not complete.
 */
import type { RowLog } from './rowLog.ts';
import { fieldBytes } from './tupleFields.ts';

/** Values remembered at most; then all lanes are emptied. */
const MAX_CLAIMS = 200_000;

export class LaneClaims {
  readonly #lanes = new Map<number, number>();
  readonly #hashes: number[] = [];

  /** The row's lane, which has its values from now on; -1 = they are with several, or there is no more room: `clear` first. */
  claim(log: RowLog, row: number, uniques: readonly (readonly number[])[], laneCount: number): number {
    const hashes = this.#hashes;
    hashes.length = 0;
    hashes.push(log.hashes[row]!);
    for (const columns of uniques) {
      const hash = hashOf(log, row, columns);
      if (hash !== null) hashes.push(hash);
    }
    let lane = -1;
    for (const hash of hashes) {
      const claimed = this.#lanes.get(hash);
      if (claimed === undefined || claimed === lane) continue;
      if (lane >= 0) return -1;
      lane = claimed;
    }
    if (this.#lanes.size + hashes.length > MAX_CLAIMS) return -1;
    if (lane < 0) lane = this.laneOfKey(log.hashes[row]!, laneCount);
    for (const hash of hashes) this.#lanes.set(hash, lane);
    return lane;
  }

  /** Where rows of the key are. */
  laneOfKey(hash: number, laneCount: number): number {
    return this.#lanes.get(hash) ?? (hash >>> 0) % laneCount;
  }

  /** Nothing is under way but rows that are held back, whose keys stay where they are. */
  clear(held: Iterable<readonly [hash: number, lane: number]>): void {
    this.#lanes.clear();
    for (const [hash, lane] of held) this.#lanes.set(hash, lane);
  }
}

/** Of the values in those columns; null where one is NULL, which meets nothing. */
function hashOf(log: RowLog, row: number, columns: readonly number[]): number | null {
  const { bytes } = log.out;
  let hash = 0x811c9dc5 ^ log.tables[row]! ^ Math.imul(columns[0]! + 1, 0x9e3779b1);
  for (const column of columns) {
    let at = log.starts[row]! + 2;
    for (let c = 0; c < column; c++) at += 4 + Math.max(fieldBytes(bytes, at), 0);
    const length = fieldBytes(bytes, at);
    if (length < 0) return null;
    for (let i = at; i < at + 4 + length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  }
  return hash ^ (hash >>> 15);
}
