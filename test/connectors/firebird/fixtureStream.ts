/** The change stream over a folder of recorded segments. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseSettings } from '../../../connectors/firebird/config.ts';
import type { JournalPosition } from '../../../connectors/firebird/journal/metadata.ts';
import { JournalStream, type StreamOptions } from '../../../connectors/firebird/source/journalStream.ts';
import { parseOffset, type StreamPosition } from '../../../connectors/firebird/source/position.ts';
import { SchemaHistory } from '../../../connectors/firebird/source/schemaHistory.ts';
import { SegmentDirectory } from '../../../connectors/firebird/source/segmentDirectory.ts';
import type { ConnectRecord, SourceBatch, SourceOffset } from '../../../runtime/api/index.ts';
import { type FixtureVersion, fixtureMetadata, fixtureSegments } from './fixtureSegments.ts';
import { type Change, changeOf } from './sourceHarness.ts';

const SIGNAL = new AbortController().signal;
/** Polls that give nothing, after which there is nothing. */
const LAST_POLLS = 100;

/** Ends a poll after so many blocks. */
function signalAfter(steps: number): AbortSignal {
  let left = steps;
  return {
    get aborted() {
      return left-- <= 0;
    },
  } as AbortSignal;
}

export class FixtureStream {
  readonly folder: string;
  readonly version: FixtureVersion;
  readonly changes: Change[] = [];
  /** Those of event.format=journal. */
  readonly records: ConnectRecord[] = [];
  readonly recordOffsets: { offset: SourceOffset; records: number }[] = [];
  /** Where the recorded history became so. */
  readonly positions = new Map<number, JournalPosition>();
  readonly offsets: { offset: SourceOffset; changes: number }[] = [];
  /** About which a poll ends; to be set before `open`. */
  pollBytes = 4 << 20;
  /** What the database says of commits; to be set before `open`. */
  commitState: StreamOptions['commitState'] = null;
  rolledBack = 0;
  stream!: JournalStream;

  constructor(version: FixtureVersion, folder = mkdtempSync(join(tmpdir(), 'journal-'))) {
    this.version = version;
    this.folder = folder;
  }

  /** Whether segments up to that one are still to be read. */
  isBehind(segments: number): boolean {
    return Number(this.offsets.at(-1)?.offset.segment ?? 0) <= segments;
  }

  add(from = 0, to = 8): void {
    for (const path of fixtureSegments(this.version).slice(from, to))
      cpSync(path, join(this.folder, basename(path)), { preserveTimestamps: true });
  }

  /** With `positions` the history goes by them, else by transactions. */
  async open(
    stored: SourceOffset | null,
    options: Record<string, string> = {},
    positions: ReadonlyMap<number, JournalPosition> | null = null,
  ): Promise<void> {
    const { settings } = parseSettings({
      'database.hostname': 'none',
      'database.user': 'u',
      'database.dbname': 'd',
      'topic.prefix': 'p',
      'journal.source.dir': this.folder,
      'error.timeout.ms': '0',
      ...options,
    });
    const metadata = fixtureMetadata(this.version);
    const file = join(this.folder, 'history.json');
    const entries = metadata.history.map(entry => ({ ...entry, position: positions?.get(entry.tnx) }));
    writeFileSync(file, JSON.stringify({ ...metadata, history: entries }));
    const history = (await SchemaHistory.load(file))!;
    const first: StreamPosition = {
      guid: metadata.guid,
      sequence: 1,
      offset: 48,
      open: new Map(),
      pending: [],
      snapshot: null,
    };
    const parsed = parseOffset(stored);
    this.stream = new JournalStream(
      {
        settings: settings!,
        common: { sourcePartition: { server: 'p' }, headers: [] },
        logger: { error() {}, warn() {}, info() {}, debug() {} },
        directory: new SegmentDirectory(this.folder, metadata.guid),
        history,
        pollBytes: this.pollBytes,
        learnFormats: async () => {},
        learn: async (transaction, position, tables) => {
          this.positions.set(transaction.number, position);
          tables.commit(transaction.number);
        },
        commitState: this.commitState,
        onRolledBack: () => {
          this.rolledBack++;
        },
      },
      parsed.state === 'streaming' ? parsed.position : first,
    );
  }

  /** All there is, a few blocks in each poll. */
  async drainInSteps(steps: number): Promise<void> {
    for (let empty = 0; empty < LAST_POLLS; empty++) {
      const batches = await this.stream.poll(signalAfter(steps));
      if (batches.length > 0) empty = 0;
      this.take(batches);
    }
  }

  async drain(): Promise<void> {
    for (;;) {
      const batches = await this.stream.poll(SIGNAL);
      if (batches.length === 0) return;
      this.take(batches);
    }
  }

  take(batches: readonly SourceBatch[]): void {
    for (const batch of batches) {
      for (let i = 0; i < batch.count; i++) {
        const record = batch.record(i);
        if (typeof record.value === 'string') this.records.push(record);
        else this.changes.push(changeOf(record));
      }
      if (batch.sourceOffset === null) continue;
      this.offsets.push({ offset: batch.sourceOffset, changes: this.changes.length });
      this.recordOffsets.push({ offset: batch.sourceOffset, records: this.records.length });
    }
  }

  async close(): Promise<void> {
    await this.stream.close();
    rmSync(this.folder, { recursive: true });
  }
}
