/** Puts the members of one document over those of another. */
import { isJsonObject, type JsonValue } from '../../schemas/json/exactJson.ts';

/** `isDeep`: objects within are merged as well, as the update of the target does it; else a member replaces the one before. */
export function mergeMembers(earlier: JsonValue, later: JsonValue, isDeep: boolean): JsonValue {
  if (!isJsonObject(earlier) || !isJsonObject(later)) return later;
  const merged = new Map(Object.entries(earlier));
  for (const [name, value] of Object.entries(later)) {
    const before = merged.get(name);
    merged.set(name, isDeep && before !== undefined ? mergeMembers(before, value, true) : value);
  }
  return Object.fromEntries(merged);
}
