/**
 * column.mask.*, column.truncate.*, column.propagate.source.type and datatype.propagate.source.type: which columns of the rows are published in another
 * form, and which say where they come from. Keys stay as they are, as in Debezium: they are what events are found by.
 */
import { createHash, getHashes } from 'node:crypto';
import type { Config, ConfigError } from '../../runtime/api/index.ts';
import type { ColumnLayout } from '../../schemas/transcode/layout.ts';
import { parsePatterns } from './textFilter.ts';

const MASK = /^column\.mask\.with\.(.+)\.chars$/;
const TRUNCATE = /^column\.truncate\.to\.(.+)\.chars$/;
const HASH = /^column\.mask\.hash\.(v2\.)?(.+?)\.with\.salt\.(.+)$/;
const SOURCE_TYPE = /^(column|datatype)\.propagate\.source\.type$/;
const ANY = /^column\.(mask|truncate)\./;

export const isShapingKey = (key: string): boolean => ANY.test(key) || SOURCE_TYPE.test(key);

/** A column as its connector reads it. */
export interface ShapedColumn {
  readonly read: (bytes: Buffer, start: number, end: number) => unknown;
  /** Stands for a value that the row does not carry. */
  readonly unchanged?: unknown;
  /** The declared length of its type in characters, 0 = none. */
  readonly length: number;
}

export interface ColumnShape {
  readonly kind: 'mask' | 'hash' | 'truncate';
  /** Of the field's schema. */
  readonly parameters: Readonly<Record<string, string>>;
  layout(column: ShapedColumn): Omit<ColumnLayout, 'field'>;
}

export interface ColumnShaping {
  /** For a column by its full name, with schema or database and table; null = as it is. */
  shape(column: string): ColumnShape | null;
  /** Whether its schema tells the type it has in the database; `type` is the name of that type. */
  tellsSourceType(column: string, table: string, type: string): boolean;
}

/** From the keys of a config; malformed ones are in `errors`. */
export function parseShaping(config: Config): { shaping: ColumnShaping; errors: readonly ConfigError[] } {
  const errors: ConfigError[] = [];
  const rules: { readonly patterns: readonly RegExp[]; readonly shape: ColumnShape }[] = [];
  const typed = { column: [] as RegExp[], datatype: [] as RegExp[] };
  for (const [key, value] of Object.entries(config)) {
    if (!isShapingKey(key)) continue;
    try {
      const patterns = parsePatterns(value);
      const source = SOURCE_TYPE.exec(key);
      if (source !== null) typed[source[1] as keyof typeof typed].push(...patterns);
      else rules.push({ patterns, shape: shapeOf(key) });
    } catch (error) {
      const why = (error as Error).message;
      errors.push({ key, message: `Invalid value ${value} for configuration ${key}: ${why}` });
    }
  }
  const matches = (patterns: readonly RegExp[], name: string): boolean => patterns.some(p => p.test(name));
  const shaping: ColumnShaping = {
    shape: column => rules.find(({ patterns }) => matches(patterns, column))?.shape ?? null,
    tellsSourceType: (column, table, type) =>
      matches(typed.column, column) || matches(typed.datatype, `${table}.${type}`),
  };
  return { shaping, errors };
}

function shapeOf(key: string): ColumnShape {
  const mask = MASK.exec(key);
  if (mask !== null) return maskShape('*'.repeat(lengthIn(mask[1]!)));
  const truncate = TRUNCATE.exec(key);
  if (truncate !== null) return truncateShape(lengthIn(truncate[1]!));
  const hash = HASH.exec(key);
  if (hash !== null) return hashShape(algorithmOf(hash[2]!), hash[3]!, hash[1] !== undefined);
  throw new Error(
    'the options are column.mask.with.N.chars, column.mask.hash.ALGORITHM.with.salt.SALT, column.mask.hash.v2.ALGORITHM.with.salt.SALT and column.truncate.to.N.chars',
  );
}

function lengthIn(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`"${text}" in its name is not a number of characters`);
}

/** Java's names of digests as Node has them: SHA-256 is sha256, SHA3-256 sha3-256. */
function algorithmOf(name: string): string {
  const lower = name.toLowerCase();
  const known = [lower, lower.replace(/-/g, ''), lower.replace('/', '-')].find(n => getHashes().includes(n));
  if (known !== undefined) return known;
  throw new Error(`there is no hash algorithm "${name}"; use SHA-256 or another one of Java's names`);
}

/** What is null stays unseen too. */
function maskShape(mask: string): ColumnShape {
  const column = { wire: 'function', decode: () => mask } as const;
  return {
    kind: 'mask',
    parameters: { masked: 'true' },
    layout: () => ({ column, whenNull: mask, unchanged: mask }),
  };
}

function hashShape(algorithm: string, salt: string, isPlain: boolean): ColumnShape {
  return {
    kind: 'hash',
    parameters: { masked: 'true' },
    layout: column =>
      shapedLayout(column, text => {
        const bytes = isPlain ? Buffer.from(text) : javaSerialized(text);
        const digest = createHash(algorithm).update(salt).update(bytes).digest('hex');
        return column.length > 0 ? digest.slice(0, column.length) : digest;
      }),
  };
}

function truncateShape(length: number): ColumnShape {
  return {
    kind: 'truncate',
    parameters: { truncateLength: String(length) },
    layout: column => shapedLayout(column, text => truncated(text, length)),
  };
}

/** Java's characters are UTF-16 units; half of a pair is none that could be published. */
function truncated(text: string, length: number): string {
  const isInPair = length > 0 && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(length - 1, length + 1));
  return text.slice(0, isInPair ? length - 1 : length);
}

/** The placeholder of an unchanged value stays whole: consumers know it by its text. */
function shapedLayout(
  { read, unchanged }: ShapedColumn,
  change: (text: string) => string,
): Omit<ColumnLayout, 'field'> {
  const decode = (bytes: Buffer, start: number, end: number): unknown => {
    const value = read(bytes, start, end);
    return typeof value === 'string' ? change(value) : value;
  };
  return { column: { wire: 'function', decode }, unchanged };
}

/** What ObjectOutputStream.writeObject makes of a string: Debezium's first way of hashing is of these bytes. */
function javaSerialized(text: string): Buffer {
  const content = modifiedUtf8(text);
  const head = Buffer.alloc(content.length > 0xffff ? 13 : 7);
  head.writeUInt32BE(0xaced0005);
  if (content.length > 0xffff) {
    head[4] = 0x7c;
    head.writeBigUInt64BE(BigInt(content.length), 5);
  } else {
    head[4] = 0x74;
    head.writeUInt16BE(content.length, 5);
  }
  return Buffer.concat([head, content]);
}

/** UTF-8 with each half of a surrogate pair by itself, in three bytes, and two bytes for NUL. */
function modifiedUtf8(text: string): Buffer {
  if (!/[\0\ud800-\udfff]/.test(text)) return Buffer.from(text);
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c > 0 && c < 0x80) out.push(c);
    else if (c < 0x800) out.push(0xc0 | (c >> 6), 0x80 | (c & 63));
    else out.push(0xe0 | (c >> 12), 0x80 | ((c >> 6) & 63), 0x80 | (c & 63));
  }
  return Buffer.from(out);
}
