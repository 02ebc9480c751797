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

/** Projections that contradict, or have no effect. */
export function checkProjections(chain: readonly string[], values: SinkValues, complain: Complain): void {
  for (const side of ['key', 'value'] as const) {
    const [typeKey, listKey] = [`${side}.projection.type`, `${side}.projection.list`] as const;
    const type = values[typeKey].toLowerCase().replace('white', 'allow').replace('black', 'block');
    const suffix = side === 'key' ? 'KeyProjector' : 'ValueProjector';
    const projectors = ['AllowList', 'BlockList'].map(kind => `${kind}${suffix}`);
    const used = projectors.filter(name => chain.includes(name));
    if (used.length === 0) {
      const without = `it has no effect without ${projectors.join(' or ')} in post.processor.chain`;
      if (type !== 'none') complain(typeKey, without);
      else if (values[listKey].length > 0) complain(listKey, without);
      continue;
    }
    // Of values, each projector knows its own.
    if (side === 'key' && type === 'none')
      complain(typeKey, `${used.join(' and ')} in post.processor.chain needs it to be allowlist or blocklist`);
    for (const name of used)
      if (type !== 'none' && !name.toLowerCase().startsWith(type))
        complain(typeKey, `${name} in post.processor.chain is of another type`);
    if (values[listKey].length === 0) complain(listKey, `${used.join(' and ')} in post.processor.chain needs a list`);
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
