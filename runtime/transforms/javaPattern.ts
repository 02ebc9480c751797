import { settingError } from './failure.ts';

/** A Java regular expression that must match the whole text. Throws CONFIG_INVALID where JavaScript cannot compile it. */
export function fullMatch(transform: string, key: string, regex: string): RegExp {
  try {
    return new RegExp(`^(?:${regex})$`, 'su');
  } catch {
    try {
      return new RegExp(`^(?:${regex})$`, 's');
    } catch (error) {
      throw settingError(
        transform,
        `${key} is not a valid regular expression: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
}

/** Java's replacement text ($1, ${name}, \$ for a dollar) for one match. */
export function expandReplacement(replacement: string, match: RegExpExecArray): string {
  return replacement.replace(/\\(.)|\$(\d)|\$\{([A-Za-z][A-Za-z0-9]*)\}/gs, (_, escaped, index, name) => {
    if (escaped !== undefined) return escaped;
    return (index !== undefined ? match[Number(index)] : match.groups?.[name]) ?? '';
  });
}
