/** The classic event stream as records of one topic: JSON documents with the header of their segment and some of its events, in one partition, in order. */
import { plainBatch, type SourceBatch } from '../../../runtime/api/index.ts';
import { BOOLEAN, STRING } from '../../../schemas/data/index.ts';
import {
  JOURNAL_DOCUMENT_END,
  JOURNAL_SEGMENT_BEGINS,
  type JournalEvent,
  type JournalHeader,
  journalDocumentStart,
  journalEventText,
} from '../../../schemas/envelope/firebirdJournal.ts';
import { topicName } from '../../shared/eventNames.ts';
import type { BatchCommon } from '../../shared/tableSourceBatch.ts';
import type { SourceSettings } from '../config.ts';

/** Well below the largest record that a broker takes by default. */
const DOCUMENT_CHARACTERS = 16_000;

export class EventDocuments {
  readonly #settings: SourceSettings;
  readonly #topic: string;
  #documents: { readonly text: string; readonly beginsSegment: boolean }[] = [];
  #text = '';
  #beginsSegment = false;
  #isOpen = false;
  /** Characters collected. */
  length = 0;

  constructor(settings: SourceSettings) {
    this.#settings = settings;
    this.#topic = topicName(settings.journalTopic);
  }

  add(header: JournalHeader, event: JournalEvent): void {
    if (!this.#isIncluded(event)) return;
    const text = journalEventText(event);
    this.#text += this.#isOpen ? `,\n  ${text}` : `${journalDocumentStart(header)}\n  ${text}`;
    this.#isOpen = true;
    this.length += text.length;
    if (this.#text.length >= DOCUMENT_CHARACTERS) this.close();
  }

  #isIncluded(event: JournalEvent): boolean {
    switch (event.event) {
      case 'EXECUTE SQL':
        return this.#settings.includesDdl;
      case 'SET SEQUENCE':
        return this.#settings.includesSequences;
      default:
        return true;
    }
  }

  /** The events that follow are of another segment; `isWhole` = they are all it has. */
  beginSegment(isWhole: boolean): void {
    this.close();
    this.#beginsSegment = isWhole;
  }

  /** Ends the document at hand. */
  close(): void {
    if (this.#isOpen) {
      this.#documents.push({ text: this.#text + JOURNAL_DOCUMENT_END, beginsSegment: this.#beginsSegment });
      this.#beginsSegment = false;
    }
    this.#text = '';
    this.#isOpen = false;
  }

  take(common: BatchCommon, timestampMs: number): SourceBatch[] {
    this.close();
    const records = this.#documents.map(({ text, beginsSegment }) => ({
      topic: this.#topic,
      partition: 0,
      keySchema: null,
      key: null,
      valueSchema: STRING,
      value: text,
      timestamp: null,
      headers: beginsSegment ? [{ name: JOURNAL_SEGMENT_BEGINS, schema: BOOLEAN, value: true }] : [],
    }));
    this.#documents = [];
    this.length = 0;
    if (records.length === 0) return [];
    const { sourcePartition } = common;
    return [plainBatch({ records, sourcePartition, sourceOffset: null, sourceTimestampMs: timestampMs })];
  }
}
