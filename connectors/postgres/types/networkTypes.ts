/** inet, cidr and macaddr: their send forms as the text the server would print. */

import { plain } from '../../shared/semanticSchemas.ts';
import { type ColumnType, columnType, type TypeSettings } from './columnType.ts';

const IPV4_FAMILY = 2;

export function inetType(settings: TypeSettings): ColumnType {
  return columnType({
    schema: plain('STRING'),
    fromText: text => text,
    fromBinary: (bytes, start) => inetText(bytes, start),
    textWire: { wire: 'utf8' },
    zero: '',
    unchanged: settings.placeholder,
  });
}

/** family, prefix length, is-cidr, address length, address. */
function inetText(bytes: Buffer, start: number): string {
  const [family, bits, isCidr, length] = [bytes[start]!, bytes[start + 1]!, bytes[start + 2]!, bytes[start + 3]!];
  const address = bytes.subarray(start + 4, start + 4 + length);
  const text = family === IPV4_FAMILY ? address.join('.') : ipv6Text(address);
  return isCidr || bits !== length * 8 ? `${text}/${bits}` : text;
}

/** The longest run of two or more zero groups becomes `::`; addresses of mapped and compatible form end in dotted quads. */
function ipv6Text(address: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, i) => address.readUInt16BE(2 * i));
  let best = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; i++) {
    let run = 0;
    while (i + run < 8 && groups[i + run] === 0) run++;
    if (run > bestLength) [best, bestLength] = [i, run];
    i += run;
  }
  const isMapped =
    best === 0 &&
    (bestLength === 6 || (bestLength === 7 && groups[7] !== 1) || (bestLength === 5 && groups[5] === 0xffff));
  const hex = groups.slice(0, isMapped ? 6 : 8).map(g => g.toString(16));
  if (isMapped) hex.push(address.subarray(12).join('.'));
  if (best < 0) return hex.join(':');
  const head = hex.slice(0, best).join(':');
  const tail = hex.slice(isMapped && bestLength > 6 ? 6 : best + bestLength).join(':');
  return `${head}::${tail}`;
}

export function macaddrType(settings: TypeSettings): ColumnType {
  return columnType({
    schema: plain('STRING'),
    fromText: text => text,
    fromBinary: (bytes, start, end) =>
      Array.from(bytes.subarray(start, end), b => b.toString(16).padStart(2, '0')).join(':'),
    textWire: { wire: 'utf8' },
    zero: '',
    unchanged: settings.placeholder,
  });
}
