/** JSON as MySQL prints it, without the spaces behind commas and colons and with doubles written as the log's reader writes them: one text for one document. */
import { doubleText } from '../protocol/jsonBinary.ts';

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?[eE][-+]?\d+|[ ]+/gs;

export function compactJson(text: string): string {
  return text.replace(TOKEN, token => {
    if (token[0] === '"') return token;
    return token[0] === ' ' ? '' : doubleText(Number(token));
  });
}
