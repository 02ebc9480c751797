/**
 * Compiles (schema, layout) to a function that writes records as Avro from the bytes in which they came. Equal shapes share machine code: generated
 * source is cached, and what differs (names, constants, functions) is in the state that the function is given.
 */
import type { RowTranscoder } from '../converter.ts';
import type { Schema } from '../data/index.ts';
import { OutputBuffer } from '../outputBuffer.ts';
import { generate } from './generate.ts';
import type { Layout, WireRows } from './layout.ts';
import type { BlockPart, Program } from './program.ts';
import { layoutError } from './rowErrors.ts';
import { RunState, runtime } from './runState.ts';
import { valueWriter } from './valueWriter.ts';
import { type Block, makeBlock } from './write.ts';

export interface TranscoderOptions {
  /** Whether null in a field that has a default is written as the default (Connect's replace.null.with.default). */
  readonly replaceNullWithDefault?: boolean;
}

type Run = (state: RunState, index: number, out: OutputBuffer) => boolean;

const machineCode = new Map<string, Run>();

/** `framing` is written before each record. Throws TRANSCODE_LAYOUT_INVALID where the layout does not fit the schema. */
export function compileTranscoder(
  schema: Schema,
  layout: Layout,
  framing: Buffer,
  options: TranscoderOptions = {},
): RowTranscoder {
  const replaceNullWithDefault = options.replaceNullWithDefault ?? true;
  const program = generate(schema, layout, framing, replaceNullWithDefault);
  let run = machineCode.get(program.source);
  if (run === undefined) {
    run = new Function('R', program.source)(runtime) as Run;
    machineCode.set(program.source, run);
  }
  return new CompiledTranscoder(program, run, replaceNullWithDefault);
}

class CompiledTranscoder implements RowTranscoder {
  private readonly program: Program;
  private readonly run: Run;
  private readonly state: RunState;
  /** Blocks that hold values of the batch, by index. */
  private readonly batchBlocks: readonly number[];
  private readonly scratch = new OutputBuffer(1024);

  constructor(program: Program, run: Run, replaceNullWithDefault: boolean) {
    this.program = program;
    this.run = run;
    this.state = new RunState(program, replaceNullWithDefault);
    const ofBatch = (parts: readonly BlockPart[]): boolean => parts.some(part => part.part === 'batch');
    program.blocks.forEach((parts, at) => {
      if (!ofBatch(parts)) this.state.B[at] = this.block(parts, []);
    });
    this.batchBlocks = program.blocks.flatMap((parts, at) => (ofBatch(parts) ? [at] : []));
    this.sumFixedBytes();
  }

  begin(rows: WireRows): void {
    this.state.setRows(rows);
    if (this.batchBlocks.length === 0) return;
    for (const at of this.batchBlocks) this.state.B[at] = this.block(this.program.blocks[at], rows.constants);
    this.sumFixedBytes();
  }

  encode(index: number, out: OutputBuffer): boolean {
    const start = out.position;
    try {
      if (this.run(this.state, index, out)) return true;
    } catch (error) {
      out.position = start;
      throw error;
    }
    out.position = start;
    return false;
  }

  private block(parts: readonly BlockPart[], constants: readonly unknown[]): Block {
    const out = this.scratch;
    out.reset();
    for (const part of parts) {
      switch (part.part) {
        case 'byte':
          out.writeByte(part.byte);
          break;
        case 'bytes':
          out.writeBytes(part.bytes);
          break;
        case 'value':
          valueWriter(part.schema, this.state.replaceNullWithDefault)(part.value, out);
          break;
        case 'batch':
          if (part.slot >= constants.length) throw layoutError(`the batch has no constant ${part.slot}`);
          valueWriter(part.schema, this.state.replaceNullWithDefault)(constants[part.slot], out);
          break;
      }
    }
    return makeBlock(Buffer.from(out.written()));
  }

  /** Room for a record without its slices. A block may occur once only, and is copied in whole words. */
  private sumFixedBytes(): void {
    let fixed = this.program.fixedBytes + 8;
    for (const block of this.state.B) if (block !== undefined) fixed += block.length + 4;
    this.state.fixed = fixed;
  }
}
