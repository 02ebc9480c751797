/** Text of MySQL's character sets in the log. Result sets need none of it: the server converts. */

export type TextDecoding = 'utf8' | ((bytes: Buffer, start: number, end: number) => string);

/** MySQL's names by those of the Encoding Standard. */
const LABELS: Readonly<Record<string, string>> = {
  latin2: 'iso-8859-2',
  latin5: 'windows-1254',
  latin7: 'iso-8859-13',
  greek: 'iso-8859-7',
  hebrew: 'iso-8859-8',
  cp1250: 'windows-1250',
  cp1251: 'windows-1251',
  cp1256: 'windows-1256',
  cp1257: 'windows-1257',
  koi8r: 'koi8-r',
  koi8u: 'koi8-u',
  cp866: 'ibm866',
  macroman: 'macintosh',
  tis620: 'windows-874',
  gb2312: 'gbk',
  gbk: 'gbk',
  gb18030: 'gb18030',
  big5: 'big5',
  ujis: 'euc-jp',
  eucjpms: 'euc-jp',
  sjis: 'shift_jis',
  cp932: 'shift_jis',
  euckr: 'euc-kr',
  ucs2: 'utf-16be',
  utf16: 'utf-16be',
  utf16le: 'utf-16le',
};

/** null where the character set is not read. */
export function textDecoding(charset: string): TextDecoding | null {
  if (charset === 'utf8mb4' || charset === 'utf8mb3' || charset === 'utf8' || charset === 'ascii') return 'utf8';
  if (charset === 'utf32') return utf32;
  if (charset === 'latin1') return latin1;
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

/** What windows-1252, which MySQL calls latin1, has at 0x80 to 0x9f; five stay control characters. Node 20 takes one for the other. */
const WINDOWS_1252 =
  '\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178';

const latin1 = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString('latin1', start, end).replace(/[\x80-\x9f]/g, c => WINDOWS_1252[c.charCodeAt(0) - 0x80]!);
