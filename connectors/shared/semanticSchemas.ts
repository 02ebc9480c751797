/** Schemas of Debezium's semantic types of columns. */

import * as data from '../../schemas/data/index.ts';
import { primitive, type Schema, type SchemaOptions, struct } from '../../schemas/data/index.ts';

type PrimitiveType = Parameters<typeof primitive>[0];

export const plain =
  (type: PrimitiveType) =>
  (options: SchemaOptions): Schema =>
    primitive(type, options);

export const named =
  (type: PrimitiveType, name: string, parameters: Readonly<Record<string, string>> = {}) =>
  (options: SchemaOptions): Schema =>
    primitive(type, { ...options, name, version: 1, parameters: { ...options.parameters, ...parameters } });

const VARIABLE_SCALE_FIELDS = [
  ['scale', data.INT32],
  ['value', data.BYTES],
] as const;
export const variableScaleDecimal = (options: SchemaOptions): data.StructSchema =>
  struct(VARIABLE_SCALE_FIELDS, {
    ...options,
    name: 'io.debezium.data.VariableScaleDecimal',
    version: 1,
    doc: 'Variable scaled decimal',
  });

export const point = (options: SchemaOptions): data.StructSchema =>
  struct(
    [
      ['x', data.FLOAT64],
      ['y', data.FLOAT64],
      ['wkb', data.OPTIONAL_BYTES],
      ['srid', data.OPTIONAL_INT32],
    ],
    { ...options, name: 'io.debezium.data.geometry.Point', version: 1, doc: 'Geometry (POINT)' },
  );

export const geometry = (options: SchemaOptions): data.StructSchema =>
  struct(
    [
      ['wkb', data.BYTES],
      ['srid', data.OPTIONAL_INT32],
    ],
    { ...options, name: 'io.debezium.data.geometry.Geometry', version: 1, doc: 'Geometry' },
  );
