/** Whether data written with one Avro schema can be read with another, by the resolution rules of the Avro specification; and if not, why. */
import { type AvroType, avroTypeName } from '../../../schemas/avro/avroSchema.ts';

const promotions: Readonly<Record<string, readonly string[]>> = {
  int: ['long', 'float', 'double'],
  long: ['float', 'double'],
  float: ['double'],
  string: ['bytes'],
  bytes: ['string'],
};

/** Reasons, each naming a field; empty: readable. */
export function unreadableReasons(reader: AvroType, writer: AvroType): string[] {
  const comparison = new Comparison();
  comparison.compare(reader, writer, '');
  return comparison.reasons;
}

class Comparison {
  readonly reasons: string[] = [];
  /** Pairs of records under comparison or done: schemas may be recursive. */
  #seen = new Map<AvroType, Set<AvroType>>();

  compare(reader: AvroType, writer: AvroType, path: string): void {
    const place = path === '' ? 'the root' : `field ${path}`;
    if (writer.type === 'union') {
      for (const branch of writer.branches) this.compare(reader, branch, path);
      return;
    }
    if (reader.type === 'union') {
      if (!reader.branches.some(branch => isReadable(branch, writer)))
        this.reasons.push(`${place} has no branch that takes ${avroTypeName(writer)}`);
      return;
    }
    if (reader.type !== writer.type) {
      if (!promotions[writer.type]?.includes(reader.type))
        this.reasons.push(`${place} is ${avroTypeName(reader)}, which cannot take ${avroTypeName(writer)}`);
      return;
    }
    switch (reader.type) {
      case 'record':
        this.#compareNames(reader.name, avroTypeName(writer), place);
        this.#compareFields(reader, writer as typeof reader, path);
        return;
      case 'enum': {
        this.#compareNames(reader.name, avroTypeName(writer), place);
        const unknown = (writer as typeof reader).symbols.filter(symbol => !reader.symbols.includes(symbol));
        if (unknown.length > 0 && reader.attributes.default === undefined)
          this.reasons.push(`${place} has no symbol ${unknown.join(', ')}`);
        return;
      }
      case 'fixed':
        this.#compareNames(reader.name, avroTypeName(writer), place);
        if (reader.size !== (writer as typeof reader).size)
          this.reasons.push(`${place} has ${reader.size} bytes, not ${(writer as typeof reader).size}`);
        return;
      case 'array':
        this.compare(reader.items, (writer as typeof reader).items, `${path}[]`);
        return;
      case 'map':
        this.compare(reader.values, (writer as typeof reader).values, `${path}{}`);
        return;
      default:
        return;
    }
  }

  #compareFields(
    reader: Extract<AvroType, { type: 'record' }>,
    writer: Extract<AvroType, { type: 'record' }>,
    path: string,
  ): void {
    const seen = this.#seen.get(reader);
    if (seen?.has(writer)) return;
    if (seen === undefined) this.#seen.set(reader, new Set([writer]));
    else seen.add(writer);
    const written = new Map(writer.fields.map(field => [field.name, field]));
    for (const field of reader.fields) {
      const inner = path === '' ? field.name : `${path}.${field.name}`;
      const source = written.get(field.name);
      if (source !== undefined) this.compare(field.type, source.type, inner);
      else if (field.defaultValue === undefined) this.reasons.push(`field ${inner} has no default and is missing`);
    }
  }

  /** Namespaces may differ, as in Java's resolution. */
  #compareNames(reader: string, writer: string, place: string): void {
    const simple = (name: string) => name.slice(name.lastIndexOf('.') + 1);
    if (simple(reader) !== simple(writer)) this.reasons.push(`${place} is named ${reader}, not ${writer}`);
  }
}

function isReadable(reader: AvroType, writer: AvroType): boolean {
  return unreadableReasons(reader, writer).length === 0;
}
