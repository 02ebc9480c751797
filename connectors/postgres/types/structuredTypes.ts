/** point, hstore, tsvector: types with parts of their own. */
import { map, OPTIONAL_STRING, STRING, Struct } from '../../../schemas/data/index.ts';
import { named, point } from '../../shared/semanticSchemas.ts';
import { type BinaryReader, type ColumnType, columnType, type TypeSettings, utf8 } from './columnType.ts';

export function pointType(): ColumnType {
  const schema = point({});
  const value = (x: number, y: number): Struct => {
    const wkb = Buffer.alloc(21);
    wkb[0] = 1;
    wkb[1] = 1;
    wkb.writeDoubleLE(x, 5);
    wkb.writeDoubleLE(y, 13);
    return new Struct(schema, [x, y, wkb, null]);
  };
  return columnType({
    schema: point,
    fromText: text => {
      const [x, y] = text.slice(1, -1).split(',');
      return value(Number(x), Number(y));
    },
    fromBinary: (bytes, start) => value(bytes.readDoubleBE(start), bytes.readDoubleBE(start + 8)),
    zero: value(0, 0),
    hasDefault: false,
  });
}

type Pairs = readonly (readonly [string, string | null])[];

export function hstoreType(settings: TypeSettings): ColumnType {
  const isMap = settings.hstore === 'map';
  const value = (pairs: Pairs): unknown => {
    if (isMap) return new Map(pairs);
    return `{${pairs.map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join(',')}}`;
  };
  return columnType({
    schema: isMap ? options => map(STRING, OPTIONAL_STRING, options) : named('STRING', 'io.debezium.data.Json'),
    fromText: text => value(parseHstore(text)),
    fromBinary: (bytes, start) => value(readHstore(bytes, start)),
    zero: value([]),
    unchanged: value([[settings.placeholder, settings.placeholder]]),
    hasDefault: false,
  });
}

const HSTORE_PAIR = /"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")/gs;
const unquote = (text: string): string => text.replace(/\\(.)/gs, '$1');

const parseHstore = (text: string): Pairs =>
  Array.from(text.matchAll(HSTORE_PAIR), m => [unquote(m[1]!), m[2] === undefined ? null : unquote(m[2])] as const);

/** int32 count, then key and value, each with an int32 length (-1 = null). */
function readHstore(bytes: Buffer, start: number): Pairs {
  let position = start + 4;
  const text = (): string | null => {
    const length = bytes.readInt32BE(position);
    position += 4;
    if (length < 0) return null;
    position += length;
    return utf8(bytes, position - length, position) as string;
  };
  return Array.from({ length: bytes.readInt32BE(start) }, () => [text() ?? '', text()] as const);
}

export function tsvectorType(settings: TypeSettings): ColumnType {
  return columnType({
    schema: named('STRING', 'io.debezium.data.Tsvector'),
    fromText: text => text,
    fromBinary: readTsvector,
    textWire: { wire: 'utf8' },
    zero: '',
    unchanged: settings.placeholder,
  });
}

/** int32 count, then lexeme NUL, int16 positions, each 14 bits of position under 2 bits of weight (D to A). */
const readTsvector: BinaryReader = (bytes, start) => {
  let position = start + 4;
  const lexemes: string[] = [];
  for (let i = bytes.readInt32BE(start); i > 0; i--) {
    const end = bytes.indexOf(0, position);
    const lexeme = (utf8(bytes, position, end) as string).replace(/['\\]/g, '$&$&');
    const positions: string[] = [];
    const count = bytes.readUInt16BE(end + 1);
    position = end + 3;
    for (let j = 0; j < count; j++, position += 2) {
      const packed = bytes.readUInt16BE(position);
      positions.push(`${packed & 0x3fff}${['', 'C', 'B', 'A'][packed >> 14]}`);
    }
    lexemes.push(`'${lexeme}'${count > 0 ? `:${positions.join(',')}` : ''}`);
  }
  return lexemes.join(' ');
};
