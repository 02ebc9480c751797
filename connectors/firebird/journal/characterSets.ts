/** Firebird's character sets by id (RDB$CHARACTER_SETS): bytes a character, and text from bytes. Text is never guessed: what cannot be decoded is an error. */
import { ConnectError } from '../../../schemas/errors.ts';
import { CODE_PAGES } from './codePages.ts';

export const CHARSET_NONE = 0;
export const CHARSET_OCTETS = 1;
export const CHARSET_UTF8 = 4;
const CHARSET_ASCII = 2;
const CHARSET_DOS864 = 18;

/** Node's names of what it decodes as Firebird does; `latin1` stands for ISO 8859-1 proper. */
const LABELS: Readonly<Record<number, string>> = {
  3: 'utf-8',
  4: 'utf-8',
  5: 'shift_jis',
  6: 'euc-jp',
  21: 'latin1',
  22: 'iso-8859-2',
  23: 'iso-8859-3',
  34: 'iso-8859-4',
  35: 'iso-8859-5',
  36: 'iso-8859-6',
  40: 'iso-8859-13',
  44: 'euc-kr',
  51: 'windows-1250',
  52: 'windows-1251',
  54: 'windows-1253',
  55: 'windows-1254',
  56: 'big5',
  57: 'gbk',
  58: 'windows-1255',
  59: 'windows-1256',
  60: 'windows-1257',
  63: 'koi8-r',
  65: 'windows-1258',
  66: 'windows-874',
  67: 'gbk',
  68: 'shift_jis',
  69: 'gb18030',
};
const BYTES_PER_CHARACTER: Readonly<Record<number, number>> = {
  3: 3,
  4: 4,
  5: 2,
  6: 2,
  44: 2,
  56: 2,
  57: 2,
  67: 2,
  68: 2,
  69: 4,
};

export const bytesPerCharacter = (charset: number): number => BYTES_PER_CHARACTER[charset] ?? 1;

export type DecodeText = (bytes: Buffer, start: number, end: number) => string;

const utf8: DecodeText = (bytes, start, end) => bytes.toString('utf8', start, end);
const latin1: DecodeText = (bytes, start, end) => bytes.toString('latin1', start, end);
const decoders = new Map<number, DecodeText>();

/** The decoder of a character set. NONE, whose bytes are of no known set, must be UTF-8. */
export function textDecoder(charset: number): DecodeText {
  let decode = decoders.get(charset);
  if (decode === undefined) {
    decode = make(charset);
    decoders.set(charset, decode);
  }
  return decode;
}

/** Text of a statement. A connection without a character set may write anything, in comments above all: what is no text becomes a character for each byte. */
export function statementText(charset: number, bytes: Buffer, start: number, end: number): string {
  try {
    return textDecoder(charset)(bytes, start, end);
  } catch {
    return latin1(bytes, start, end);
  }
}

function make(charset: number): DecodeText {
  if (charset === CHARSET_NONE) return strict('utf-8', 'character set NONE that is not UTF-8');
  if (charset === CHARSET_ASCII) return singleByte('', charset);
  const page = CODE_PAGES[charset];
  if (page !== undefined) {
    const decode = singleByte(page, charset);
    // The Arabic one has its own percent sign.
    return charset === CHARSET_DOS864 ? (...text) => decode(...text).replaceAll('%', '\u066a') : decode;
  }
  const label = LABELS[charset];
  if (label === undefined) {
    return () => {
      throw new ConnectError('FB_VALUE_INVALID', `Text in character set ${charset} is not supported.`);
    };
  }
  if (label === 'utf-8') return utf8;
  if (label === 'latin1') return latin1;
  return strict(label, noCharacters(charset));
}

const noCharacters = (charset: number): string =>
  `character set ${charset}, some bytes of which are no characters of it`;

const NO_CHARACTER = '\ufffd';

/** `page` has the characters from 0x80 on. */
const singleByte =
  (page: string, charset: number): DecodeText =>
  (bytes, start, end) =>
    bytes.toString('latin1', start, end).replace(/[\x80-\xff]/g, byte => {
      const character = page[byte.charCodeAt(0) - 0x80] ?? NO_CHARACTER;
      if (character === NO_CHARACTER) throw new ConnectError('FB_VALUE_INVALID', `Text in ${noCharacters(charset)}.`);
      return character;
    });

function strict(label: string, what: string): DecodeText {
  const decoder = new TextDecoder(label, { fatal: true, ignoreBOM: true });
  return (bytes, start, end) => {
    try {
      return decoder.decode(bytes.subarray(start, end));
    } catch (error) {
      throw new ConnectError('FB_VALUE_INVALID', `Text in ${what}.`, { cause: error });
    }
  };
}
