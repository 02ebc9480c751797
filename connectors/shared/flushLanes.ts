/**
 * Several lanes into one target, each with a connection of its own, so that rows with different keys are written at the same time. A row always goes
 * to the lane of its key, rows of a table whose keys do not tell all that they may collide in to the one lane of that table: order is kept wherever it
 * matters, without locks and without waits between the lanes. More than one lane costs more work per row, so that the others are used only while the
 * target is what holds up the task, and left again as soon as everything is written, or where it shows that the rows come no faster: then the target has no more to give.
 */
import type { FlushLane } from './flushLane.ts';
import { LaneClaims } from './laneClaims.ts';
import { RowLog, RowOp } from './rowLog.ts';

/** The number of the order that rows of a shape must keep among each other; null = only rows with the same key. */
export type OrderOf = (shape: number) => number | null;
/** Columns of a shape's further unique indexes; null = rows with different keys do not meet in any. */
export type UniquesOf = (shape: number) => readonly (readonly number[])[] | null;

/** Of the time, spent with waiting for room in the one lane. Above it the target is the bottleneck. */
const WAIT_SHARE = 0.6;
const WINDOW_MS = 200;
/** How long several lanes are given to show what they are worth, after a start in which connections are made. */
const TRIAL_START_MS = 300;
const TRIAL_MS = 1000;
/** What they have to be worth: rows a second beside those of one lane. */
const GAIN = 1.1;
/** Before they are tried again. */
const FIRST_REST_MS = 5000;
const LONGEST_REST_MS = 120_000;
/** Of rows that are encoded before they are shared out. */
const STAGED_ROWS = 4096;
const STAGED_BYTES = 1 << 20;

export class FlushLanes {
  readonly #lanes: readonly FlushLane[];
  readonly #orderOf: OrderOf;
  readonly #uniquesOf: UniquesOf;
  readonly #claims = new LaneClaims();
  readonly #staged = new RowLog();
  #isSpread = false;
  #windowStartMs = performance.now();
  #windowStartRows = 0;
  #waitedMs = 0;
  /** Rows a second of one lane when it was left; 0 = several lanes have shown that they are better. */
  #rateToBeat = 0;
  #isTrialOn = false;
  #restMs = FIRST_REST_MS;
  #restsUntilMs = 0;

  constructor(lanes: readonly FlushLane[], orderOf: OrderOf, uniquesOf: UniquesOf = () => null) {
    this.#lanes = lanes;
    this.#orderOf = orderOf;
    this.#uniquesOf = uniquesOf;
  }

  /** To be called before each put: the rows of one key must not be in two lanes, so that nothing is under way when their number changes. */
  async adapt(): Promise<void> {
    if (this.#lanes.length === 1) return;
    const now = performance.now();
    const elapsedMs = now - this.#windowStartMs;
    if (this.#isSpread) {
      if (this.#lanes.every(lane => lane.isEmpty)) this.#setSpread(false);
      else if (this.#rateToBeat > 0) await this.#judge(now, elapsedMs);
      return;
    }
    if (elapsedMs < WINDOW_MS) return;
    const isHeldUp = this.#waitedMs > elapsedMs * WAIT_SHARE && now >= this.#restsUntilMs;
    const rate = this.#rate(elapsedMs);
    if (isHeldUp) await this.drain();
    this.#setSpread(isHeldUp && this.#lanes.every(lane => lane.isEmpty));
    if (this.#isSpread) this.#rateToBeat = rate;
  }

  async #judge(now: number, elapsedMs: number): Promise<void> {
    if (!this.#isTrialOn) {
      if (elapsedMs < TRIAL_START_MS) return;
      this.#isTrialOn = true;
      this.#startWindow();
      return;
    }
    if (elapsedMs < TRIAL_MS) return;
    const isBetter = this.#rate(elapsedMs) >= this.#rateToBeat * GAIN;
    this.#rateToBeat = 0;
    if (isBetter) {
      this.#restMs = FIRST_REST_MS;
      return;
    }
    this.#restsUntilMs = now + this.#restMs;
    this.#restMs = Math.min(LONGEST_REST_MS, this.#restMs * 2);
    await this.drain();
    // With rows that are held back it goes on as it is: their lanes must not change.
    if (this.#lanes.every(lane => lane.isEmpty)) this.#setSpread(false);
  }

  get #doneRows(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.doneRows, 0);
  }

  /** Rows a second in the window. */
  #rate(elapsedMs: number): number {
    return ((this.#doneRows - this.#windowStartRows) * 1000) / elapsedMs;
  }

  #setSpread(isSpread: boolean): void {
    this.#isSpread = isSpread;
    this.#isTrialOn = false;
    this.#rateToBeat = 0;
    this.#claims.clear([]);
    this.#startWindow();
  }

  #startWindow(): void {
    this.#windowStartMs = performance.now();
    this.#windowStartRows = this.#doneRows;
    this.#waitedMs = 0;
  }

  /** The log to append to, with room for at least one row, and how much it may take; `take` it afterwards. */
  async open(): Promise<{ log: RowLog; room: number; maxBytes: number }> {
    if (this.#isSpread) return { log: this.#staged, room: STAGED_ROWS, maxBytes: STAGED_BYTES };
    const lane = this.#lanes[0]!;
    const started = performance.now();
    const opened = await lane.open();
    this.#waitedMs += performance.now() - started;
    return { ...opened, maxBytes: lane.maxBytes };
  }

  /** Shares out what was appended to the log that `open` gave, and waits where a lane is full. */
  async take(log: RowLog): Promise<void> {
    if (log !== this.#staged) return;
    let shape = -1;
    let order: number | null = null;
    let uniques: ReturnType<UniquesOf> = null;
    for (let row = 0; row < log.count; row++) {
      if (log.shapes[row] !== shape) {
        shape = log.shapes[row]!;
        order = this.#orderOf(shape);
        uniques = this.#uniquesOf(shape);
      }
      let index = (order ?? log.hashes[row]! >>> 0) % this.#lanes.length;
      if (uniques !== null) {
        index = this.#claims.claim(log, row, uniques, this.#lanes.length);
        if (index < 0) index = await this.#claimAnew(log, row, uniques);
      }
      const lane = this.#lanes[index]!;
      if (log.ops[row] === RowOp.truncate) await this.#appendAlone(lane, log, row);
      else (lane.roomyLog() ?? (await this.#makeRoom(lane))).copyRow(log, row);
    }
    log.reset();
  }

  /** With nothing under way in any lane. Where held rows have the row's values in several, the lane of its key takes it. */
  async #claimAnew(log: RowLog, row: number, uniques: readonly (readonly number[])[]): Promise<number> {
    await this.drain();
    this.#claims.clear(
      this.#lanes.flatMap((lane, index) => [...lane.held.keyHashes].map(hash => [hash, index] as const)),
    );
    const lane = this.#claims.claim(log, row, uniques, this.#lanes.length);
    return lane >= 0 ? lane : this.#claims.laneOfKey(log.hashes[row]!, this.#lanes.length);
  }

  /** Rows of all lanes come before it, or after it. */
  async #appendAlone(lane: FlushLane, log: RowLog, row: number): Promise<void> {
    await this.drain();
    (await lane.open()).log.copyRow(log, row);
    await this.drain();
  }

  async #makeRoom(lane: FlushLane): Promise<RowLog> {
    this.nudge();
    return (await lane.open()).log;
  }

  /** As `FlushLane` has it, for all of them. */
  nudge(): void {
    for (const lane of this.#lanes) lane.nudge();
  }

  async drain(): Promise<void> {
    await Promise.all(this.#lanes.map(lane => lane.drain()));
  }

  /** The records behind which nothing is safe, although everything is drained. */
  *heldOrigins(): Iterable<readonly [batch: unknown, index: number]> {
    for (const lane of this.#lanes) yield* lane.held.origins();
  }

  forgetHeld(isGone: (batch: unknown) => boolean): void {
    for (const lane of this.#lanes) lane.held.forget(isGone);
  }

  async abandon(): Promise<void> {
    await Promise.all(this.#lanes.map(lane => lane.abandon()));
  }
}
