/** Finds the column of a field: the exact name first, then one that differs only by case, if it is the only one. */
export function matchColumn<C extends { readonly name: string }>(columns: readonly C[], field: string): C | null {
  const exact = columns.find(c => c.name === field);
  if (exact) return exact;
  const lower = field.toLowerCase();
  const close = columns.filter(c => c.name.toLowerCase() === lower);
  return close.length === 1 ? close[0]! : null;
}
