/** FileStreamSource: the lines of a file as records, followed as the file grows. Positions count bytes, so that text beyond ASCII is no problem. */
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Config,
  ConnectError,
  type SourceBatch,
  type SourceConnector,
  type SourceOffset,
  type SourcePartition,
  type SourceTask,
  type SourceTaskContext,
} from '../../runtime/api/index.ts';
import { fileSourceConfig } from './config.ts';
import { LineBatch } from './lineBatch.ts';
import { LineSplitter } from './lineSplitter.ts';

const filenameField = 'filename';
const positionField = 'position';
const readBytes = 1 << 20;
const idleMs = 100;

export class FileStreamSourceConnector implements SourceConnector {
  #config: Config = {};

  start(config: Config): void {
    this.#config = config;
  }

  taskConfigs(): Config[] {
    return [this.#config];
  }

  stop(): void {}

  exactlyOnceSupport(config: Config): 'SUPPORTED' | 'UNSUPPORTED' {
    return config.file === undefined ? 'UNSUPPORTED' : 'SUPPORTED';
  }

  canDefineTransactionBoundaries(): 'UNSUPPORTED' {
    return 'UNSUPPORTED';
  }

  /** A reset is accepted for anything, so that wrong offsets can be removed. */
  alterOffsets(config: Config, offsets: readonly (readonly [SourcePartition | null, SourceOffset | null])[]): boolean {
    if (config.file === undefined) {
      throw invalid("Offsets cannot be altered for standard input: the configuration has no 'file'");
    }
    for (const [partition, offset] of offsets) {
      if (offset === null) continue;
      if (partition === null) throw invalid('Partition objects cannot be null');
      if (!(filenameField in partition)) throw invalid("Partition objects should contain the key 'filename'");
      if (!(positionField in offset)) {
        throw invalid("Offset objects should either be null or contain the key 'position'");
      }
      const position = offset[positionField];
      const whole = typeof position === 'bigint' || (typeof position === 'number' && Number.isInteger(position));
      if (!whole) throw invalid("The value for the 'position' key in the offset is expected to be a Long value");
      if (position < 0) throw invalid("The value for the 'position' key in the offset should be a non-negative value");
    }
    return true;
  }
}

const invalid = (message: string): ConnectError => new ConnectError('OFFSETS_INVALID', message);

export class FileStreamSourceTask implements SourceTask {
  #context!: SourceTaskContext;
  #topic = '';
  #batchLines = 0;
  #source: LineSource | null = null;

  async start(config: Config, context: SourceTaskContext): Promise<void> {
    const { values, errors } = fileSourceConfig.parse(config);
    if (errors.length > 0) throw new ConnectError('CONFIG_INVALID', errors.map(e => e.message).join('\n'));
    this.#context = context;
    this.#topic = values.topic;
    this.#batchLines = values['batch.size'];
    if (values.file === null) {
      this.#source = new StandardInput();
      return;
    }
    const partition = { [filenameField]: values.file };
    const offset = await context.offsets.offset(partition);
    this.#source = new FollowedFile(values.file, Number(offset?.[positionField] ?? 0), context);
  }

  async poll(): Promise<readonly SourceBatch[]> {
    const source = this.#source!;
    const batch = source.lines.take(this.#batchLines);
    if (batch === null) {
      if (!(await source.read())) await idle(this.#context.signal);
      return [];
    }
    const { partition } = source;
    const offset = partition === null ? null : { [positionField]: source.lines.position };
    return [new LineBatch(this.#topic, batch, partition ?? {}, offset)];
  }

  async stop(): Promise<void> {
    await this.#source?.close();
  }
}

interface LineSource {
  readonly lines: LineSplitter;
  /** null = it has no positions to go back to. */
  readonly partition: SourcePartition | null;
  /** Reads what is there. False = nothing for now. */
  read(): Promise<boolean>;
  close(): Promise<void>;
}

class FollowedFile implements LineSource {
  readonly partition: SourcePartition;
  lines: LineSplitter;
  readonly #path: string;
  readonly #context: SourceTaskContext;
  readonly #buffer = Buffer.allocUnsafe(readBytes);
  #file: FileHandle | null = null;
  #readPosition: number;
  #toldMissing = false;

  constructor(path: string, position: number, context: SourceTaskContext) {
    this.#path = path;
    this.#context = context;
    this.partition = { [filenameField]: path };
    this.#readPosition = position;
    this.lines = new LineSplitter(position);
  }

  async read(): Promise<boolean> {
    this.#file ??= await this.#open();
    if (this.#file === null) return false;
    const { bytesRead } = await this.#file.read(this.#buffer, 0, readBytes, this.#readPosition);
    if (bytesRead === 0) {
      await this.#startOverIfTruncated(this.#file);
      return false;
    }
    this.#readPosition += bytesRead;
    this.lines.add(this.#buffer.subarray(0, bytesRead));
    return true;
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  async #open(): Promise<FileHandle | null> {
    try {
      return await open(this.#path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        throw new ConnectError('FILE_UNUSABLE', `File ${this.#path} cannot be read: ${(error as Error).message}`, {
          cause: error,
        });
      }
      if (!this.#toldMissing) {
        this.#context.logger.warn({ file: this.#path }, 'the file does not exist yet; waiting for it');
        this.#toldMissing = true;
      }
      return null;
    }
  }

  async #startOverIfTruncated(file: FileHandle): Promise<void> {
    const { size } = await file.stat();
    if (size >= this.#readPosition) return;
    this.#context.logger.warn(
      { file: this.#path, position: this.#readPosition, size },
      'the file is shorter than what was read of it; reading it from its beginning',
    );
    this.#readPosition = 0;
    this.lines = new LineSplitter(0);
  }
}

/** By its descriptor: a task thread has no `process.stdin` of its own. */
class StandardInput implements LineSource {
  readonly partition = null;
  readonly lines = new LineSplitter(0);
  readonly #stream = createReadStream('', { fd: 0, autoClose: false, highWaterMark: readBytes });
  #error: Error | null = null;

  constructor() {
    this.#stream.on('error', error => {
      this.#error = error;
    });
  }

  async read(): Promise<boolean> {
    if (this.#error !== null) {
      throw new ConnectError('FILE_UNUSABLE', `Standard input cannot be read: ${this.#error.message}`, {
        cause: this.#error,
      });
    }
    const chunk = this.#stream.read() as Buffer | null;
    if (chunk === null) return false;
    this.lines.add(chunk);
    return true;
  }

  async close(): Promise<void> {
    this.#stream.destroy();
  }
}

/** Ends early, without an error, when the task is to stop. */
async function idle(signal: AbortSignal): Promise<void> {
  await delay(idleMs, undefined, { signal }).catch(() => undefined);
}
