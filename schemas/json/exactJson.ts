/**
 * JSON whose integers keep all their digits: an integer beyond 2^53 is parsed to a bigint and a bigint is written as a number.
 * Everything else is as JSON.parse and JSON.stringify have it.
 */
import { Decimal } from '../data/index.ts';
import { ConnectError } from '../errors.ts';

/** A Decimal stands for a long fraction, and only where it was asked for. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Decimal
  | JsonValue[]
  | { [key: string]: JsonValue };

export const isJsonObject = (json: JsonValue | undefined): json is { [key: string]: JsonValue } =>
  typeof json === 'object' && json !== null && !Array.isArray(json) && !(json instanceof Decimal);

const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * Parses a JSON text. With `exactFractions`, fractions of 16 digits and more become Decimal, else the nearest number.
 * Throws ConnectError CONVERTER_FAILED naming the place.
 */
export function parseJson(text: string, exactFractions = false): JsonValue {
  if (exactFractions) return new Parser(text, true).whole();
  let json: JsonValue;
  try {
    json = JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new ConnectError('CONVERTER_FAILED', `not valid JSON: ${(error as Error).message}`, { cause: error });
  }
  const long = longIntegers(text);
  if (long === undefined) return json;
  const exact = long === null ? null : withLongIntegers(json, long, 0);
  return exact ?? new Parser(text, false).whole();
}

const maybeExponent = /\d[eE]\+?\d/;
const exponent = /(?:^|[:,[\s])-?\d+(?:\.\d+)?[eE]/;

/**
 * Integers of a valid text that JSON.parse rounds, by what it makes of them; what only looks so, inside a string, may be among them.
 * undefined where there are none; null where a number alone does not tell which integer it was.
 */
function longIntegers(text: string): Map<number, bigint> | null | undefined {
  let known: Map<number, bigint> | undefined;
  // Of sixteen digits in a row, one is where every sixteenth character is looked at.
  for (let at = 15; at < text.length; at += 16) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    while (isDigit(text.charCodeAt(start - 1))) start--;
    while (isDigit(text.charCodeAt(at + 1))) at++;
    if (at - start < 15) continue;
    const next = text.charCodeAt(at + 1);
    if (next === 0x2e || next === 0x65 || next === 0x45) return null;
    const before = text.charCodeAt(start - 1);
    if (before === 0x2e) continue; // digits of a fraction
    const digits = text.slice(before === 0x2d ? start - 1 : start, at + 1);
    const rounded = Number(digits);
    if (Number.isSafeInteger(rounded)) continue;
    const value = BigInt(digits);
    known ??= new Map();
    const other = known.get(rounded);
    if (other !== undefined && other !== value) return null;
    known.set(rounded, value);
  }
  return known !== undefined && maybeExponent.test(text) && exponent.test(text) ? null : known;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** The same value, changed in place, its long integers exact; null where it is too deep for this. */
function withLongIntegers(json: JsonValue, long: ReadonlyMap<number, bigint>, depth: number): JsonValue | null {
  if (typeof json === 'number') return exactOf(json, long);
  if (typeof json !== 'object' || json === null) return json;
  if (depth > 500) return null;
  if (Array.isArray(json)) {
    for (let i = 0; i < json.length; i++) {
      const item = json[i];
      if (typeof item === 'number') json[i] = exactOf(item, long);
      else if (typeof item === 'object' && item !== null && withLongIntegers(item, long, depth + 1) === null)
        return null;
    }
    return json;
  }
  const members = json as { [key: string]: JsonValue };
  for (const key in members) {
    const member = members[key];
    if (typeof member === 'number') {
      if (!(member <= Number.MAX_SAFE_INTEGER && member >= Number.MIN_SAFE_INTEGER))
        setMember(members, key, exactOf(member, long));
    } else if (typeof member === 'object' && member !== null && withLongIntegers(member, long, depth + 1) === null)
      return null;
  }
  return json;
}

const exactOf = (number: number, long: ReadonlyMap<number, bigint>): number | bigint => long.get(number) ?? number;

/** As JSON.parse does: an own member, never the prototype. */
function setMember(members: { [key: string]: JsonValue }, key: string, value: JsonValue): void {
  if (key === '__proto__')
    Object.defineProperty(members, key, { value, enumerable: true, configurable: true, writable: true });
  else members[key] = value;
}

/** The text of a JSON value; bigints become numbers, and undefined members are left out. */
export function stringifyJson(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (value === undefined || value === null) return 'null';
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(stringifyJson).join(',')}]`;
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${stringifyJson(member)}`);
  }
  return `{${members.join(',')}}`;
}

/** A recursive descent parser, for texts whose numbers JSON.parse alone cannot tell apart. Strings with escapes are left to JSON.parse. */
class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  readonly #exactFractions: boolean;

  constructor(text: string, exactFractions: boolean) {
    this.#text = text;
    this.#exactFractions = exactFractions;
  }

  whole(): JsonValue {
    const value = this.#value();
    this.#blanks();
    if (this.#at < this.#text.length) this.#fail('the end');
    return value;
  }

  #fail(expected: string): never {
    const found = this.#at < this.#text.length ? JSON.stringify(this.#text[this.#at]) : 'the end of the text';
    throw new ConnectError('CONVERTER_FAILED', `not valid JSON: expected ${expected}, found ${found} at ${this.#at}`);
  }

  #blanks(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.#at++;
    }
  }

  #value(): JsonValue {
    switch (this.#blanks()) {
      case 0x7b:
        return this.#object();
      case 0x5b:
        return this.#array();
      case 0x22:
        return this.#string();
      case 0x74:
        return this.#word('true', true);
      case 0x66:
        return this.#word('false', false);
      case 0x6e:
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #word<T extends boolean | null>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail('a value');
    this.#at += word.length;
    return value;
  }

  #number(): number | bigint | Decimal {
    numberPattern.lastIndex = this.#at;
    const match = numberPattern.exec(this.#text);
    if (!match) this.#fail('a value');
    const digits = match[0];
    this.#at += digits.length;
    const value = Number(digits);
    if (digits.length < 16) return value;
    if (/^-?\d+$/.test(digits)) return Number.isSafeInteger(value) ? value : BigInt(digits);
    return this.#exactFractions ? Decimal.parse(digits) : value;
  }

  #string(): string {
    const start = this.#at;
    let end = start + 1;
    for (;;) {
      const code = this.#text.charCodeAt(end);
      if (code === 0x22) break;
      if (code === 0x5c) return this.#escaped(start);
      if (!(code >= 0x20)) {
        this.#at = end;
        this.#fail('the end of a string');
      }
      end++;
    }
    this.#at = end + 1;
    return this.#text.slice(start + 1, end);
  }

  #escaped(start: number): string {
    let end = start + 1;
    while (end < this.#text.length && this.#text.charCodeAt(end) !== 0x22) {
      end += this.#text.charCodeAt(end) === 0x5c ? 2 : 1;
    }
    try {
      const value = JSON.parse(this.#text.slice(start, end + 1)) as string;
      this.#at = end + 1;
      return value;
    } catch {
      this.#fail('a string');
    }
  }

  #enter(): void {
    this.#at++;
    if (++this.#depth > 1000) this.#fail('at most 1000 levels');
  }

  #array(): JsonValue[] {
    this.#enter();
    const items: JsonValue[] = [];
    if (this.#blanks() !== 0x5d) {
      for (;;) {
        items.push(this.#value());
        const code = this.#blanks();
        if (code === 0x5d) break;
        if (code !== 0x2c) this.#fail('"," or "]"');
        this.#at++;
      }
    }
    this.#at++;
    this.#depth--;
    return items;
  }

  #object(): { [key: string]: JsonValue } {
    this.#enter();
    const members: { [key: string]: JsonValue } = {};
    if (this.#blanks() !== 0x7d) {
      for (;;) {
        if (this.#blanks() !== 0x22) this.#fail('a member name');
        const key = this.#string();
        if (this.#blanks() !== 0x3a) this.#fail('":"');
        this.#at++;
        const value = this.#value();
        setMember(members, key, value);
        const code = this.#blanks();
        if (code === 0x7d) break;
        if (code !== 0x2c) this.#fail('"," or "}"');
        this.#at++;
      }
    }
    this.#at++;
    this.#depth--;
    return members;
  }
}
