/** UUID, INET4 and INET6 of MariaDB: texts in result sets; in the log bytes like those of BINARY, without the zero bytes at their end. */
import { named, plain } from '../../shared/semanticSchemas.ts';
import { byFunction, type ColumnType } from './columnType.ts';

/** Bytes in the log, by the name of the catalogue. */
export const MARIA_TEXT_BYTES = { uuid: 16, inet4: 4, inet6: 16 } as const;
export type MariaTextKind = keyof typeof MARIA_TEXT_BYTES;

export const isMariaText = (type: string): type is MariaTextKind => Object.hasOwn(MARIA_TEXT_BYTES, type);

const FORMS: Readonly<Record<MariaTextKind, (bytes: Buffer) => string>> = {
  uuid: bytes => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  inet4: bytes => bytes.join('.'),
  inet6: inet6Text,
};

export function mariaTextType(kind: MariaTextKind): ColumnType {
  const length = MARIA_TEXT_BYTES[kind];
  const form = FORMS[kind];
  return {
    schema: kind === 'uuid' ? named('STRING', 'io.debezium.data.Uuid') : plain('STRING'),
    binlog: byFunction((bytes, start, end) => {
      const whole = Buffer.alloc(length);
      bytes.copy(whole, 0, start, end);
      return form(whole);
    }),
    text: { wire: 'utf8' },
    select: 'plain',
    zero: form(Buffer.alloc(length)),
    fromDefault: text => text,
  };
}

/** As the server writes it: the first longest run of zero words left out, be it of one word, and the end of what maps IPv4 with dots. */
function inet6Text(bytes: Buffer): string {
  const words = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i));
  let [gap, gapLength] = [0, 0];
  for (let i = 0; i < words.length; i++) {
    let end = i;
    while (words[end] === 0) end++;
    if (end - i > gapLength) [gap, gapLength] = [i, end - i];
  }
  const hex = (from: number, to?: number): string =>
    words
      .slice(from, to)
      .map(word => word.toString(16))
      .join(':');
  if (gapLength === 0) return hex(0);
  const dotted = bytes.subarray(12).join('.');
  if (gap === 0 && gapLength === 6) return `::${dotted}`;
  if (gap === 0 && gapLength === 5 && words[5] === 0xffff) return `::ffff:${dotted}`;
  return `${hex(0, gap)}::${hex(gap + gapLength)}`;
}
