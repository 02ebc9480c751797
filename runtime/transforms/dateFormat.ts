/** The patterns of java.text.SimpleDateFormat, in UTC: yyyy yy MMMM MMM MM dd HH hh mm ss SSS EEE a z Z X, quoted text. */
import { settingError } from './failure.ts';

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

export interface DateFormat {
  /** Text of a time in ms since the epoch. */
  format(timeMs: number): string;
  /** ms since the epoch; undefined where the text does not fit the pattern. */
  parse(text: string): number | undefined;
}

type Part = { readonly text: string } | { readonly letter: string; readonly width: number };

export function dateFormat(pattern: string): DateFormat {
  const parts = partsOf(pattern);
  return {
    format: timeMs =>
      parts.map(part => ('text' in part ? part.text : formatPart(new Date(timeMs), part.letter, part.width))).join(''),
    parse: text => parseWith(parts, text),
  };
}

function partsOf(pattern: string): Part[] {
  const parts: Part[] = [];
  for (const m of pattern.matchAll(/'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+/g)) {
    if (m[1] !== undefined) parts.push({ text: m[1] === '' ? "'" : m[1].replaceAll("''", "'") });
    else if (m[2] !== undefined) {
      if (!'yuMdHhKkmsSEazZXD'.includes(m[2]))
        throw settingError('date format', `letter "${m[2]}" in "${pattern}" is not supported`);
      parts.push({ letter: m[2], width: m[0].length });
    } else parts.push({ text: m[0] });
  }
  return parts;
}

function formatPart(date: Date, letter: string, width: number): string {
  const pad = (value: number): string => String(value).padStart(width, '0');
  switch (letter) {
    case 'y':
    case 'u':
      return width === 2 ? String(date.getUTCFullYear() % 100).padStart(2, '0') : pad(date.getUTCFullYear());
    case 'M': {
      const name = MONTHS[date.getUTCMonth()]!;
      return width >= 4 ? name : width === 3 ? name.slice(0, 3) : pad(date.getUTCMonth() + 1);
    }
    case 'd':
      return pad(date.getUTCDate());
    case 'D':
      return pad(Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0)) / 86_400_000) + 1);
    case 'H':
      return pad(date.getUTCHours());
    case 'k':
      return pad(date.getUTCHours() || 24);
    case 'K':
      return pad(date.getUTCHours() % 12);
    case 'h':
      return pad(date.getUTCHours() % 12 || 12);
    case 'm':
      return pad(date.getUTCMinutes());
    case 's':
      return pad(date.getUTCSeconds());
    case 'S':
      return pad(date.getUTCMilliseconds());
    case 'E': {
      const name = DAYS[date.getUTCDay()]!;
      return width >= 4 ? name : name.slice(0, 3);
    }
    case 'a':
      return date.getUTCHours() < 12 ? 'AM' : 'PM';
    case 'X':
      return 'Z';
    case 'Z':
      return '+0000';
    default:
      return 'UTC';
  }
}

/** Greedy by field, except that a number field followed by another one takes its width. */
function parseWith(parts: readonly Part[], text: string): number | undefined {
  const found: Record<string, number> = {};
  let offsetMinutes = 0;
  let at = 0;
  for (const [i, part] of parts.entries()) {
    const rest = text.slice(at);
    if ('text' in part) {
      if (!rest.startsWith(part.text)) return undefined;
      at += part.text.length;
      continue;
    }
    const { letter, width } = part;
    if ((letter === 'M' && width >= 3) || letter === 'E') {
      const names = letter === 'M' ? MONTHS : DAYS;
      const index = names.findIndex(name =>
        rest.toLowerCase().startsWith((width >= 4 ? name : name.slice(0, 3)).toLowerCase()),
      );
      if (index < 0) return undefined;
      at += width >= 4 ? names[index]!.length : 3;
      if (letter === 'M') found.M = index + 1;
    } else if ('zZX'.includes(letter)) {
      const m = /^(?:Z|UTC|GMT)|^([+-])(\d\d):?(\d\d)?/.exec(rest);
      if (m === null) return undefined;
      if (m[1] !== undefined) offsetMinutes = (m[1] === '-' ? -1 : 1) * (Number(m[2]) * 60 + Number(m[3] ?? 0));
      at += m[0].length;
    } else if (letter === 'a') {
      const m = /^[AP]M/i.exec(rest);
      if (m === null) return undefined;
      found.a = m[0].toUpperCase() === 'PM' ? 12 : 0;
      at += 2;
    } else {
      const next = parts[i + 1];
      const adjacent = next !== undefined && 'letter' in next;
      const m = (adjacent ? new RegExp(`^\\d{${width}}`) : /^-?\d+/).exec(rest);
      if (m === null) return undefined;
      found[letter] = Number(m[0]);
      at += m[0].length;
    }
  }
  if (at !== text.length) return undefined;
  const year = found.y ?? found.u ?? 1970;
  const twoDigits = parts.some(p => 'letter' in p && p.letter === 'y' && p.width === 2);
  const hours =
    found.H ?? found.k ?? (found.h !== undefined ? (found.h % 12) + (found.a ?? 0) : (found.K ?? 0) + (found.a ?? 0));
  const time = Date.UTC(
    twoDigits && year < 100 ? 2000 + year : year,
    (found.M ?? 1) - 1,
    found.d ?? 1,
    hours % 24,
    found.m ?? 0,
    found.s ?? 0,
    found.S ?? 0,
  );
  return time - offsetMinutes * 60_000;
}
