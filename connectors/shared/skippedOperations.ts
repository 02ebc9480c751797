/** skipped.operations: creates, updates, deletes and truncations that are not published, or none. */

export const isOperations = (text: string): boolean => /^\s*(none|[cudt](\s*,\s*[cudt])*)?\s*$/.test(text);

export const parseOperations = (text: string): ReadonlySet<string> =>
  new Set(text.split(',').map(operation => operation.trim()));
