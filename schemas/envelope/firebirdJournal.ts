/**
 * The classic event stream of a Firebird replication journal as JSON: what happened, in journal order, one document per segment. Text is written
 * straight from events; integers keep all their digits.
 */
export type JournalValue = string | number | bigint | boolean | null;
/** Columns in table order. */
export type JournalRecord = readonly (readonly [name: string, value: JournalValue])[];

export interface JournalHeader {
  readonly version: number;
  readonly guid: string;
  readonly sequence: number;
  readonly state: string;
}

export type JournalEvent =
  | {
      readonly event:
        | 'START TRANSACTION'
        | 'PREPARE TRANSACTION'
        | 'COMMIT'
        | 'ROLLBACK'
        | 'CLEANUP'
        | 'SAVEPOINT'
        | 'RELEASE SAVEPOINT'
        | 'ROLLBACK SAVEPOINT';
      readonly tnx: number;
    }
  | { readonly event: 'SET SEQUENCE'; readonly sequence: string; readonly value: bigint }
  | { readonly event: 'EXECUTE SQL'; readonly tnx: number; readonly sql: string; readonly user: string }
  /** One for each chunk, one without data for an empty blob. */
  | { readonly event: 'STORE BLOB'; readonly tnx: number; readonly blobId: string; readonly data: string }
  /** Without metadata `record` is null and `data` has the record's bytes in hexadecimal. */
  | {
      readonly event: 'INSERT' | 'DELETE';
      readonly tnx: number;
      readonly table: string;
      readonly record: JournalRecord | null;
      readonly data?: string;
    }
  | {
      readonly event: 'UPDATE';
      readonly tnx: number;
      readonly table: string;
      readonly changedFields: readonly string[];
      readonly oldRecord: JournalRecord | null;
      readonly record: JournalRecord | null;
      readonly oldData?: string;
      readonly data?: string;
    };

const text = (value: JournalValue): string =>
  typeof value === 'bigint' ? value.toString() : typeof value === 'number' ? numberText(value) : JSON.stringify(value);

const numberText = (value: number): string => (Object.is(value, -0) ? '-0.0' : String(value));

const recordText = (record: JournalRecord | null): string =>
  record === null ? 'null' : `{${record.map(([name, value]) => `${JSON.stringify(name)}: ${text(value)}`).join(', ')}}`;

export function journalEventText(event: JournalEvent): string {
  const members = [`"event": "${event.event}"`];
  const add = (name: string, value: string): void => {
    members.push(`"${name}": ${value}`);
  };
  switch (event.event) {
    case 'SET SEQUENCE':
      add('sequence', JSON.stringify(event.sequence));
      add('value', event.value.toString());
      return `{${members.join(', ')}}`;
    case 'EXECUTE SQL':
      add('sql', JSON.stringify(event.sql));
      add('user', JSON.stringify(event.user));
      break;
    case 'STORE BLOB':
      add('blobId', JSON.stringify(event.blobId));
      add('data', `"${event.data}"`);
      break;
    case 'INSERT':
    case 'DELETE':
      add('table', JSON.stringify(event.table));
      add('record', recordText(event.record));
      if (event.data !== undefined) add('data', `"${event.data}"`);
      break;
    case 'UPDATE':
      add('table', JSON.stringify(event.table));
      add('changedFields', JSON.stringify(event.changedFields));
      add('oldRecord', recordText(event.oldRecord));
      add('record', recordText(event.record));
      if (event.oldData !== undefined) add('oldData', `"${event.oldData}"`);
      if (event.data !== undefined) add('data', `"${event.data}"`);
      break;
    default:
  }
  add('tnx', String(event.tnx));
  return `{${members.join(', ')}}`;
}

/** The members of a document around its events, so that a segment need not be in memory as a whole. */
export const journalDocumentStart = (header: JournalHeader): string =>
  `{\n "header": {"version": ${header.version}, "guid": ${JSON.stringify(header.guid)}, "sequence": ${header.sequence}, "state": ${JSON.stringify(header.state)}},\n "events": [`;
/** Header of the record that has the first document of a segment: all of the segment follows, whatever came of it before. */
export const JOURNAL_SEGMENT_BEGINS = 'millrace.journal.segment.begins';
export const JOURNAL_DOCUMENT_END = '\n ]\n}\n';
