/** Schema references of Confluent's registry: a schema that names types of other subjects, made into one that stands alone. */
import { isJsonObject, type JsonValue, parseJson, stringifyJson } from '../json/exactJson.ts';

/** The schema with each type of `referenced` (by full name) defined where it is first used. */
export function inlineReferences(schema: string, referenced: ReadonlyMap<string, string>): string {
  const pending = new Map([...referenced].map(([name, text]) => [name, parseJson(text)]));

  function walk(json: JsonValue, namespace: string): JsonValue {
    if (typeof json === 'string') {
      const full = json.includes('.') || namespace === '' ? json : `${namespace}.${json}`;
      const name = pending.has(full) ? full : json;
      const definition = pending.get(name);
      if (definition === undefined) return json;
      pending.delete(name);
      const inlined = walk(definition, '');
      // Its own namespace, also where that is none, and not that of the place.
      return isJsonObject(inlined) ? { namespace: '', ...inlined } : inlined;
    }
    if (Array.isArray(json)) return json.map(branch => walk(branch, namespace));
    if (!isJsonObject(json)) return json;
    const own = typeof json.namespace === 'string' ? json.namespace : namespace;
    const name = typeof json.name === 'string' ? json.name : '';
    const inner = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : own;
    const out = { ...json };
    if (typeof json.type !== 'string' || !named.has(json.type)) out.type = walk(json.type, namespace);
    if (json.items !== undefined) out.items = walk(json.items, namespace);
    if (json.values !== undefined) out.values = walk(json.values, namespace);
    if (Array.isArray(json.fields)) {
      out.fields = json.fields.map(field =>
        isJsonObject(field) ? { ...field, type: walk(field.type, inner) } : field,
      );
    }
    return out;
  }

  return stringifyJson(walk(parseJson(schema), ''));
}

const named: ReadonlySet<string> = new Set(['record', 'error', 'enum', 'fixed', 'array', 'map']);
