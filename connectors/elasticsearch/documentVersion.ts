/**
 * Versions of documents, by which the target keeps a newer document where an older record is delivered again: from the Kafka offset, a header, or the
 * position of a change in the log of its database.
 */
import { ConnectError } from '../../runtime/api/index.ts';
import { Change, type ChangeRun } from '../shared/changeRun.ts';
import type { SinkSettings } from './config.ts';

/** What is read of a change event's source block. */
const SOURCE_FIELDS = ['lsn', 'sequence', 'file', 'pos'] as const;

export interface DocumentVersions {
  readonly sourceFields: readonly string[];
  /** As requests name it; null = no versions. */
  readonly type: 'external' | 'external_gte' | null;
  /** Of record `i`; null = the record has done its work already. Throws SINK_VERSION_MISSING. */
  read(run: ChangeRun, i: number): number | bigint | null;
}

export function documentVersions(settings: SinkSettings): DocumentVersions {
  switch (settings.version) {
    case 'none':
      return { sourceFields: [], type: null, read: () => null };
    case 'offset':
      return { sourceFields: [], type: 'external', read: ({ batch, from }, i) => batch.offset(from + i) };
    case 'header':
      return {
        sourceFields: [],
        type: 'external',
        read: (run, i) => headerVersion(run, i, settings.versionHeader),
      };
    case 'source':
      return new SourceVersions();
  }
}

function headerVersion({ batch, from }: ChangeRun, i: number, name: string): bigint {
  const header = batch.record(from + i).headers.findLast(h => h.name === name);
  const text = header?.value === null || header?.value === undefined ? '' : String(header.value);
  if (!/^\d{1,18}$/.test(text))
    throw new ConnectError(
      'SINK_VERSION_MISSING',
      `${header === undefined ? 'the record has no header' : 'the record has no whole number in its header'} "${name}", which external.version.header names; correct the producer, or remove external.version.header`,
    );
  return BigInt(text);
}

/** Several changes may have one position, of rows of one event: the later one wins. */
class SourceVersions implements DocumentVersions {
  readonly sourceFields = SOURCE_FIELDS;
  readonly type = 'external_gte';
  /** By topic and partition, of the last event: a tombstone has no position of its own and goes with the event before it. */
  readonly #last = new Map<string, bigint>();

  read(run: ChangeRun, i: number): bigint | null {
    const place = `${run.batch.partition}:${run.batch.originalTopic}`;
    // Where that event was not read since the start, it was the one of the deletion, and has been applied.
    if (run.changes[i] === Change.tombstone) return this.#last.get(place) ?? null;
    const version = run.isEnvelope ? positionOf(run.sources.map(column => column[i])) : null;
    if (version === null)
      throw new ConnectError(
        'SINK_VERSION_MISSING',
        'the record is no change event of PostgreSQL, MySQL or MariaDB with a position, and document.version=source takes its version from there; set document.version=offset or none',
      );
    this.#last.set(place, version);
    return version;
  }
}

/** PostgreSQL's LSN; file and position of a MySQL log as one number. Events between those of the log have theirs in `sequence`. */
function positionOf([lsn, sequence, file, pos]: readonly unknown[]): bigint | null {
  if (isInteger(lsn)) return BigInt(lsn);
  if (typeof sequence === 'string') {
    const last = /"(\d+)"\]$/.exec(sequence)?.[1];
    if (last !== undefined) return BigInt(last);
  }
  const number = typeof file === 'string' ? /\.(\d+)$/.exec(file)?.[1] : undefined;
  return number !== undefined && isInteger(pos) ? (BigInt(number) << 32n) + BigInt(pos) : null;
}

const isInteger = (value: unknown): value is number | bigint =>
  typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
