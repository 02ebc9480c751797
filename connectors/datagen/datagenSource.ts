/** A source for demos and load tests: generated rows, as fast as they can be sent or at a given rate, shared out among its tasks. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Config,
  type ConfigValues,
  ConnectError,
  type SourceBatch,
  type SourceConnector,
  type SourceTask,
  type SourceTaskContext,
} from '../../runtime/api/index.ts';
import { datagenConfig, taskCountKey, taskIndexKey } from './config.ts';
import { parseFields, type RowShape, rowShape } from './fields.ts';
import { GeneratedBatch } from './generatedBatch.ts';
import { quickstarts } from './quickstarts.ts';

const idleMs = 200;

export class DatagenSourceConnector implements SourceConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(maxTasks: number): Config[] {
    return Array.from({ length: maxTasks }, (_, index) => ({
      ...this.#config,
      [taskIndexKey]: String(index),
      [taskCountKey]: String(maxTasks),
    }));
  }

  stop(): void {}

  /** A row follows from its number. */
  exactlyOnceSupport(): 'SUPPORTED' {
    return 'SUPPORTED';
  }

  canDefineTransactionBoundaries(): 'UNSUPPORTED' {
    return 'UNSUPPORTED';
  }

  alterOffsets(): boolean {
    return true;
  }
}

type Values = ConfigValues<typeof datagenConfig.keys>;

export class DatagenSourceTask implements SourceTask {
  #signal!: AbortSignal;
  #values!: Values;
  #shape!: RowShape;
  #partition: { task: number } = { task: 0 };
  #task = 0;
  #tasks = 1;
  #row = 0;
  #lastRow = Number.POSITIVE_INFINITY;
  #startedMs = 0;
  #firstRow = 0;

  async start(config: Config, context: SourceTaskContext): Promise<void> {
    const { values, errors } = datagenConfig.parse(config);
    if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
    this.#values = values;
    this.#signal = context.signal;
    this.#task = Number(config[taskIndexKey] ?? 0);
    this.#tasks = Number(config[taskCountKey] ?? 1);
    this.#shape = rowShape(values.topic, parseFields(values.fields ?? quickstarts[values.quickstart]!));
    this.#partition = { task: this.#task };
    this.#row = Number((await context.offsets.offset(this.#partition))?.row ?? 0);
    const { iterations } = values;
    if (iterations >= 0) this.#lastRow = Math.floor((iterations + this.#tasks - 1 - this.#task) / this.#tasks);
    this.#startedMs = performance.now();
    this.#firstRow = this.#row;
  }

  async poll(): Promise<readonly SourceBatch[]> {
    const count = Math.min(this.#values['batch.rows'], this.#lastRow - this.#row, await this.#allowedRows());
    if (count <= 0) {
      // The stop ends the wait early; it is no error.
      if (this.#row >= this.#lastRow) await delay(idleMs, undefined, { signal: this.#signal }).catch(() => undefined);
      return [];
    }
    const { topic, keys } = this.#values;
    const range = { first: this.#row, count, keys, stride: this.#tasks, start: this.#task };
    this.#row += count;
    return [new GeneratedBatch(topic, this.#shape, range, this.#partition)];
  }

  async stop(): Promise<void> {}

  /** Rows that may go now at the rate asked for; waits a little where none may. */
  async #allowedRows(): Promise<number> {
    const rate = this.#values['rows.per.second'] / this.#tasks;
    if (rate === 0) return Number.POSITIVE_INFINITY;
    const allowed = (): number =>
      Math.floor(((performance.now() - this.#startedMs) / 1000) * rate) - (this.#row - this.#firstRow);
    const waitMs = Math.min(idleMs, ((1 - allowed()) / rate) * 1000);
    if (waitMs > 0) await delay(waitMs, undefined, { signal: this.#signal }).catch(() => undefined);
    return allowed();
  }
}
