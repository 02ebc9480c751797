/** The part of a record, key or value, on which a transform works; and plugins that exist once for each. */
import type { Schema } from '../../schemas/data/index.ts';
import type { ConfigDef, ConnectRecord, Transformation, TransformationPlugin } from '../api/index.ts';

const VERSION = '1.0.0';
const PACKAGE = 'org.apache.kafka.connect.transforms';

export interface Side {
  readonly name: 'Key' | 'Value';
  schema(record: ConnectRecord): Schema | null;
  value(record: ConnectRecord): unknown;
  /** The record with this part replaced. */
  with<R extends ConnectRecord>(record: R, schema: Schema | null, value: unknown): R;
}

export const keySide: Side = {
  name: 'Key',
  schema: record => record.keySchema,
  value: record => record.key,
  with: (record, keySchema, key) => ({ ...record, keySchema, key }),
};

export const valueSide: Side = {
  name: 'Value',
  schema: record => record.valueSchema,
  value: record => record.value,
  with: (record, valueSchema, value) => ({ ...record, valueSchema, value }),
};

/** `Name$Key` and `Name$Value`. */
export function sidedPlugins(
  name: string,
  configDef: ConfigDef,
  create: (side: Side) => Transformation,
): TransformationPlugin[] {
  return [keySide, valueSide].map(side => ({
    kind: 'transformation',
    className: `${PACKAGE}.${name}$${side.name}`,
    aliases: [],
    version: VERSION,
    configDef,
    create: () => create(side),
  }));
}

export function plugin(name: string, configDef: ConfigDef, create: () => Transformation): TransformationPlugin {
  return {
    kind: 'transformation',
    className: `${PACKAGE}.${name}`,
    aliases: [],
    version: VERSION,
    configDef,
    create,
  };
}
