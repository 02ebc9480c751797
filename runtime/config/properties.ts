/**
 * Reader of Java's .properties format: comments, the separators `=`, `:` and white space, continuation lines, and the escapes
 * \t \n \r \f \uXXXX; any other escaped character stands for itself. Files are read as UTF-8, as Kafka's own tools write them.
 */

export function parseProperties(text: string): Map<string, string> {
  const properties = new Map<string, string>();
  for (const line of logicalLines(text)) {
    const { end, valueStart } = splitLine(line);
    properties.set(unescaped(line.slice(0, end)), unescaped(line.slice(valueStart)));
  }
  return properties;
}

/** Lines without comments and blanks, continuations joined, white space at their start removed. */
function logicalLines(text: string): string[] {
  const lines: string[] = [];
  let open: string | null = null;
  for (const natural of text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)) {
    const line = natural.replace(/^[ \t\f]+/, '');
    if (open === null && (line === '' || line[0] === '#' || line[0] === '!')) continue;
    const joined: string = open === null ? line : open + line;
    const backslashes = line.length - line.replace(/\\+$/, '').length;
    if (backslashes % 2 === 1) open = joined.slice(0, -1);
    else {
      lines.push(joined);
      open = null;
    }
  }
  if (open !== null && open !== '') lines.push(open);
  return lines;
}

function splitLine(line: string): { end: number; valueStart: number } {
  let end = 0;
  while (end < line.length && !/[=: \t\f]/.test(line[end]!)) end += line[end] === '\\' ? 2 : 1;
  end = Math.min(end, line.length);
  const separator = /^[ \t\f]*[=:]?[ \t\f]*/.exec(line.slice(end))![0];
  return { end, valueStart: end + separator.length };
}

const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' };

function unescaped(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (_, code: string | undefined, other: string) =>
    code === undefined ? (controls[other] ?? other) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
