/** What generated code works on, and the functions it calls. One state per transcoder, reused for all its batches. */

import type { EncodeValue } from '../avro/compileEncoder.ts';
import type { Decimal } from '../data/index.ts';
import { OutputBuffer } from '../outputBuffer.ts';
import type { WireRows } from './layout.ts';
import { linearValue } from './linear.ts';
import * as packed from './packed.ts';
import * as parse from './parse.ts';
import type { Decode, Program } from './program.ts';
import { layoutError, RowFault, rowError } from './rowErrors.ts';
import { valueWriter } from './valueWriter.ts';
import * as write from './write.ts';

const NO_BYTES = Buffer.alloc(0);
const NO_GROUPS = new Int32Array(0);
const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export class RunState {
  readonly replaceNullWithDefault: boolean;
  /** Wire bytes. */
  b: Buffer = NO_BYTES;
  bv: DataView = viewOf(NO_BYTES);
  /** Positions, longs as int32 halves, their nulls, choices, each by slot. */
  P: readonly Int32Array[] = [];
  L: Int32Array[] = [];
  N: (Uint8Array | null)[] = [];
  C: readonly Uint8Array[] = [];
  /** The group of each record. */
  G: Int32Array = NO_GROUPS;
  /** Blocks. */
  readonly B: write.Block[];
  /** Start and length of remembered slices. */
  readonly S: Int32Array;
  /** Of the row whose columns are noted: where its first one begins in the wire bytes and in the output, and where each ends in both. */
  r0 = 0;
  e0 = 0;
  readonly W: Int32Array;
  readonly E: Int32Array;
  /** Where the row at hand has its bitmap of nulls. */
  m = 0;
  /** Room that a record needs besides its slices. */
  fixed = 0;
  /** The group whose stretches lie in `shared`; where each begins and its bytes there; a view of them all. */
  g = -1;
  readonly shared = new OutputBuffer(1024);
  readonly D: Int32Array;
  readonly T: Uint8Array[];
  sv: DataView = viewOf(this.shared.bytes);
  /** Names by table and number, with their lengths in front. */
  readonly K: readonly (readonly write.Block[])[];
  /** View of the output buffer last used. */
  v: DataView = viewOf(NO_BYTES);
  private o: Buffer = NO_BYTES;
  readonly functions: readonly { readonly decode: Decode; readonly write: EncodeValue }[];
  readonly linears: Program['linears'];
  private readonly slots: Program['slots'];

  constructor(program: Program, replaceNullWithDefault: boolean) {
    this.replaceNullWithDefault = replaceNullWithDefault;
    this.B = new Array<write.Block>(program.blocks.length);
    this.S = new Int32Array(program.scratchColumns * 2);
    this.W = new Int32Array(program.notedColumns);
    this.E = new Int32Array(program.notedColumns);
    this.D = new Int32Array(program.stretches);
    this.T = new Array<Uint8Array>(program.stretches).fill(NO_BYTES);
    this.K = program.names.map(names => names.map(nameBlock));
    this.functions = program.functions.map(({ schema, decode }) => ({
      decode,
      write: valueWriter(schema, replaceNullWithDefault),
    }));
    this.linears = program.linears;
    this.slots = program.slots;
  }

  setRows(rows: WireRows): void {
    const need = (what: string, slot: number, array: { length: number } | undefined): void => {
      if (array === undefined || array.length < rows.count)
        throw layoutError(`the batch has ${array?.length ?? 'no'} ${what} of slot ${slot} for ${rows.count} records`);
    };
    for (const slot of this.slots.positions) need('positions', slot, rows.positions[slot]);
    for (const slot of this.slots.choices) need('choices', slot, rows.choices[slot]);
    const { groups = NO_GROUPS } = rows;
    let groupCount = 0;
    if (this.slots.groupLongs.size > 0) {
      need('groups', 0, groups);
      for (let i = 0; i < rows.count; i++) if (groups[i] >= groupCount) groupCount = groups[i] + 1;
    }
    const longs: Int32Array[] = [];
    const nulls: (Uint8Array | null)[] = [];
    for (const slot of this.slots.longs) {
      const array = rows.longs[slot];
      need('integers', slot, array);
      longs[slot] = new Int32Array(array.buffer, array.byteOffset, array.length * 2);
      nulls[slot] = rows.longNulls?.[slot] ?? null;
      if (nulls[slot] !== null) need('null marks', slot, nulls[slot]);
    }
    for (const slot of this.slots.groupLongs) {
      const array = rows.longs[slot];
      if (array === undefined || array.length < groupCount)
        throw layoutError(`the batch has ${array?.length ?? 'no'} integers of slot ${slot} for ${groupCount} groups`);
      longs[slot] = new Int32Array(array.buffer, array.byteOffset, array.length * 2);
      nulls[slot] = null;
    }
    this.G = groups;
    this.g = -1;
    this.P = rows.positions;
    this.C = rows.choices;
    this.L = longs;
    this.N = nulls;
    if (this.b !== rows.bytes) {
      this.b = rows.bytes;
      this.bv = viewOf(rows.bytes);
    }
  }

  viewOf(o: Buffer): DataView {
    if (o !== this.o) {
      this.o = o;
      this.v = viewOf(o);
    }
    return this.v;
  }
}

function nameBlock(name: string): write.Block {
  const out = new OutputBuffer(64);
  const text = Buffer.from(name);
  out.ensure(5);
  out.position = write.writeLength(out.bytes, 0, text.length);
  out.writeBytes(text);
  return write.makeBlock(Buffer.from(out.written()));
}

/** Room for a stretch; a whole record has no more than `fixed` bytes of them. */
function beginStretch(s: RunState): OutputBuffer {
  const { shared } = s;
  const before = shared.bytes;
  shared.ensure(s.fixed);
  if (shared.bytes !== before) s.sv = viewOf(shared.bytes);
  return shared;
}

/** A stretch of another group mostly lies where the last one did. */
function endStretch(s: RunState, at: number, w: number): void {
  const { shared } = s;
  const { buffer, byteOffset } = shared.bytes;
  const start = byteOffset + shared.position;
  const length = w - shared.position;
  s.D[at] = shared.position;
  const last = s.T[at];
  if (last.buffer !== buffer || last.byteOffset !== start || last.length !== length) {
    s.T[at] = new Uint8Array(buffer, start, length);
  }
  shared.position = w;
}

/** May write up to three bytes more than the stretch has, as putBlock. */
function putStretch(s: RunState, o: Buffer, v: DataView, w: number, at: number): number {
  const stretch = s.T[at];
  const end = w + stretch.length;
  if (stretch.length >= write.LONG_BLOCK) {
    o.set(stretch, w);
    return end;
  }
  const { sv } = s;
  for (let p = s.D[at]; w < end; w += 4, p += 4) v.setInt32(w, sv.getInt32(p, true), true);
  return end;
}

/** Room for `n` bytes of a slice and all fixed parts after w. Returns the buffer to write on in; its view is s.v. */
function grow(s: RunState, out: OutputBuffer, w: number, n: number): Buffer {
  out.position = w;
  out.ensure(n + s.fixed);
  s.viewOf(out.bytes);
  return out.bytes;
}

function fail(fault: RowFault, column: number, index: number): never {
  throw rowError(fault, column, index);
}

/** Writes the value of a column function at w; out.position is where to go on. */
function call(
  s: RunState,
  at: number,
  out: OutputBuffer,
  w: number,
  p: number,
  q: number,
  column: number,
  index: number,
): Buffer {
  const { decode, write: writeValue } = s.functions[at];
  out.position = w;
  try {
    writeValue(decode(s.b, p, q), out);
  } catch (error) {
    throw rowError(RowFault.malformedValue, column, index, error);
  }
  return grow(s, out, out.position, 0);
}

/** A decimal that the short way could not do; out.position is where to go on. */
function putBig(
  s: RunState,
  out: OutputBuffer,
  w: number,
  b: Buffer,
  p: number,
  q: number,
  read: (b: Buffer, p: number, q: number, scale: number) => Decimal,
  scale: number,
  column: number,
  index: number,
): Buffer {
  let bytes: Buffer;
  try {
    bytes = read(b, p, q, scale).toBytes();
  } catch (error) {
    throw rowError(RowFault.malformedValue, column, index, error);
  }
  const o = grow(s, out, w, bytes.length + 5);
  w = write.writeLength(o, w, bytes.length);
  o.set(bytes, w);
  return grow(s, out, w + bytes.length, 0);
}

/** Halves of the value in `pair`: exact, or false where it does not fit 64 bits. */
const pair = new Int32Array(2);
function linear(s: RunState, at: number, lo: number, hi: number): boolean {
  const value = linearValue(s.linears[at], (BigInt(hi) << 32n) | BigInt(lo >>> 0));
  if (BigInt.asIntN(64, value) !== value) return false;
  pair[0] = Number(BigInt.asIntN(32, value));
  pair[1] = Number(value >> 32n);
  return true;
}

/** All that generated code may call; generate.ts names them. */
export const runtime = {
  ...write,
  ...parse,
  ...packed,
  grow,
  fail,
  call,
  putBig,
  linear,
  pair,
  beginStretch,
  endStretch,
  putStretch,
};
