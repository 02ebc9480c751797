/** FileStreamSink: each value as a line at the end of a file, or on standard output. */
import { type FileHandle, open } from 'node:fs/promises';
import { type Config, ConnectError, type SinkBatch, type SinkTask } from '../../runtime/api/index.ts';
import { textForm } from '../../schemas/text/stringConverter.ts';

export class FileStreamSinkTask implements SinkTask {
  #path: string | null = null;
  #file: FileHandle | null = null;

  async start(config: Config): Promise<void> {
    const { file } = config;
    if (file === undefined) return;
    this.#path = file;
    try {
      this.#file = await open(file, 'a');
    } catch (error) {
      throw new ConnectError(
        'FILE_UNUSABLE',
        `Couldn't find or create file '${file}' for FileStreamSinkTask: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }

  async put(batches: readonly SinkBatch[]): Promise<void> {
    for (const batch of batches) {
      let text = '';
      for (let i = 0; i < batch.count; i++) text += `${textForm(batch.record(i).value)}\n`;
      await this.#write(text);
    }
  }

  async stop(): Promise<void> {
    await this.#file?.close();
  }

  async #write(text: string): Promise<void> {
    if (this.#file === null) {
      process.stdout.write(text);
      return;
    }
    try {
      await this.#file.appendFile(text);
    } catch (error) {
      throw new ConnectError('FILE_UNUSABLE', `File ${this.#path} cannot be written: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
}
