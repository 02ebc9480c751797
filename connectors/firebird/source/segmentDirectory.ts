/** The directory of archived segments: which there are of one database. Told apart by what their headers say, never by name or time. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ConnectError } from '../../../schemas/errors.ts';
import { parseSegmentHeader, SEGMENT_HEADER_BYTES, SEGMENT_NAME } from '../journal/segmentHeader.ts';

export interface FoundSegment {
  readonly sequence: number;
  readonly path: string;
  readonly isComplete: boolean;
}

interface KnownFile {
  readonly stamp: string;
  readonly guid: string;
  readonly segment: FoundSegment;
}

export interface FileState {
  readonly stamp: string;
  readonly modifiedMs: number;
}

export class SegmentDirectory {
  readonly path: string;
  readonly #guid: string;
  #known = new Map<string, KnownFile>();

  constructor(path: string, guid: string) {
    this.path = path;
    this.#guid = guid;
  }

  /** Archived segments of the database by sequence number. Files that are no segments yet are left out. */
  async list(): Promise<Map<number, FoundSegment>> {
    const found = new Map<number, FoundSegment>();
    const known = new Map<string, KnownFile>();
    for (const name of await this.#names()) {
      const file = await this.#look(name);
      if (file === null) continue;
      known.set(name, file);
      if (file.guid === this.#guid) found.set(file.segment.sequence, file.segment);
    }
    this.#known = known;
    return found;
  }

  async #names(): Promise<string[]> {
    try {
      return (await readdir(this.path)).filter(name => SEGMENT_NAME.test(name)).sort();
    } catch (error) {
      const { message } = error as Error;
      throw new ConnectError('FB_DIRECTORY_UNUSABLE', `journal.source.dir ${this.path} cannot be read: ${message}.`, {
        cause: error,
      });
    }
  }

  async #look(name: string): Promise<KnownFile | null> {
    const path = join(this.path, name);
    const state = await fileState(path);
    if (state === null) return null;
    const known = this.#known.get(name);
    if (known !== undefined && known.stamp === state.stamp) return known;
    const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
    const file = await open(path, 'r').catch(() => null);
    if (file === null) return null;
    try {
      const { bytesRead } = await file.read(bytes, 0, SEGMENT_HEADER_BYTES, 0);
      if (bytesRead < SEGMENT_HEADER_BYTES) return null;
      const { size } = await file.stat();
      const header = parseSegmentHeader(bytes, path);
      if (header.state !== 'archive') return null;
      const segment = { sequence: header.sequence, path, isComplete: size >= header.length };
      return { stamp: state.stamp, guid: header.guid, segment };
    } finally {
      await file.close();
    }
  }

  async hash(path: string): Promise<string> {
    const hash = createHash('sha1');
    await pipeline(createReadStream(path), hash);
    return hash.digest('hex');
  }

  /** Deletes the database's segments below a number. */
  async deleteBelow(sequence: number): Promise<number> {
    let deleted = 0;
    for (const segment of (await this.list()).values()) {
      if (segment.sequence >= sequence) continue;
      await rm(segment.path, { force: true });
      deleted++;
    }
    return deleted;
  }
}

/** What changes when a file is written again; null = it is not there. */
export async function fileState(path: string): Promise<FileState | null> {
  const found = await stat(path).catch(() => null);
  return found === null
    ? null
    : { stamp: `${found.ino}:${found.size}:${found.mtimeMs}`, modifiedMs: Math.floor(found.mtimeMs) };
}
