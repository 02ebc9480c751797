/** event.format=journal: every event of the journal in its order, as documents, instead of changes at their commit. */
import type { SourceBatch } from '../../../runtime/api/index.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';
import { ClassicEvents } from '../journal/classicEvents.ts';
import type { JournalBlock } from '../journal/segmentFile.ts';
import type { SegmentHeader } from '../journal/segmentHeader.ts';
import type { TableHistory } from '../journal/tableHistory.ts';
import { EventDocuments } from './eventDocuments.ts';

export class JournalEvents {
  readonly #events: ClassicEvents;
  readonly #documents: EventDocuments;
  /** Of the segment whose events are being collected; 0 = none. */
  #sequence = 0;

  constructor(settings: SourceSettings, tables: TableHistory) {
    this.#events = new ClassicEvents(tables, settings.dumpsBlobs, settings.hasTableFilter ? settings.tables : null);
    this.#documents = new EventDocuments(settings);
  }

  /** Characters collected. */
  get length(): number {
    return this.#documents.length;
  }

  /** A block in front of the stored position: a blob may go on behind it. */
  rewind(block: JournalBlock): void {
    this.#events.read(block, () => {});
  }

  /** `isWhole`: no event of the segment was left out. A COMMIT that did not come about is the ROLLBACK that it became. */
  read(block: JournalBlock, header: SegmentHeader, isWhole: boolean, isRolledBack: boolean): void {
    const { sequence } = header;
    if (sequence !== this.#sequence) this.#documents.beginSegment(isWhole);
    this.#sequence = sequence;
    this.#events.read(block, event => {
      const isUndone = isRolledBack && event.event === 'COMMIT';
      this.#documents.add(header, isUndone ? { event: 'ROLLBACK', tnx: event.tnx } : event);
    });
  }

  /** A segment was written again. */
  beginAgain(): void {
    this.#sequence = 0;
  }

  take(common: BatchCommon, timestampMs: number): SourceBatch[] {
    return this.#documents.take(common, timestampMs);
  }
}
