/** CHAR and VARCHAR in events: text in any character set, and bytes. */
import * as data from '../../../schemas/data/index.ts';
import { bytesPerCharacter, CHARSET_UTF8, textDecoder } from '../journal/characterSets.ts';
import { firstCharacters, readText, varcharEnd } from '../journal/columnValue.ts';
import { charsetOf, DataType, type FormatField } from '../journal/recordFormat.ts';
import { type ColumnType, castTo, plain, simple } from './columnForm.ts';

export function binary(field: FormatField): ColumnType {
  const { dtype, length } = field;
  return {
    schema: simple(data.BYTES),
    wire: { wire: 'bytes' },
    select: plain,
    writeImage:
      dtype === DataType.char
        ? (out, bytes, at) => out.slice(bytes, at, at + length)
        : (out, bytes, at) => out.slice(bytes, at + 2, varcharEnd(bytes, at, length)),
    writeSelected: (out, value) => {
      const bytes = bytesOf(value);
      out.slice(bytes, 0, bytes.length);
    },
  };
}

export function text(field: FormatField): ColumnType {
  const { dtype, length } = field;
  const charset = charsetOf(field);
  if (charset !== CHARSET_UTF8) return convertedText(field);
  const characters = Math.floor(length / bytesPerCharacter(charset));
  const isChar = dtype === DataType.char;
  return {
    schema: simple(data.STRING),
    wire: { wire: 'utf8' },
    // The client cuts a CHAR to as many UTF-16 units as it has characters.
    select: isChar ? castTo(`varchar(${characters}) character set utf8`) : plain,
    writeImage: isChar
      ? (out, bytes, at) => out.slice(bytes, at, charactersEnd(bytes, at, at + length, characters))
      : (out, bytes, at) => out.slice(bytes, at + 2, varcharEnd(bytes, at, length)),
    writeSelected: (out, value) => out.text(String(value)),
  };
}

const MAX_VARCHAR_BYTES = 32_765;

/** A snapshot gets the bytes, as the journal has them: the server converts no more than 8,191 characters. */
function convertedText(field: FormatField): ColumnType {
  const { dtype, length } = field;
  const width = bytesPerCharacter(charsetOf(field));
  const decode = textDecoder(charsetOf(field));
  const readImage = readText(field);
  const size = dtype === DataType.char ? length : length - 2;
  return {
    schema: simple(data.STRING),
    wire: { wire: 'utf8' },
    select: castTo(`varchar(${Math.min(size, MAX_VARCHAR_BYTES)}) character set octets`),
    writeImage: (out, bytes, at) => out.text(readImage(bytes, at)),
    writeSelected: (out, value) => {
      const bytes = bytesOf(value);
      const whole = decode(bytes, 0, bytes.length);
      out.text(dtype === DataType.char && width > 1 ? firstCharacters(whole, Math.floor(length / width)) : whole);
    },
  };
}

/** The client gives OCTETS as bytes, or as text with a character for each. */
const bytesOf = (value: unknown): Buffer =>
  typeof value === 'string' ? Buffer.from(value, 'latin1') : (value as Buffer);

/** End of the first `count` UTF-8 characters. */
function charactersEnd(bytes: Buffer, start: number, end: number, count: number): number {
  let at = start;
  for (let n = 0; n < count && at < end; n++) {
    at++;
    while (at < end && (bytes[at]! & 0xc0) === 0x80) at++;
  }
  return at;
}
