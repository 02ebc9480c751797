/** Commits source offsets: to the offsets topic every `offset.flush.interval.ms` and at the end, then to the task. One commit at a time. */
import type { Logger, SourceTask } from '../../api/index.ts';
import type { TaskMeter } from '../../metrics/taskMeter.ts';
import { isRetriable } from '../errors/errorPolicy.ts';
import type { ConnectorOffsets } from '../offsets/connectorOffsets.ts';
import type { OffsetTracker } from './offsetTracker.ts';

export interface OffsetCommitterOptions {
  readonly tracker: OffsetTracker;
  readonly offsets: ConnectorOffsets;
  readonly task: SourceTask;
  readonly meter: TaskMeter;
  readonly logger: Logger;
  readonly intervalMs: number;
  /** Told of what must end the task. */
  readonly onError: (error: unknown) => void;
}

export class OffsetCommitter {
  readonly #options: OffsetCommitterOptions;
  #timer: NodeJS.Timeout | null = null;
  #committing: Promise<void> = Promise.resolve();
  #hasCommitted = false;

  constructor(options: OffsetCommitterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.commit().catch(this.#options.onError);
    }, this.#options.intervalMs);
  }

  /** Whether some offset of this run is durable. */
  get hasCommitted(): boolean {
    return this.#hasCommitted;
  }

  stopTimer(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Resolves when what was committable is durable, or kept for the next commit because of trouble that may pass. */
  commit(): Promise<void> {
    this.#committing = this.#committing.catch(() => undefined).then(() => this.#commit());
    return this.#committing;
  }

  async #commit(): Promise<void> {
    const { tracker, offsets, task, meter, logger } = this.#options;
    const positions = tracker.take();
    if (positions.length === 0) return;
    const started = performance.now();
    try {
      await offsets.write(positions);
    } catch (error) {
      tracker.giveBack(positions);
      meter.add('offset_commit_failure_total');
      if (!isRetriable(error)) throw error;
      logger.warn({ err: error }, 'offsets could not be committed; the next commit tries again');
      return;
    }
    this.#hasCommitted = true;
    meter.add('offset_commit_success_total');
    meter.observe('offset_commit_time_ms', performance.now() - started);
    if (task.commit === undefined) return;
    for (const { partition, offset } of positions) {
      try {
        await task.commit(partition, offset);
      } catch (error) {
        if (!isRetriable(error)) throw error;
        logger.warn(
          { err: error, partition, offset },
          'the source did not take a committed offset; it gets the next one',
        );
      }
    }
  }
}
