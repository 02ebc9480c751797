/**
 * What differs between two Avro schemas in a way that readers of one could not read data of the other: the reasons behind a registry's
 * "incompatible", in words that say which field to look at.
 */
import { type AvroField, type AvroRecord, type AvroType, avroTypeName } from './avroSchema.ts';

/** Differences of `next` against `previous`, the first ones first; empty where none is known to matter. */
export function schemaDifferences(previous: AvroType, next: AvroType): string[] {
  const found: string[] = [];
  compare(previous, next, '', found, new Set());
  return found;
}

/** Types that the reader on the right can take for the writer on the left. */
const promotions: Readonly<Record<string, readonly string[]>> = {
  int: ['long', 'float', 'double'],
  long: ['float', 'double'],
  float: ['double'],
  string: ['bytes'],
  bytes: ['string'],
};

function compare(previous: AvroType, next: AvroType, path: string, found: string[], seen: Set<AvroType>): void {
  const place = path === '' ? 'the root' : `field ${path}`;
  if (previous.type === 'union' || next.type === 'union') {
    compareUnions(branchesOf(previous), branchesOf(next), path, found, seen);
    return;
  }
  if (previous.type !== next.type) {
    if (!promotions[previous.type]?.includes(next.type))
      found.push(`${place} changed its type from ${describe(previous)} to ${describe(next)}`);
    return;
  }
  switch (previous.type) {
    case 'record': {
      const other = next as AvroRecord;
      if (previous.name !== other.name) found.push(`${place} changed its name from ${previous.name} to ${other.name}`);
      if (seen.has(previous)) return;
      seen.add(previous);
      compareFields(previous, other, path, found, seen);
      return;
    }
    case 'array':
      compare(previous.items, (next as typeof previous).items, `${path}[]`, found, seen);
      return;
    case 'map':
      compare(previous.values, (next as typeof previous).values, `${path}{}`, found, seen);
      return;
    case 'enum': {
      const symbols = (next as typeof previous).symbols;
      const gone = previous.symbols.filter(s => !symbols.includes(s));
      if (gone.length > 0) found.push(`${place} lost the enum symbols ${gone.join(', ')}`);
      return;
    }
    case 'fixed':
      if (previous.size !== (next as typeof previous).size)
        found.push(`${place} changed its size from ${previous.size} to ${(next as typeof previous).size} bytes`);
      return;
    default: {
      const [before, after] = [describe(previous), describe(next)];
      if (before !== after) found.push(`${place} changed its type from ${before} to ${after}`);
    }
  }
}

function compareFields(
  previous: AvroRecord,
  next: AvroRecord,
  path: string,
  found: string[],
  seen: Set<AvroType>,
): void {
  const inner = (field: AvroField): string => (path === '' ? field.name : `${path}.${field.name}`);
  const before = new Map(previous.fields.map(f => [f.name, f]));
  const after = new Set(next.fields.map(f => f.name));
  for (const field of next.fields) {
    const earlier = before.get(field.name);
    if (earlier) compare(earlier.type, field.type, inner(field), found, seen);
    else if (field.defaultValue === undefined) found.push(`field ${inner(field)} was added without a default`);
  }
  for (const field of previous.fields) {
    if (!after.has(field.name) && field.defaultValue === undefined)
      found.push(`field ${inner(field)}, which had no default, was removed`);
  }
}

function compareUnions(
  previous: readonly AvroType[],
  next: readonly AvroType[],
  path: string,
  found: string[],
  seen: Set<AvroType>,
): void {
  const place = path === '' ? 'the root' : `field ${path}`;
  for (const branch of previous) {
    const same = next.find(b => avroTypeName(b) === avroTypeName(branch));
    if (same) {
      compare(branch, same, path, found, seen);
      continue;
    }
    if (next.some(b => promotions[branch.type]?.includes(b.type))) continue;
    if (branch.type === 'null') found.push(`${place} may no longer be null`);
    else
      found.push(
        `${place} changed its type from ${describe(branch)} to ${next
          .filter(b => b.type !== 'null')
          .map(describe)
          .join(' or ')}`,
      );
  }
}

const branchesOf = (type: AvroType): readonly AvroType[] => (type.type === 'union' ? type.branches : [type]);

/** The type as a reader of messages knows it: with logical type and decimal sizes. */
function describe(type: AvroType): string {
  if (type.type === 'union') return type.branches.map(describe).join(' or ');
  const { logicalType, precision, scale } = type.attributes;
  const name = avroTypeName(type);
  if (logicalType === 'decimal')
    return `${name} (decimal, precision ${String(precision)}, scale ${String(scale ?? 0)})`;
  return typeof logicalType === 'string' ? `${name} (${logicalType})` : name;
}
