/**
 * JSON of the offsets topic: keys `["<connector>",{partition}]`, values `{offset}` or null. Integers are exact: those beyond 2^53 are bigint. Partitions compare by content: `canonicalKey` sorts their keys.
 */
import { parseJson, stringifyJson } from '../../../schemas/json/exactJson.ts';
import type { SourceOffset, SourcePartition } from '../../api/index.ts';

/** Compact JSON with the names of objects in order. */
function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return stringifyJson(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${sortedJson(item)}`).join(',')}}`;
}

/** Equal for partitions of equal content. */
export const canonicalPartition = (partition: SourcePartition | null): string => sortedJson(partition);

export const canonicalKey = (connector: string, partition: SourcePartition | null): string =>
  sortedJson([connector, partition]);

export const encodeKey = (connector: string, partition: SourcePartition | null): Buffer =>
  Buffer.from(stringifyJson([connector, partition]));

export interface OffsetKey {
  readonly connector: string;
  readonly partition: SourcePartition;
}

/** Throws on anything that is not a key of the offsets topic. */
export function parseKey(bytes: Buffer): OffsetKey {
  const key = parseJson(bytes.toString('utf8'));
  if (!Array.isArray(key) || key.length !== 2 || typeof key[0] !== 'string') throw new TypeError('not an offset key');
  return { connector: key[0], partition: key[1] as SourcePartition };
}

export const encodeOffset = (offset: SourceOffset): Buffer => Buffer.from(stringifyJson(offset));

export function parseOffset(bytes: Buffer): SourceOffset | null {
  return parseJson(bytes.toString('utf8')) as SourceOffset | null;
}
