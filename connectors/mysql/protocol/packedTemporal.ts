/** Dates and times in the eight-byte form in which JSON documents carry them. */

const two = (n: number | bigint): string => String(n).padStart(2, '0');

/** The fraction without trailing zeros for `digits` null. */
function fractionText(micros: number, digits: number | null): string {
  const all = String(micros).padStart(6, '0');
  const shown = digits === null ? all.replace(/0+$/, '') : all.slice(0, digits);
  return shown === '' ? '' : `.${shown}`;
}

export function packedDateTime(packed: bigint, digits: number | null): string {
  const micros = Number(packed & 0xffffffn);
  const seconds = packed >> 24n;
  const ymd = seconds >> 17n;
  const hms = Number(seconds & 0x1ffffn);
  const month = (ymd >> 5n) % 13n;
  const year = String((ymd >> 5n) / 13n).padStart(4, '0');
  const date = `${year}-${two(month)}-${two(ymd & 31n)}`;
  return `${date} ${two(hms >> 12)}:${two((hms >> 6) & 63)}:${two(hms & 63)}${fractionText(micros, digits)}`;
}

export function packedTime(packed: bigint): string {
  const size = packed < 0n ? -packed : packed;
  const micros = Number(size & 0xffffffn);
  const hms = Number(size >> 24n);
  const text = `${two((hms >> 12) & 0x3ff)}:${two((hms >> 6) & 63)}:${two(hms & 63)}`;
  return `${packed < 0n ? '-' : ''}${text}${fractionText(micros, null)}`;
}
