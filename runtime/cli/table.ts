/** Columns under headings, as commands print lists. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map(row => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    `${cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()}\n`;
  return [headings, ...rows].map(line).join('');
}
