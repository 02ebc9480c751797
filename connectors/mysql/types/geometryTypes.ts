/** Spatial values: four bytes of SRID, then WKB; and vectors, which are floats one after the other. */
import { array, FLOAT32, Struct, type StructSchema, type Struct as StructType } from '../../../schemas/data/index.ts';
import { geometry, point } from '../../shared/semanticSchemas.ts';
import { byFunction, type ColumnType } from './columnType.ts';

const POINT_BYTES = 21;

/** 0 means that there is none. */
const sridOf = (bytes: Buffer, start: number): number | null => {
  const srid = bytes.readUInt32LE(start);
  return srid === 0 ? null : srid;
};

const pointSchema = point({});
const geometrySchema: StructSchema = geometry({});

function readPoint(bytes: Buffer, start: number, end: number): StructType {
  const wkb = Buffer.from(bytes.subarray(start + 4, end));
  if (wkb.length !== POINT_BYTES) throw new RangeError(`a point of ${wkb.length} bytes`);
  const isLittle = wkb[0] === 1;
  const x = isLittle ? wkb.readDoubleLE(5) : wkb.readDoubleBE(5);
  const y = isLittle ? wkb.readDoubleLE(13) : wkb.readDoubleBE(13);
  return new Struct(pointSchema, [x, y, wkb, sridOf(bytes, start)]);
}

const readGeometry = (bytes: Buffer, start: number, end: number): StructType =>
  new Struct(geometrySchema, [Buffer.from(bytes.subarray(start + 4, end)), sridOf(bytes, start)]);

export const pointType: ColumnType = {
  schema: point,
  binlog: byFunction(readPoint),
  text: byFunction(readPoint),
  select: 'plain',
  zero: new Struct(pointSchema, [0, 0, null, null]),
  fromDefault: () => undefined,
};

export const geometryType: ColumnType = {
  schema: geometry,
  binlog: byFunction(readGeometry),
  text: byFunction(readGeometry),
  select: 'plain',
  zero: new Struct(geometrySchema, [Buffer.alloc(0), null]),
  fromDefault: () => undefined,
};

const readVector = byFunction((bytes, start, end) =>
  Array.from({ length: (end - start) >> 2 }, (_, i) => bytes.readFloatLE(start + 4 * i)),
);

export const vectorType: ColumnType = {
  schema: options => array(FLOAT32, { ...options, name: 'io.debezium.data.FloatVector', version: 1 }),
  binlog: readVector,
  text: readVector,
  select: 'plain',
  zero: [],
  fromDefault: () => undefined,
};
