/** The processors of `post.processor.chain` that shape fields, made from their keys. */
import type { SinkValues } from './configKeys.ts';
import { allowFields, blockFields, type FieldStage, renameByPattern, renameFields } from './fieldShaping.ts';

/** Says what is wrong with the value of a key. */
export type Complain = (key: keyof SinkValues, why: string) => void;

export const PROCESSORS = [
  'DocumentIdAdder',
  'AllowListKeyProjector',
  'AllowListValueProjector',
  'BlockListKeyProjector',
  'BlockListValueProjector',
  'KafkaMetaAdder',
  'RenameByMapping',
  'RenameByRegex',
  'NullFieldValueRemover',
];

/** How projectors and partial ids take their list of fields. */
export function projection(type: string, list: readonly string[]): FieldStage {
  switch (type.toLowerCase()) {
    case 'allowlist':
    case 'whitelist':
      return allowFields(list);
    case 'blocklist':
    case 'blacklist':
      return blockFields(list);
    default:
      return blockFields([]);
  }
}

/** What a processor does to the fields of a document; nothing where it does something else. */
export function fieldStages(name: string, values: SinkValues, complain: Complain): FieldStage[] {
  const list = values['value.projection.list'];
  switch (name) {
    case 'AllowListValueProjector':
      return [allowFields(list)];
    case 'BlockListValueProjector':
      return [blockFields(list)];
    case 'RenameByMapping': {
      const mapping = jsonList(values['field.renamer.mapping'], ['oldName', 'newName']);
      if (mapping !== null) return [renameFields(mapping)];
      complain('field.renamer.mapping', 'it must be a JSON array of {"oldName":"value.…","newName":"…"}');
      return [];
    }
    case 'RenameByRegex': {
      const rules = jsonList(values['field.renamer.regexp'], ['regexp', 'pattern', 'replace']);
      try {
        if (rules !== null)
          return [
            renameByPattern(
              rules.map(({ regexp, pattern, replace }) => ({
                regexp: new RegExp(`^(?:${regexp})$`),
                pattern: new RegExp(pattern, 'g'),
                replace,
              })),
            ),
          ];
      } catch {
        // Not a regular expression: told below.
      }
      complain('field.renamer.regexp', 'it must be a JSON array of {"regexp":"…","pattern":"…","replace":"…"}');
      return [];
    }
    default:
      return [];
  }
}

function jsonList<N extends string>(text: string, names: readonly N[]): Record<N, string>[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    const isEntry = (entry: unknown): entry is Record<N, string> =>
      typeof entry === 'object' && entry !== null && names.every(name => typeof Reflect.get(entry, name) === 'string');
    return Array.isArray(parsed) && parsed.every(isEntry) ? parsed : null;
  } catch {
    return null;
  }
}
