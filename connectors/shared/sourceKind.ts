/** What a value of a record means, read once from its schema: Connect's types and logical types, and Debezium's semantic types. Free of any database. */
import { DATE_NAME, DECIMAL_NAME, type Schema, TIME_NAME, TIMESTAMP_NAME } from '../../schemas/data/index.ts';

export type SourceKind =
  | 'integer'
  | 'float'
  | 'boolean'
  | 'string'
  | 'bytes'
  | 'decimal'
  | 'variableScaleDecimal'
  /** Days since 1970-01-01. */
  | 'date'
  /** Time of day in ms, µs, ns. */
  | 'timeMs'
  | 'timeUs'
  | 'timeNs'
  /** Since 1970-01-01, without zone. */
  | 'timestampMs'
  | 'timestampUs'
  | 'timestampNs'
  /** ISO 8601 texts. */
  | 'zonedTimestamp'
  | 'zonedTime'
  | 'isoDate'
  | 'isoTime'
  | 'isoTimestamp'
  | 'durationUs'
  | 'durationNs'
  | 'interval'
  | 'json'
  | 'uuid'
  | 'bits'
  | 'point'
  | 'geometry'
  | 'array'
  | 'map'
  | 'struct'
  /** No schema: the value's own JavaScript type tells. */
  | 'untyped';

const byName: Readonly<Record<string, SourceKind>> = {
  [DECIMAL_NAME]: 'decimal',
  [DATE_NAME]: 'date',
  [TIME_NAME]: 'timeMs',
  [TIMESTAMP_NAME]: 'timestampMs',
  'io.debezium.time.Date': 'date',
  'io.debezium.time.Time': 'timeMs',
  'io.debezium.time.MicroTime': 'timeUs',
  'io.debezium.time.NanoTime': 'timeNs',
  'io.debezium.time.Timestamp': 'timestampMs',
  'io.debezium.time.MicroTimestamp': 'timestampUs',
  'io.debezium.time.NanoTimestamp': 'timestampNs',
  'io.debezium.time.ZonedTimestamp': 'zonedTimestamp',
  'io.debezium.time.ZonedTime': 'zonedTime',
  'io.debezium.time.IsoDate': 'isoDate',
  'io.debezium.time.IsoTime': 'isoTime',
  'io.debezium.time.IsoTimestamp': 'isoTimestamp',
  'io.debezium.time.MicroDuration': 'durationUs',
  'io.debezium.time.NanoDuration': 'durationNs',
  'io.debezium.time.Interval': 'interval',
  'io.debezium.data.Json': 'json',
  'io.debezium.data.Uuid': 'uuid',
  'io.debezium.data.Bits': 'bits',
  'io.debezium.data.VariableScaleDecimal': 'variableScaleDecimal',
  'io.debezium.data.geometry.Point': 'point',
  'io.debezium.data.geometry.Geometry': 'geometry',
  'io.debezium.data.geometry.Geography': 'geometry',
};

const shapes: Readonly<Partial<Record<SourceKind, Schema['type']>>> = {
  decimal: 'BYTES',
  bits: 'BYTES',
  variableScaleDecimal: 'STRUCT',
  point: 'STRUCT',
  geometry: 'STRUCT',
};

export function sourceKind(schema: Schema | null): SourceKind {
  if (schema === null) return 'untyped';
  const named = schema.name === null ? undefined : byName[schema.name];
  if (named !== undefined && (shapes[named] ?? schema.type) === schema.type) return named;
  switch (schema.type) {
    case 'INT8':
    case 'INT16':
    case 'INT32':
    case 'INT64':
      return 'integer';
    case 'FLOAT32':
    case 'FLOAT64':
      return 'float';
    case 'BOOLEAN':
      return 'boolean';
    case 'STRING':
      return 'string';
    case 'BYTES':
      return 'bytes';
    case 'ARRAY':
      return 'array';
    case 'MAP':
      return 'map';
    case 'STRUCT':
      return 'struct';
  }
}
