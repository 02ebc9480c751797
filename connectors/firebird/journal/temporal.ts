/** Firebird's dates and times: days since 1858-11-17, ten-thousandths of a second, and zones by number. */
import { formatDate } from '../../shared/isoTime.ts';

/** Of 1858-11-17 before 1970-01-01. */
export const EPOCH_DAYS = 40587;
export const TICKS_PER_DAY = 864_000_000;
const MAX_OFFSET_ZONE = 2878;
const ZONE_BIAS = 1439;

/** Names of regions by number (RDB$TIME_ZONES). */
export type TimeZones = ReadonlyMap<number, string>;

const two = (n: number): string => String(n).padStart(2, '0');

export function dateText(days: number): string {
  return formatDate(days - EPOCH_DAYS);
}

export function timeText(ticks: number): string {
  const seconds = Math.floor(ticks / 10_000);
  const hours = Math.floor(seconds / 3600);
  const fraction = String(ticks % 10_000).padStart(4, '0');
  return `${two(hours)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}.${fraction}`;
}

/** `+03:00` or a region's name; a region that is not known by its number. */
export function zoneText(zone: number, regions: TimeZones): string {
  if (zone > MAX_OFFSET_ZONE) return regions.get(zone) ?? String(zone);
  const minutes = zone - ZONE_BIAS;
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

export const isTime = (ticks: number): boolean => ticks < TICKS_PER_DAY;
