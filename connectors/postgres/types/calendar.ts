/** Dates and times of day as PostgreSQL prints them, as numbers. Microseconds are bigint. */
import { DAY_US, daysFromCivil } from '../../shared/isoTime.ts';

const DATE = /^(\d{4,})-(\d\d)-(\d\d)/;
const TIME = /(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?/;
const ZONE = /([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?(?: BC)?$/;

/** Days since 1970-01-01 of a date in ISO DateStyle, ` BC` included. */
export function parseDate(text: string): number {
  const m = DATE.exec(text);
  if (!m) throw new RangeError(`not a date: ${text}`);
  const year = Number(m[1]);
  return daysFromCivil(text.endsWith(' BC') ? 1 - year : year, Number(m[2]), Number(m[3]));
}

/** Microseconds of the day of the first time of day in a text. */
export function parseTime(text: string): number {
  const m = TIME.exec(text);
  if (!m) throw new RangeError(`not a time: ${text}`);
  return (Number(m[1]) * 3600 + Number(m[2]) * 60 + Number(m[3] ?? 0)) * 1e6 + Number((m[4] ?? '').padEnd(6, '0'));
}

/** Microseconds since 1970 of a timestamp; a zone in the text is applied. */
export function parseTimestamp(text: string): bigint {
  const space = text.indexOf(' ');
  const micros = BigInt(parseDate(text)) * DAY_US + BigInt(parseTime(text.slice(space + 1)));
  return micros - BigInt(zoneSeconds(text.slice(space + 1))) * 1_000_000n;
}

/** Seconds east of UTC that the end of a text names; 0 without a zone. */
export function zoneSeconds(text: string): number {
  const m = ZONE.exec(text);
  if (!m) return 0;
  const seconds = Number(m[2]) * 3600 + Number(m[3] ?? 0) * 60 + Number(m[4] ?? 0);
  return m[1] === '-' ? -seconds : seconds;
}
