/**
 * What a statement of DDL is about, as far as layouts of records go: tables made, changed or dropped, with the columns added, altered and dropped, and
 * domains changed. Read from its words; comments and literals are passed over.
 */
export interface DdlTarget {
  readonly verb: 'create' | 'alter' | 'drop' | 'recreate';
  readonly kind: 'table' | 'domain';
  /** As it is stored: in capitals unless it was quoted. */
  readonly name: string;
  /** Columns of a table that is made, or that are added, in their order. */
  readonly added: readonly string[];
  readonly dropped: readonly string[];
  /** Columns that are altered, under their old names. */
  readonly changed: readonly string[];
  /** Old names and new ones. */
  readonly renamed: readonly (readonly [string, string])[];
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
      ...columnsOf(words.slice(i + 3), verb.text, kind.text),
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

const columnsOf = (words: readonly Word[], verb: string, kind: string): Columns =>
  kind === 'TABLE' && verb !== 'DROP' ? columnsIn(itemsOf(words, verb === 'ALTER'), verb === 'ALTER') : NO_COLUMNS;

type Columns = Pick<DdlTarget, 'added' | 'dropped' | 'changed' | 'renamed'>;

const NO_COLUMNS: Columns = { added: [], dropped: [], changed: [], renamed: [] };

function columnsIn(items: readonly (readonly Word[])[], isAlter: boolean): Columns {
  const added: string[] = [];
  const dropped: string[] = [];
  const changed: string[] = [];
  const renamed: [string, string][] = [];
  for (const item of items) {
    const action = isAlter ? (item[0]?.isPlain ? item[0].text : '') : 'ADD';
    const words = isAlter ? item.slice(1) : item;
    const hasNoise = words[0]?.isPlain && words[0].text === 'COLUMN';
    const [name, verb, other] = hasNoise ? words.slice(1) : words;
    if (name === undefined || (name.isPlain && CONSTRAINTS.has(name.text))) continue;
    if (action === 'ADD') added.push(name.text);
    else if (action === 'DROP') dropped.push(name.text);
    else if (action === 'ALTER') {
      changed.push(name.text);
      if (verb?.isPlain && verb.text === 'TO' && other !== undefined) renamed.push([name.text, other.text]);
    }
  }
  return { added, dropped, changed, renamed };
}

/** What commas part: of CREATE TABLE what stands in its brackets, of ALTER TABLE all. */
function itemsOf(words: readonly Word[], isAlter: boolean): Word[][] {
  const items: Word[][] = [[]];
  let depth = isAlter ? 1 : 0;
  for (const word of words) {
    const sign = word.isPlain ? word.text : '';
    if (sign === ';') break;
    if (sign === ')') depth--;
    if (sign === ',' && depth === 1) items.push([]);
    else if (depth > 0) items.at(-1)!.push(word);
    if (sign === '(') depth++;
  }
  return items;
}
