/** What post processors do to the fields of a document, before it is written: each field is left out or named anew by where it stands. */

export interface FieldShaping {
  /** What the field `name` at `path` (names joined by dots, from the top) is named; null = it is left out, with all that is in it. */
  nameAt(path: string, name: string): string | null;
  readonly dropsNulls: boolean;
}

/** One processor; works on paths as the processors before it left them. `name` is the end of the path, and may have dots itself. */
export type FieldStage = (path: string, name: string) => string | null;

/** Applies the stages one after the other. null = nothing is to be done. */
export function fieldShaping(stages: readonly FieldStage[], dropsNulls: boolean): FieldShaping | null {
  if (stages.length === 0 && !dropsNulls) return null;
  return {
    dropsNulls,
    nameAt: (path, name) => {
      const parent = path.slice(0, path.length - name.length);
      let now: string | null = name;
      for (const stage of stages) {
        now = stage(parent + now, now);
        if (now === null) return null;
      }
      return now;
    },
  };
}

/** Keeps the listed fields; those in a sub-document only if they are listed, by path, or by `*` for one name and `**` for all below. */
export function allowFields(list: readonly string[]): FieldStage {
  if (list.includes('**')) return (_, name) => name;
  // What leads to a listed field is kept.
  const paths = list.flatMap(entry => entry.split('.').map((_, i, names) => names.slice(0, i + 1).join('.')));
  const matches = pathMatcher(paths);
  return (path, name) => (path === '_id' || matches(path) ? name : null);
}

export function blockFields(list: readonly string[]): FieldStage {
  const matches = pathMatcher(list);
  return (path, name) => (path !== '_id' && matches(path) ? null : name);
}

function pathMatcher(list: readonly string[]): (path: string) => boolean {
  const patterns = [...new Set(list)].filter(entry => entry.includes('*')).map(patternOf);
  const exact = new Set(list);
  return path => exact.has(path) || patterns.some(pattern => pattern.test(path));
}

function patternOf(entry: string): RegExp {
  const parts = entry
    .split('.')
    .map(name => (name === '**' ? '.+' : name === '*' ? '[^.]+' : name.replace(/[\\^$+?()[\]{}|*]/g, '\\$&')));
  return new RegExp(`^${parts.join('\\.')}$`);
}

/** `value.a.b` names field b in a. */
export function renameFields(mapping: readonly { readonly oldName: string; readonly newName: string }[]): FieldStage {
  const names = new Map(mapping.map(({ oldName, newName }) => [oldName.replace(/^value\./, ''), newName]));
  return (path, name) => names.get(path) ?? name;
}

/** For fields whose path, with `value.` before it, fits `regexp`: what fits `pattern` in the name is replaced. */
export function renameByPattern(
  rules: readonly { readonly regexp: RegExp; readonly pattern: RegExp; readonly replace: string }[],
): FieldStage {
  return (path, name) =>
    rules.reduce(
      (now, { regexp, pattern, replace }) => (regexp.test(`value.${path}`) ? now.replace(pattern, replace) : now),
      name,
    );
}
