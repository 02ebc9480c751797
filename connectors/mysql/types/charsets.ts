/** Text of MySQL's character sets in the log. Result sets need none of it: the server converts. */
import { decode } from 'iconv-lite';
import { CODE_PAGES } from './codePages.ts';

export type TextDecoding = 'utf8' | ((bytes: Buffer, start: number, end: number) => string);

/** MySQL's names by those of the Encoding Standard. */
const LABELS: Readonly<Record<string, string>> = {
  ucs2: 'utf-16be',
  utf16: 'utf-16be',
  utf16le: 'utf-16le',
};

/** Of several bytes a character, by the names of iconv-lite, which is nearer to MySQL's tables than Node: all of gbk and euckr, all but some signs of the others. */
const ICONV: Readonly<Record<string, string>> = {
  gb2312: 'gb2312',
  gbk: 'gbk',
  gb18030: 'gb18030',
  big5: 'big5',
  ujis: 'eucjp',
  eucjpms: 'eucjp',
  sjis: 'cp932',
  cp932: 'cp932',
  euckr: 'cp949',
};

/** null where the character set is not read. */
export function textDecoding(charset: string): TextDecoding | null {
  if (charset === 'utf8mb4' || charset === 'utf8mb3' || charset === 'utf8' || charset === 'ascii') return 'utf8';
  if (charset === 'utf32') return utf32;
  const page = CODE_PAGES[charset];
  if (page !== undefined) return singleByte(page);
  const iconv = ICONV[charset];
  if (iconv !== undefined) return (bytes, start, end) => decode(bytes.subarray(start, end), iconv);
  const label = LABELS[charset];
  if (label === undefined) return null;
  const decoder = new TextDecoder(label, { ignoreBOM: true });
  return (bytes, start, end) => decoder.decode(bytes.subarray(start, end));
}

function utf32(bytes: Buffer, start: number, end: number): string {
  let text = '';
  for (let p = start; p + 4 <= end; p += 4) text += String.fromCodePoint(bytes.readUInt32BE(p));
  return text;
}

const singleByte =
  (page: string) =>
  (bytes: Buffer, start: number, end: number): string =>
    bytes.toString('latin1', start, end).replace(/[\x80-\xff]/g, byte => page[byte.charCodeAt(0) - 0x80]!);
