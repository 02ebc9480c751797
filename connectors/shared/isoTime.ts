/** ISO 8601 texts to and from microseconds since 1970-01-01 UTC, exact, over the whole range of a 64-bit count. */

const TEXT =
  /^([+-]?\d{4,9})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?$/;
const TIME = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?$/;
export const DAY_US = 86_400_000_000n;

/** Days since 1970-01-01 of a date in the proleptic Gregorian calendar; year 0 is 1 BC. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719468;
}

export function civilFromDays(days: number): { year: number; month: number; day: number } {
  const z = days + 719468;
  const era = Math.floor(z / 146097);
  const dayOfEra = z - era * 146097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36524) - Math.floor(dayOfEra / 146096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1,
  };
}

const fractionUs = (digits: string | undefined): number => {
  if (digits === undefined) return 0;
  if (/[1-9]/.test(digits.slice(6))) throw new RangeError('it has more than microseconds');
  return Number(digits.slice(0, 6).padEnd(6, '0'));
};

/** Seconds east of UTC. */
const zoneSeconds = (zone: string | undefined): number => {
  if (zone === undefined || zone === 'Z') return 0;
  const digits = zone.slice(1).replaceAll(':', '').padEnd(6, '0');
  const seconds = Number(digits.slice(0, 2)) * 3600 + Number(digits.slice(2, 4)) * 60 + Number(digits.slice(4, 6));
  return zone[0] === '-' ? -seconds : seconds;
};

/** An ISO date or timestamp; without zone it is UTC. Throws RangeError on anything else. */
export function parseTimestampUs(text: string): bigint {
  const m = TEXT.exec(text);
  if (m === null) throw new RangeError('it is not an ISO 8601 date and time');
  const [month, day, hour, minute, second] = [m[2], m[3], m[4] ?? 0, m[5] ?? 0, m[6] ?? 0].map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60)
    throw new RangeError('it is not a date and time that exists');
  const days = daysFromCivil(Number(m[1]), month, day);
  if (civilFromDays(days).day !== day) throw new RangeError('it is not a date that exists');
  const secondsOfDay = hour * 3600 + minute * 60 + second - zoneSeconds(m[8]);
  return BigInt(days) * DAY_US + BigInt(secondsOfDay * 1_000_000 + fractionUs(m[7]));
}

/** An ISO time of day: µs of the day, and the zone in seconds east of UTC (0 without one). */
export function parseTimeUs(text: string): { timeUs: number; zoneSeconds: number } {
  const m = TIME.exec(text);
  if (m === null) throw new RangeError('it is not an ISO 8601 time');
  const timeUs = (Number(m[1]) * 3600 + Number(m[2]) * 60 + Number(m[3] ?? 0)) * 1_000_000 + fractionUs(m[4]);
  return { timeUs, zoneSeconds: zoneSeconds(m[5]) };
}

const pad = (value: number, width: number): string => String(value).padStart(width, '0');

export function formatDate(days: number): string {
  const { year, month, day } = civilFromDays(days);
  const shown = year >= 0 && year <= 9999 ? pad(year, 4) : `${year < 0 ? '-' : '+'}${pad(Math.abs(year), 4)}`;
  return `${shown}-${pad(month, 2)}-${pad(day, 2)}`;
}

/** `hh:mm:ss` and as many digits of the fraction as there are; with a sign where it is a negative span, as MySQL has them. */
export function formatTimeUs(timeUs: number): string {
  if (timeUs < 0) return `-${formatTimeUs(-timeUs)}`;
  const seconds = Math.floor(timeUs / 1_000_000);
  const fraction = pad(timeUs % 1_000_000, 6).replace(/0+$/, '');
  const time = `${pad(Math.floor(seconds / 3600), 2)}:${pad(Math.floor(seconds / 60) % 60, 2)}:${pad(seconds % 60, 2)}`;
  return fraction === '' ? time : `${time}.${fraction}`;
}

export function formatTimestampUs(timestampUs: bigint): string {
  const ofDay = ((timestampUs % DAY_US) + DAY_US) % DAY_US;
  return `${formatDate(Number((timestampUs - ofDay) / DAY_US))}T${formatTimeUs(Number(ofDay))}`;
}

/** Days that a month has in every year. */
const SURE_DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const digit = (text: string, at: number): number => text.charCodeAt(at) - 48;
const twoDigits = (text: string, at: number): number => digit(text, at) * 10 + digit(text, at + 1);

/**
 * The common form `yyyy-mm-ddThh:mm:ss[.f]Z`, without a regular expression, as a number of µs that is exact; NaN for anything else, which
 * `parseTimestampUs` may still read.
 */
export function quickTimestampUs(text: string): number {
  const end = text.length - 1;
  if (end < 19 || end > 26 || text.charCodeAt(end) !== 0x5a || text.charCodeAt(10) !== 0x54) return Number.NaN;
  let fraction = 0;
  if (end > 19) {
    if (text.charCodeAt(19) !== 0x2e) return Number.NaN;
    for (let i = 20; i < 26; i++) fraction = fraction * 10 + (i < end ? digit(text, i) : 0);
  }
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  // Beyond, microseconds are more than a number holds exactly.
  if (year < 1720 || year > 2220) return Number.NaN;
  const [month, day] = [twoDigits(text, 5), twoDigits(text, 8)];
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  for (let i = 0; i < end; i++) {
    const code = text.charCodeAt(i);
    const isDigit = code >= 48 && code <= 57;
    if (isDigit === (i === 4 || i === 7 || i === 10 || i === 13 || i === 16 || i === 19)) return Number.NaN;
  }
  if (month < 1 || month > 12 || day < 1 || day > SURE_DAYS[month]! || hour > 23 || minute > 59 || second > 59)
    return Number.NaN;
  const seconds = daysFromCivil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
  return seconds * 1_000_000 + fraction;
}
