/** Random Connect schemas with values that fit, from a seed: for tests that compare two ways of writing the same. */
import {
  array,
  Decimal,
  decimalSchema,
  map,
  optional,
  primitive,
  type Schema,
  Struct,
  struct,
  timestampSchema,
  withOptions,
} from '../../../schemas/data/index.ts';
import type { Random } from '../../random.ts';

let names = 0;

export function randomSchema(random: Random, depth: number): Schema {
  const schema = bareSchema(random, depth);
  const chosen = random.below(3) === 0 ? optional(schema) : schema;
  if (schema.type === 'STRUCT' || random.below(4) > 0) return chosen;
  return withOptions(chosen, { defaultValue: randomValue(random, schema) });
}

export function randomStruct(random: Random, depth: number): Schema {
  const count = 1 + random.below(8);
  const fields = Array.from({ length: count }, (_, i) => [`f${i}`, randomSchema(random, depth)] as const);
  return struct(fields, { name: `random.S${names++}` });
}

function bareSchema(random: Random, depth: number): Schema {
  switch (random.below(depth > 0 ? 15 : 11)) {
    case 0:
      return primitive('INT8');
    case 1:
      return primitive('INT16');
    case 2:
      return primitive('INT32');
    case 3:
      return primitive('INT64');
    case 4:
      return primitive('FLOAT32');
    case 5:
      return primitive('FLOAT64');
    case 6:
      return primitive('BOOLEAN');
    case 7:
      return primitive('STRING');
    case 8:
      return primitive('BYTES');
    case 9:
      return decimalSchema(random.below(5), 20);
    case 10:
      return timestampSchema();
    case 11:
      return array(randomSchema(random, depth - 1));
    case 12:
      return map(primitive('STRING'), randomSchema(random, depth - 1));
    case 13:
      return map(primitive('INT32'), randomSchema(random, depth - 1), { name: `random.M${names++}` });
    default:
      return randomStruct(random, depth - 1);
  }
}

const texts = [
  '',
  'a',
  'lamp',
  'ä€𐍈',
  'x'.repeat(23),
  'x'.repeat(24),
  'ü'.repeat(40),
  'y'.repeat(63),
  'z'.repeat(64),
  '€'.repeat(3000),
];
const ints = [0, 1, -1, 63, 64, -64, -65, 8191, 8192, 2147483647, -2147483648];
const longs = [
  0n,
  -1n,
  2n ** 31n,
  -(2n ** 31n) - 1n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  1n << 35n,
  -(1n << 49n),
];

export function randomValue(random: Random, schema: Schema): unknown {
  if (schema.optional && random.below(3) === 0) return null;
  switch (schema.type) {
    case 'INT8':
      return random.below(256) - 128;
    case 'INT16':
      return random.below(65536) - 32768;
    case 'INT32':
      return random.below(2) ? random.pick(ints) : random.below(2 ** 32) - 2 ** 31;
    case 'INT64':
      return random.below(2)
        ? random.pick(longs)
        : BigInt.asIntN(64, BigInt(random.below(2 ** 32)) * BigInt(random.below(2 ** 32)));
    case 'FLOAT32':
      return Math.fround(
        random.pick([0, -0, 1.5, 3.4e38, Number.NaN, Number.POSITIVE_INFINITY, random.below(1000) / 7]),
      );
    case 'FLOAT64':
      return random.pick([0, -0, 1.5, 5e-324, 1.7e308, Number.NEGATIVE_INFINITY, random.below(1000) / 7]);
    case 'BOOLEAN':
      return random.below(2) === 1;
    case 'STRING':
      return random.pick(texts);
    case 'BYTES': {
      if (schema.name !== null)
        return new Decimal(random.pick(longs) * BigInt(1 + random.below(1000)), Number(schema.parameters!.scale));
      return Buffer.from(Array.from({ length: random.below(70) }, () => random.below(256)));
    }
    case 'ARRAY':
      return Array.from({ length: random.below(4) * random.below(40) }, () => randomValue(random, schema.valueSchema));
    case 'MAP':
      return new Map(
        Array.from({ length: random.below(4) }, () => [
          randomValue(random, schema.keySchema),
          randomValue(random, schema.valueSchema),
        ]),
      );
    case 'STRUCT':
      return new Struct(
        schema,
        schema.fields.map(f => randomValue(random, f.schema)),
      );
  }
}
