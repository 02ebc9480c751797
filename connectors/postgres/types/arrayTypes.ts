/** One-dimensional arrays of the types above; an array of more dimensions is read as the list of its elements in storage order. */
import { array, optional } from '../../../schemas/data/index.ts';
import { type BinaryReader, type ColumnType, columnType } from './columnType.ts';

/** `unchangedElements` stands for an unchanged TOASTed array; null where there is none. */
export function arrayType(element: ColumnType, unchangedElements: readonly unknown[] | null): ColumnType {
  const elementSchema = optional(element.schema({}));
  return columnType({
    schema: options => array(elementSchema, options),
    fromText: text => parseArray(text).map(e => (e === null ? null : element.fromText(e))),
    fromBinary: element.fromBinary === null ? null : arrayReader(element.fromBinary),
    zero: [],
    unchanged: unchangedElements,
    hasDefault: false,
  });
}

/** int32 dimensions, flags, element oid; per dimension int32 length and lower bound; then elements with an int32 length (-1 = null). */
const arrayReader =
  (element: BinaryReader): BinaryReader =>
  (bytes, start) => {
    const dimensions = bytes.readInt32BE(start);
    let count = dimensions === 0 ? 0 : 1;
    for (let i = 0; i < dimensions; i++) count *= bytes.readInt32BE(start + 12 + 8 * i);
    let position = start + 12 + 8 * dimensions;
    const out: unknown[] = new Array(count);
    for (let i = 0; i < count; i++) {
      const length = bytes.readInt32BE(position);
      position += 4;
      out[i] = length < 0 ? null : element(bytes, position, position + length);
      if (length > 0) position += length;
    }
    return out;
  };

/** The elements of an array in text form, nested ones in order. */
export function parseArray(text: string): (string | null)[] {
  const out: (string | null)[] = [];
  let i = text.indexOf('{');
  let isElementNext = false;
  for (; i < text.length; i++) {
    const c = text[i];
    if (c === '{' || c === ',') {
      isElementNext = true;
    } else if (c === '}') {
      isElementNext = false;
    } else if (c === '"') {
      let value = '';
      for (i++; text[i] !== '"'; i++) value += text[i] === '\\' ? text[++i] : text[i];
      out.push(value);
      isElementNext = false;
    } else if (isElementNext) {
      let end = i;
      while (text[end] !== ',' && text[end] !== '}') end++;
      const value = text.slice(i, end);
      out.push(value === 'NULL' ? null : value);
      i = end - 1;
      isElementNext = false;
    }
  }
  return out;
}
