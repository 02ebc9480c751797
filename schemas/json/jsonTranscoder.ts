/**
 * Compiles (schema, layout) to steps that write records as JSON from the bytes in which they came: the bytes that the encoder makes of the plain
 * value. Text that all records of a batch share (labels, constants) is one block between two values.
 */
import type { RowTranscoder } from '../converter.ts';
import type { Schema } from '../data/index.ts';
import { OutputBuffer } from '../outputBuffer.ts';
import { type Layout, type LongSlot, longAt, type WireRows } from '../transcode/layout.ts';
import { shiftOf } from '../transcode/plainColumn.ts';
import { ColumnFinder, columnOrder, type RowLayout, structOf } from '../transcode/rowColumns.ts';
import { layoutError, RowFault, rowError, SliceFault } from '../transcode/rowErrors.ts';
import { ViewCache } from '../transcode/viewCache.ts';
import { type Block, makeBlock } from '../transcode/write.ts';
import {
  compileJsonEncoder,
  type EncodeJson,
  fieldLabels,
  type JsonOptions,
  jsonOfNull,
} from './compileJsonEncoder.ts';
import { textBlock, writeBlock, writeInt32, writeInt64 } from './jsonBytes.ts';
import { columnWriter } from './jsonColumn.ts';

type Step = (rows: WireRows, index: number, out: OutputBuffer) => void;

/** A piece of shared text: bytes, or a value of the batch. */
type Part = Uint8Array | { readonly encode: EncodeJson; readonly slot: number };

interface SharedText {
  readonly parts: readonly Part[];
  block: Block;
}

const views = new ViewCache();

const NO_ROWS: WireRows = {
  bytes: Buffer.alloc(0),
  count: 0,
  positions: [],
  longs: [],
  choices: [],
  constants: [],
};

/** `prefix` and `suffix` are written around each record. Throws TRANSCODE_LAYOUT_INVALID where the layout does not fit the schema. */
export function compileJsonTranscoder(
  schema: Schema,
  layout: Layout,
  options: JsonOptions,
  prefix: string,
  suffix: string,
): RowTranscoder {
  const compiler = new StepCompiler(options);
  compiler.text(prefix);
  compiler.node(schema, layout);
  compiler.text(suffix);
  compiler.flush();
  return new JsonTranscoder(compiler.steps, compiler.ofBatch, schema.optional ? () => false : nullTest(layout));
}

class JsonTranscoder implements RowTranscoder {
  readonly #steps: readonly Step[];
  readonly #ofBatch: readonly SharedText[];
  readonly #isNull: (rows: WireRows, index: number) => boolean;
  #rows: WireRows = NO_ROWS;

  constructor(
    steps: readonly Step[],
    ofBatch: readonly SharedText[],
    isNull: (rows: WireRows, index: number) => boolean,
  ) {
    this.#steps = steps;
    this.#ofBatch = ofBatch;
    this.#isNull = isNull;
  }

  begin(rows: WireRows): void {
    this.#rows = rows;
    for (const text of this.#ofBatch) text.block = blockOf(text.parts, rows.constants);
  }

  encode(index: number, out: OutputBuffer): boolean {
    const rows = this.#rows;
    if (this.#isNull(rows, index)) return false;
    const start = out.position;
    try {
      run(this.#steps, rows, index, out);
      return true;
    } catch (error) {
      out.position = start;
      throw error;
    }
  }
}

function run(steps: readonly Step[], rows: WireRows, index: number, out: OutputBuffer): void {
  for (let i = 0; i < steps.length; i++) steps[i](rows, index, out);
}

function blockOf(parts: readonly Part[], constants: readonly unknown[]): Block {
  const out = new OutputBuffer(256);
  for (const part of parts) {
    if (part instanceof Uint8Array) out.writeBytes(part);
    else if (part.slot >= constants.length) throw layoutError(`the batch has no constant ${part.slot}`);
    else part.encode(constants[part.slot], out);
  }
  return makeBlock(Buffer.from(out.written()));
}

/** Whether a record is null. */
function nullTest(layout: Layout): (rows: WireRows, index: number) => boolean {
  switch (layout.kind) {
    case 'row':
      return (rows, index) => rows.positions[layout.slot][index] === -1;
    case 'long':
      return (rows, index) => rows.longNulls?.[layout.slot]?.[index] === 1;
    case 'choice': {
      const of = layout.of.map(nullTest);
      return (rows, index) => of[rows.choices[layout.slot][index]]?.(rows, index) ?? false;
    }
    case 'batch':
      return rows => (rows.constants[layout.slot] ?? null) === null;
    case 'null':
    case 'constant': {
      const isNull = layout.kind === 'null' || layout.value === null;
      return () => isNull;
    }
    case 'struct':
    case 'text':
      return () => false;
  }
}

class StepCompiler {
  readonly steps: Step[] = [];
  readonly ofBatch: SharedText[];
  readonly #options: JsonOptions;
  #pending: Part[] = [];

  constructor(options: JsonOptions, ofBatch: SharedText[] = []) {
    this.#options = options;
    this.ofBatch = ofBatch;
  }

  text(text: string): void {
    if (text !== '') this.#pending.push(Buffer.from(text));
  }

  flush(): void {
    const parts = this.#pending;
    if (parts.length === 0) return;
    this.#pending = [];
    if (parts.every(part => part instanceof Uint8Array)) {
      const block = blockOf(parts, []);
      this.steps.push((_rows, _index, out) => writeBlock(out, block));
    } else {
      const shared: SharedText = { parts, block: textBlock('') };
      this.ofBatch.push(shared);
      this.steps.push((_rows, _index, out) => writeBlock(out, shared.block));
    }
  }

  node(schema: Schema, layout: Layout): void {
    switch (layout.kind) {
      case 'struct':
        this.#struct(schema, layout.fields);
        return;
      case 'null':
        this.#null(schema);
        return;
      case 'constant':
        if (layout.value === null) this.#null(schema);
        else this.#pending.push(this.#valueBytes(schema, layout.value));
        return;
      case 'batch':
        this.#pending.push({ encode: compileJsonEncoder(schema, this.#options), slot: layout.slot });
        return;
      case 'long':
        this.#step(this.#long(schema, layout));
        return;
      case 'text':
        this.#text(layout.parts);
        return;
      case 'choice': {
        const { slot } = layout;
        const of = layout.of.map(chosen => this.#stepsOf(schema, chosen));
        this.#step((rows, index, out) => {
          const chosen = rows.choices[slot][index];
          if (chosen >= of.length) throw rowError(RowFault.badChoice, -1, index);
          run(of[chosen], rows, index, out);
        });
        return;
      }
      case 'row':
        this.#step(this.#row(schema, layout));
        return;
    }
  }

  #step(step: Step): void {
    this.flush();
    this.steps.push(step);
  }

  #stepsOf(schema: Schema, layout: Layout): readonly Step[] {
    const inner = new StepCompiler(this.#options, this.ofBatch);
    inner.node(schema, layout);
    inner.flush();
    return inner.steps;
  }

  #valueBytes(schema: Schema, value: unknown): Uint8Array {
    const out = new OutputBuffer(64);
    compileJsonEncoder(schema, this.#options)(value, out);
    return out.written();
  }

  #null(schema: Schema): void {
    const block = jsonOfNull(schema, this.#options);
    if (block !== null) this.#pending.push(block.bytes);
    else this.#step(nullStep(null, RowFault.nullNotAllowed));
  }

  #struct(schema: Schema, layouts: readonly Layout[]): void {
    const struct = structOf(schema);
    const { length } = struct.fields;
    if (length !== layouts.length)
      throw layoutError(`${schema.name ?? 'a struct'} has ${length} fields, its layout ${layouts.length}`);
    if (length === 0) this.text('{');
    fieldLabels(struct).forEach((label, at) => {
      this.#pending.push(label.bytes);
      this.node(struct.fields[at].schema, layouts[at]);
    });
    this.text('}');
  }

  #long(schema: Schema, long: LongSlot): Step {
    const { slot } = long;
    const ifNull = nullStep(jsonOfNull(schema, this.#options), RowFault.longNotAllowed);
    const isLong = schema.type === 'INT64';
    const shift = isLong ? 0 : shiftOf(schema);
    return (rows, index, out) => {
      const at = longAt(rows, long, index);
      if (rows.longNulls?.[slot]?.[at] === 1) ifNull(rows, index, out);
      else if (isLong) writeInt64(out, rows.longs[slot][at]);
      else {
        const value = Number(rows.longs[slot][at]);
        if ((value << shift) >> shift !== value) throw rowError(RowFault.longNotAllowed, -1, index);
        writeInt32(out, value);
      }
    };
  }

  #text(parts: Extract<Layout, { kind: 'text' }>['parts']): void {
    this.text('"');
    for (const part of parts) {
      if (typeof part === 'string') this.text(JSON.stringify(part).slice(1, -1));
      else {
        const { slot } = part;
        this.#step((rows, index, out) => {
          writeInt64(out, rows.longs[slot][longAt(rows, part, index)]);
        });
      }
    }
    this.text('"');
  }

  #row(schema: Schema, layout: RowLayout): Step {
    const struct = structOf(schema);
    const { slot } = layout;
    const ifNull = nullStep(jsonOfNull(schema, this.#options), RowFault.nullNotAllowed);
    const order = columnOrder(struct.fields, layout.columns);
    const labels = fieldLabels(struct);
    const writers = struct.fields.map((f, at) => columnWriter(f.schema, layout.columns[order[at]], this.#options));
    const finder = new ColumnFinder(layout);
    const { starts, lengths } = finder;
    return (rows, index, out) => {
      const position = rows.positions[slot][index];
      if (position === -1) {
        ifNull(rows, index, out);
        return;
      }
      const { bytes } = rows;
      const view = views.of(bytes);
      finder.find(view, position, index);
      let field = 0;
      try {
        if (writers.length === 0) out.writeByte(0x7b);
        for (; field < writers.length; field++) {
          writeBlock(out, labels[field]);
          const column = order[field];
          writers[field](out, bytes, view, starts[column], lengths[column]);
        }
        out.writeByte(0x7d);
      } catch (error) {
        if (error instanceof SliceFault) throw rowError(error.fault, order[field], index, error.cause);
        throw error;
      }
    };
  }
}

function nullStep(block: Block | null, fault: RowFault): Step {
  return (_rows, index, out) => {
    if (block === null) throw rowError(fault, -1, index);
    writeBlock(out, block);
  };
}
