/** `millrace firebird journal`: segments as classic events on standard output, one JSON document each, without a server. */
import { readFile } from 'node:fs/promises';
import {
  JOURNAL_DOCUMENT_END,
  journalDocumentStart,
  journalEventText,
} from '../../schemas/envelope/firebirdJournal.ts';
import { ConnectError } from '../../schemas/errors.ts';
import { ClassicEvents } from './journal/classicEvents.ts';
import { parseMetadata } from './journal/metadata.ts';
import { SegmentFile } from './journal/segmentFile.ts';
import { TableHistory } from './journal/tableHistory.ts';

const WRITE_CHARACTERS = 1 << 16;

/** `write` may make the reader wait. Segments are read in the given order. */
export async function printJournal(
  paths: readonly string[],
  metadataPath: string | null,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const metadata = metadataPath === null ? null : parseMetadata(await readMetadata(metadataPath), metadataPath);
  const history = metadata === null ? null : new TableHistory(metadata);
  const events = new ClassicEvents(history);
  let isFirst = true;
  for (const path of paths) {
    const segment = await SegmentFile.open(path);
    try {
      const { header } = segment;
      if (metadata !== null && metadata.guid !== header.guid) {
        throw new ConnectError(
          'FB_METADATA_INVALID',
          `${metadataPath} is of database ${metadata.guid}, ${path} of database ${header.guid}.`,
        );
      }
      let text = journalDocumentStart(header);
      let separator = '\n  ';
      for (let block = await segment.next(); block !== null; block = await segment.next()) {
        if (isFirst) history?.startAt({ sequence: header.sequence, offset: block.position }, block.transaction);
        isFirst = false;
        events.read(block, event => {
          text += separator + journalEventText(event);
          separator = ',\n  ';
        });
        history?.passTo({ sequence: header.sequence, offset: block.nextPosition });
        if (text.length > WRITE_CHARACTERS) {
          await write(text);
          text = '';
        }
      }
      await write(text + JOURNAL_DOCUMENT_END);
    } finally {
      await segment.close();
    }
  }
}

async function readMetadata(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ConnectError('FB_METADATA_INVALID', `${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
