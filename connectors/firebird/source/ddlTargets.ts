/**
 * What a statement of DDL is about, as far as layouts of records go: tables made, changed or dropped, with the columns added, and domains changed. Read from
 * its words; comments and literals are passed over.
 */
export interface DdlTarget {
  readonly verb: 'create' | 'alter' | 'drop' | 'recreate';
  readonly kind: 'table' | 'domain';
  /** As it is stored: in capitals unless it was quoted. */
  readonly name: string;
  /** Columns of a table that is made, or that are added, in their order. */
  readonly columns: readonly string[];
}

interface Word {
  readonly text: string;
  /** A keyword may be meant. */
  readonly isPlain: boolean;
}

const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"((?:[^"]|"")*)"|([\p{L}_][\p{L}\p{N}_$]*)|\S/gu;
const VERBS: ReadonlySet<string> = new Set(['CREATE', 'ALTER', 'DROP', 'RECREATE']);
const CONSTRAINTS: ReadonlySet<string> = new Set(['CONSTRAINT', 'PRIMARY', 'FOREIGN', 'UNIQUE', 'CHECK']);

export function ddlTargets(sql: string): DdlTarget[] {
  const words = wordsOf(sql);
  const targets: DdlTarget[] = [];
  for (let i = 0; i + 2 < words.length; i++) {
    const [verb, kind, name] = [words[i]!, words[i + 1]!, words[i + 2]!];
    if (!verb.isPlain || !VERBS.has(verb.text) || !kind.isPlain) continue;
    if (kind.text !== 'TABLE' && kind.text !== 'DOMAIN') continue;
    targets.push({
      verb: verb.text.toLowerCase() as DdlTarget['verb'],
      kind: kind.text === 'TABLE' ? 'table' : 'domain',
      name: name.text,
      columns: kind.text === 'TABLE' ? columnsIn(words.slice(i + 3), verb.text === 'ALTER') : [],
    });
  }
  return targets;
}

function wordsOf(sql: string): Word[] {
  const words: Word[] = [];
  for (const [token, quoted, word] of sql.matchAll(TOKEN)) {
    if (quoted !== undefined) words.push({ text: quoted.replaceAll('""', '"'), isPlain: false });
    else if (word !== undefined) words.push({ text: word.toUpperCase(), isPlain: true });
    else if (!/^(--|\/\*)/.test(token)) words.push({ text: token, isPlain: true });
  }
  return words;
}

/** The items of CREATE TABLE stand in brackets, those of ALTER TABLE do not. */
function columnsIn(words: readonly Word[], isAlter: boolean): string[] {
  const columns: string[] = [];
  let depth = isAlter ? 1 : 0;
  let isFirst = isAlter;
  for (const [i, { text, isPlain }] of words.entries()) {
    const wasFirst = isFirst;
    isFirst = false;
    if (isPlain && text === '(') isFirst = ++depth === 1;
    else if (isPlain && text === ')') depth--;
    else if (isPlain && text === ',') isFirst = depth === 1;
    else if (isPlain && text === ';') break;
    else if (wasFirst) {
      const of = isAlter ? words[i + 1] : words[i];
      if (isAlter && !(isPlain && text === 'ADD')) continue;
      if (of !== undefined && !(of.isPlain && CONSTRAINTS.has(of.text))) columns.push(of.text);
    }
  }
  return columns;
}
