/**
 * Writes a topic of event.format=journal to one JSON file per segment. A file appears under its name only when it is whole: once the first event of
 * the next segment is there. Offsets are safe up to there, so that a restart reads the events of an unfinished file again. Where the source repeats segments,
 * their files are written anew.
 */
import { access, open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Config,
  ConnectError,
  partitionOf,
  type SinkBatch,
  type SinkConnector,
  type SinkTask,
  type SinkTaskContext,
  type TopicPartition,
} from '../../../runtime/api/index.ts';
import { JOURNAL_DOCUMENT_END, JOURNAL_SEGMENT_BEGINS } from '../../../schemas/envelope/firebirdJournal.ts';
import { journalFileSinkConfig } from './config.ts';

export class JournalFileSinkConnector implements SinkConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(): Config[] {
    return [this.#config];
  }

  stop(): void {}
}

const HEADER =
  /^\{\s*"header": \{"version": \d+, "guid": "(\{[0-9A-F-]+\})", "sequence": (\d+), "state": "\w+"\},\s*"events": \[/;

interface OpenFile {
  readonly guid: string;
  readonly sequence: number;
  readonly path: string;
  /** Offset of its first record. */
  readonly firstOffset: number;
}

export class JournalFileSinkTask implements SinkTask {
  #directory = '';
  /** By topic and partition. */
  readonly #files = new Map<string, OpenFile>();
  #context!: SinkTaskContext;

  async start(config: Config, context: SinkTaskContext): Promise<void> {
    const { values, errors } = journalFileSinkConfig.parse(config);
    if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
    this.#directory = values['output.dir'];
    this.#context = context;
    await this.#guarded(this.#directory, () => access(this.#directory));
  }

  async put(batches: readonly SinkBatch[]): Promise<void> {
    for (const batch of batches) {
      const partition = `${batch.originalTopic}-${batch.partition}`;
      for (let i = 0; i < batch.count; i++) await this.#add(partition, batch, i);
    }
  }

  async #add(partition: string, batch: SinkBatch, index: number): Promise<void> {
    const record = batch.record(index);
    const text = typeof record.value === 'string' ? record.value : '';
    const header = HEADER.exec(text);
    if (header === null || !text.endsWith(JOURNAL_DOCUMENT_END)) {
      const error = new ConnectError('SINK_VALUE_UNUSABLE', 'the value is not a document of Firebird journal events', {
        place: { ...partitionOf(batch), offset: batch.offset(index) },
      });
      await this.#context.reportErrantRecord(record, error);
      return;
    }
    const [start, guid, number] = header as unknown as [string, string, string];
    const sequence = Number(number);
    let file = this.#files.get(partition);
    const begins = record.headers.some(({ name }) => name === JOURNAL_SEGMENT_BEGINS);
    if (file !== undefined && (begins || file.sequence !== sequence || file.guid !== guid)) {
      if (file.sequence < sequence || file.guid !== guid) await this.#finish(file);
      // The source has begun again: what there is of this segment, or of one behind it, comes anew.
      else await this.#forget(partition);
      file = undefined;
    }
    const events = text.slice(start.length, -JOURNAL_DOCUMENT_END.length);
    if (file === undefined) {
      const path = join(this.#directory, `${guid}.journal-${String(sequence).padStart(9, '0')}.json`);
      file = { guid, sequence, path, firstOffset: batch.offset(index) };
      this.#files.set(partition, file);
      await this.#guarded(path, () => writeFile(`${path}.part`, start + events));
      return;
    }
    const { path } = file;
    await this.#guarded(path, () => writeFile(`${path}.part`, `,${events}`, { flag: 'a' }));
  }

  async #finish({ path }: OpenFile): Promise<void> {
    await this.#guarded(path, async () => {
      const file = await open(`${path}.part`, 'a');
      try {
        await file.writeFile(JOURNAL_DOCUMENT_END);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}.part`, path);
    });
  }

  async #guarded(path: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw new ConnectError('FILE_UNUSABLE', `${path} cannot be written: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  async preCommit(current: ReadonlyMap<TopicPartition, number>): Promise<ReadonlyMap<TopicPartition, number>> {
    const safe = new Map<TopicPartition, number>();
    for (const [partition, offset] of current) {
      const file = this.#files.get(`${partition.topic}-${partition.partition}`);
      safe.set(partition, file?.firstOffset ?? offset);
    }
    return safe;
  }

  /** Unfinished files are written again by whoever gets the partition. */
  async close(partitions: readonly TopicPartition[]): Promise<void> {
    for (const { topic, partition } of partitions) await this.#forget(`${topic}-${partition}`);
  }

  async stop(): Promise<void> {
    for (const partition of [...this.#files.keys()]) await this.#forget(partition);
  }

  async #forget(partition: string): Promise<void> {
    const file = this.#files.get(partition);
    this.#files.delete(partition);
    if (file !== undefined) await rm(`${file.path}.part`, { force: true });
  }
}
