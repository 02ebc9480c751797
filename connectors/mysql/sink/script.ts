/**
 * Statements with their rows as SQL texts, several statements a text, so that a flush takes few round trips. A statement of many rows is cut where it
 * becomes long: measured, 250 KiB a statement is as fast as any other length, and as fast as LOAD DATA into a staging table that is merged then.
 */
import { OutputBuffer } from '../../../schemas/outputBuffer.ts';
import type { RowLog } from '../../shared/rowLog.ts';
import { fieldBytes } from '../../shared/tupleFields.ts';
import { RowTooLarge } from './mysqlFailure.ts';

const MAX_STATEMENT_BYTES = 256 << 10;
const MAX_TEXT_BYTES = 1 << 20;
/** The packet's own bytes, and START TRANSACTION and COMMIT around the statements. */
const PACKET_RESERVE = 1024;
/** Memory that an empty script keeps. */
const MAX_KEPT_BYTES = 8 << 20;
const NULL_BYTES = Buffer.from('NULL', 'latin1');

/** What a statement's row count is added to; `moved` = an offset, of which there must be one. */
export type Counter = 'written' | 'updated' | 'deleted' | 'moved' | null;

export interface Counted {
  readonly counter: Counter;
  readonly rows: number;
}

/** How the rows of a statement are put: `head` row `between` row … `tail`. */
export interface ListStatement {
  readonly head: string;
  readonly tail: string;
  readonly counter: Counter;
  readonly maxRows: number;
}

export class Script {
  readonly #out = new OutputBuffer();
  readonly #maxAllowedPacket: number;
  readonly #maxTextBytes: number;
  #texts: string[] = [];
  /** Of all statements since the last `take`, in order. */
  #counted: Counted[] = [];
  #statementStart = 0;

  constructor(maxAllowedPacket: number) {
    this.#maxAllowedPacket = maxAllowedPacket;
    this.#maxTextBytes = Math.min(MAX_TEXT_BYTES, maxAllowedPacket - PACKET_RESERVE);
  }

  get isEmpty(): boolean {
    return this.#texts.length === 0 && this.#out.position === 0;
  }

  /** A statement without rows. */
  add(sql: string, counter: Counter, rows: number): void {
    this.#begin();
    this.#out.writeUtf8(sql);
    this.#end(counter, rows);
  }

  /** Rows of a list, as many statements as they need. `columns` of each row are written. */
  addRows(statement: ListStatement, columns: number, log: RowLog, rows: readonly number[]): void {
    const out = this.#out;
    let count = 0;
    for (const row of rows) {
      const size = log.ends[row]! - log.starts[row]! + statement.tail.length;
      const isFull = out.position - this.#statementStart + size > MAX_STATEMENT_BYTES || count === statement.maxRows;
      if (count > 0 && isFull) {
        out.writeUtf8(statement.tail);
        this.#end(statement.counter, count);
        count = 0;
      }
      if (count === 0) {
        this.#begin();
        out.writeUtf8(statement.head);
      } else out.writeByte(COMMA);
      writeTuple(log, row, columns, out);
      count++;
    }
    if (count === 0) return;
    out.writeUtf8(statement.tail);
    this.#end(statement.counter, count);
  }

  /** One statement for a row, put together by `write`. */
  addRow(counter: Counter, write: (out: OutputBuffer) => void): void {
    this.#begin();
    write(this.#out);
    this.#end(counter, 1);
  }

  #begin(): void {
    if (this.#out.position > 0) this.#out.writeByte(SEMICOLON);
    this.#statementStart = this.#out.position;
  }

  #end(counter: Counter, rows: number): void {
    const out = this.#out;
    const bytes = out.position - this.#statementStart;
    if (bytes > this.#maxAllowedPacket - PACKET_RESERVE) throw new RowTooLarge(bytes, this.#maxAllowedPacket);
    this.#counted.push({ counter, rows });
    if (out.position <= this.#maxTextBytes) return;
    // What was before it goes alone, then this one begins a text.
    if (this.#statementStart > 0) {
      this.#texts.push(out.bytes.toString('utf8', 0, this.#statementStart - 1));
      out.bytes.copyWithin(0, this.#statementStart, out.position);
      out.position = bytes;
    }
    if (out.position > this.#maxTextBytes) this.#cut();
  }

  #cut(): void {
    this.#texts.push(this.#out.bytes.toString('utf8', 0, this.#out.position));
    this.#out.reset();
    this.#statementStart = 0;
  }

  /** The texts so far and what their statements count; the script is empty then. */
  take(): { texts: string[]; counted: Counted[] } {
    if (this.#out.position > 0) this.#cut();
    const taken = { texts: this.#texts, counted: this.#counted };
    this.clear();
    return taken;
  }

  clear(): void {
    this.#texts = [];
    this.#counted = [];
    this.#out.reset();
    if (this.#out.bytes.length > MAX_KEPT_BYTES) this.#out.bytes = Buffer.allocUnsafe(MAX_KEPT_BYTES);
    this.#statementStart = 0;
  }
}

const COMMA = 0x2c;
const SEMICOLON = 0x3b;

/** `(a,b,…)` of the first fields of a row. */
export function writeTuple(log: RowLog, row: number, columns: number, out: OutputBuffer): void {
  const source = log.out.bytes;
  out.ensure(log.ends[row]! - log.starts[row]! + columns + 8);
  const { bytes } = out;
  let to = out.position;
  let at = log.starts[row]! + 2;
  bytes[to++] = 0x28;
  for (let c = 0; c < columns; c++) {
    if (c > 0) bytes[to++] = COMMA;
    const length = fieldBytes(source, at);
    at += 4;
    if (length < 0) {
      // As long as the length itself, so there is room for it.
      bytes.set(NULL_BYTES, to);
      to += 4;
    } else if (length <= 24) for (let i = 0; i < length; i++) bytes[to++] = source[at++]!;
    else {
      source.copy(bytes, to, at, at + length);
      to += length;
      at += length;
    }
  }
  bytes[to++] = 0x29;
  out.position = to;
}

/** One field of a row, from where its length is; returns where the next one is. */
export function writeField(log: RowLog, at: number, out: OutputBuffer): number {
  const source = log.out.bytes;
  const length = fieldBytes(source, at);
  if (length < 0) {
    out.writeBytes(NULL_BYTES);
    return at + 4;
  }
  out.writeBytes(source.subarray(at + 4, at + 4 + length));
  return at + 4 + length;
}
