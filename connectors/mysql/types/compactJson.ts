/** JSON as MySQL prints it, without the spaces behind commas and colons and with doubles written as the log's reader writes them: one text for one document. */
import { doubleText } from '../protocol/jsonBinary.ts';

const BETWEEN = /-?\d+(?:\.\d+)?[eE][-+]?\d+|[ ]+/g;

/** Texts may be of any length: none is matched as a whole. */
export function compactJson(text: string): string {
  let compact = '';
  for (let at = 0; ; ) {
    const open = text.indexOf('"', at);
    const between = open < 0 ? text.slice(at) : text.slice(at, open);
    compact += between.replace(BETWEEN, token => (token[0] === ' ' ? '' : doubleText(Number(token))));
    if (open < 0) return compact;
    at = behindText(text, open + 1);
    compact += text.slice(open, at);
  }
}

/** Behind the quote that ends a text which begins at `from`. */
function behindText(text: string, from: number): number {
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let start = quote;
    while (start > from && text[start - 1] === '\\') start--;
    if ((quote - start) % 2 === 0) return quote + 1;
  }
  return text.length;
}
