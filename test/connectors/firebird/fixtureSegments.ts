/** The recorded segments, and their blocks from memory. */
import { readdirSync, readFileSync } from 'node:fs';
import { BLOCK_HEADER_BYTES, parseBlockHeader } from '../../../connectors/firebird/journal/blockHeader.ts';
import { type JournalMetadata, parseMetadata } from '../../../connectors/firebird/journal/metadata.ts';
import type { JournalBlock } from '../../../connectors/firebird/journal/segmentFile.ts';
import { parseSegmentHeader, SEGMENT_HEADER_BYTES } from '../../../connectors/firebird/journal/segmentHeader.ts';

export const FIXTURE_VERSIONS = ['v4', 'v5'] as const;
export type FixtureVersion = (typeof FIXTURE_VERSIONS)[number];

export const fixtureFolder = (version: FixtureVersion): string => `test/fixtures/firebird/${version}`;

export function fixtureSegments(version: FixtureVersion): string[] {
  const folder = fixtureFolder(version);
  return readdirSync(folder)
    .filter(name => /\.journal-\d+$/.test(name))
    .sort()
    .map(name => `${folder}/${name}`);
}

export function fixtureMetadata(version: FixtureVersion): JournalMetadata {
  const path = `${fixtureFolder(version)}/metadata.json`;
  return parseMetadata(readFileSync(path, 'utf8'), path);
}

export function* blocksOf(bytes: Buffer, file: string): Generator<JournalBlock> {
  const { length } = parseSegmentHeader(bytes, file);
  let position = SEGMENT_HEADER_BYTES;
  while (position < length) {
    const header = parseBlockHeader(bytes, position, position, length, file);
    const start = position + BLOCK_HEADER_BYTES;
    const end = start + header.length;
    if (end > bytes.length) throw new RangeError('the caller must compare lengths');
    yield { ...header, position, nextPosition: end, bytes, start, end, where: `${file}, block at byte ${position}` };
    position = end;
  }
}
