/**
 * JSON of the offsets topic: keys `["<connector>",{partition}]`, values `{offset}` or null. Integers are exact in 64 bits, which JSON.parse is
 * not: those beyond 2^53 become bigint. Partitions compare by content: `canonicalKey` sorts their keys.
 */
import type { SourceOffset, SourcePartition } from '../../api/index.ts';

const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Marks a text that stands for a large integer; no JSON string can begin with it, as a raw control character is not allowed there. */
const marker = '\u0000';

export function parseExactJson(text: string): unknown {
  let large = false;
  const prepared = text.replace(token, found => {
    if (found.length < 16 || found[0] === '"' || /[.eE]/.test(found) || Number.isSafeInteger(Number(found)))
      return found;
    large = true;
    return `"\\u0000${found}"`;
  });
  if (!large) return JSON.parse(text);
  return JSON.parse(prepared, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(marker) && /^-?\d+$/.test(value.slice(1))
      ? BigInt(value.slice(1))
      : value,
  );
}

/** Compact JSON in the order of keys given; `sorted` = in the order of their names. */
export function exactJson(value: unknown, sorted = false): string {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(item => exactJson(item, sorted)).join(',')}]`;
  const entries = Object.entries(value).filter(([, v]) => v !== undefined);
  if (sorted) entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${exactJson(v, sorted)}`).join(',')}}`;
}

/** Equal for partitions of equal content. */
export const canonicalPartition = (partition: SourcePartition | null): string => exactJson(partition, true);

export const canonicalKey = (connector: string, partition: SourcePartition | null): string =>
  exactJson([connector, partition], true);

export const encodeKey = (connector: string, partition: SourcePartition | null): Buffer =>
  Buffer.from(exactJson([connector, partition]));

export interface OffsetKey {
  readonly connector: string;
  readonly partition: SourcePartition;
}

/** Throws on anything that is not a key of the offsets topic. */
export function parseKey(bytes: Buffer): OffsetKey {
  const key = parseExactJson(bytes.toString('utf8'));
  if (!Array.isArray(key) || key.length !== 2 || typeof key[0] !== 'string') throw new TypeError('not an offset key');
  return { connector: key[0], partition: key[1] as SourcePartition };
}

export function parseOffset(bytes: Buffer): SourceOffset | null {
  return parseExactJson(bytes.toString('utf8')) as SourceOffset | null;
}
